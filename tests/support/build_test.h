/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the builder share: graph_test.h's set-up with the builder's layers registered
 * too, and a graph taken through inference, passes and lowering step by step.
 */
#ifndef TN_TESTS_SUPPORT_BUILD_TEST_H
#define TN_TESTS_SUPPORT_BUILD_TEST_H

#include "build_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "graph_test.h"

#include "base/status.h"
#include "builder/lower/lower.h"
#include "builder/passes/passes.h"
#include "builder/timing/timing_cache.h"
#include "device/cpu/cpu.h"
#include "program/profile.h"

static inline int build_test_setup(void **state) {
    if (graph_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    layer_run_counts_clear();
    layer_fragile_failure = LAYER_SOUND;
    layer_fragile_alive = 0;
    return tn_runtime_register_library(test->runtime, layer_entry) == TN_OK ? 0 : -1;
}

#define BUILD_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, build_test_setup, graph_test_teardown)

/* A graph that becomes a program. */
typedef struct build_stage {
    tn_graph *graph;
    tn_arena *arena;
    tn_plan_profile *profiles;
    tn_profile_shapes shapes, lowered_shapes;
    tn_pass_context passes;
    tn_program program;
} build_stage;

/* Sorts and infers with the profiles of `options` (may be null); ready for passes. */
static inline void stage_infer(build_stage *stage, tn_graph *graph,
                               const tn_builder_options *options) {
    static const tn_builder_options none = {.size = sizeof none};
    *stage = (build_stage){.graph = graph};
    assert_int_equal(tn_arena_create(graph->allocator, &stage->arena), TN_OK);
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    assert_int_equal(
        tn_profile_make(graph, options ? options : &none, stage->arena, &stage->profiles), TN_OK);
    tn_status status = tn_profile_shapes_init(&stage->shapes, graph, stage->profiles, stage->arena);
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    bool *is_fixed = tn_arena_allocate(stage->arena, graph->input_count + 1, sizeof(bool));
    bool *is_unsure = tn_arena_allocate(stage->arena, graph->tensor_count + 1, sizeof(bool));
    for (size_t i = 0; i < graph->input_count; i++)
        is_fixed[i] = tn_profile_is_fixed(&stage->profiles[i]);
    stage->passes =
        (tn_pass_context){.graph = graph, .is_fixed_input = is_fixed, .is_unsure = is_unsure};
    for (int point = 0; point < TN_POINTS; point++)
        stage->passes.points[point] = stage->shapes.points[point];
}

static inline void stage_end(build_stage *stage) {
    tn_pass_context_deinit(&stage->passes);
    tn_profile_shapes_deinit(&stage->shapes);
    tn_profile_shapes_deinit(&stage->lowered_shapes);
    tn_arena_destroy(stage->arena);
}

/* Lowers the graph as it is now. */
static inline tn_status stage_lower(build_stage *stage, tn_lower_options options) {
    static tn_thread_pool pool;
    tn_cpu_pool_init(&pool, 1, NULL, false);
    options.threads = 1;
    options.pool = &pool;
    options.now_ns = test_clock_now;
    options.waited_ns = test_clock_waited;
    tn_profile_shapes_deinit(&stage->lowered_shapes);
    assert_int_equal(
        tn_profile_shapes_init(&stage->lowered_shapes, stage->graph, stage->profiles, stage->arena),
        TN_OK);
    tn_status status =
        tn_lower(stage->graph, &stage->lowered_shapes.plan, stage->lowered_shapes.points, &options,
                 stage->arena, &stage->program);
    if (status == TN_OK) assert_int_equal(tn_program_check(&stage->program, stage->graph), TN_OK);
    return status;
}

static inline void lower_or_fail(build_stage *stage, tn_graph *graph, tn_lower_options options) {
    stage_infer(stage, graph, NULL);
    if (stage_lower(stage, options) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* The step that does a node as its head; null when it was absorbed. */
static inline const tn_program_step *step_of(const build_stage *stage, const char *node) {
    for (uint32_t s = 0; s < stage->program.step_count; s++) {
        const tn_program_step *step = &stage->program.steps[s];
        if (step->kind != TN_STEP_REFORMAT &&
            strcmp(stage->graph->nodes[step->node].name, node) == 0)
            return step;
    }
    return NULL;
}

static inline const char *kernel_of(const build_stage *stage, const char *node) {
    const tn_program_step *step = step_of(stage, node);
    if (!step) return "(absorbed)";
    return step->kernel ? step->kernel : "(reference)";
}

static inline uint32_t count_kind(const build_stage *stage, uint32_t kind) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < stage->program.step_count; s++)
        count += stage->program.steps[s].kind == kind;
    return count;
}

static inline bool has_node(const tn_graph *graph, const char *name) {
    for (size_t n = 0; n < graph->node_count; n++)
        if (!graph->nodes[n].is_dead && strcmp(graph->nodes[n].name, name) == 0) return true;
    return false;
}

static inline bool has_name(const tn_pass_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0) return true;
    return false;
}

static inline tn_tensor_id add_floats(tn_graph *graph, const char *name, uint32_t rank,
                                      const int64_t *extents) {
    float values[4096];
    tn_tensor_id id = TN_NO_TENSOR;
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= (uint64_t)extents[i];
    for (uint64_t i = 0; i < count; i++)
        values[i] = (float)(i % 17) / 8 - 1;
    assert_int_equal(tn_graph_add_constant(graph, name, TN_F32, rank, extents, values,
                                           count * sizeof *values, &id),
                     TN_OK);
    return id;
}

static inline void add_output(tn_graph *graph, tn_tensor_id tensor) {
    assert_int_equal(tn_graph_add_output(graph, tensor, NULL), TN_OK);
}

#define NO_TIMING ((tn_lower_options){.no_timing = true})
#define TIMED     ((tn_lower_options){.no_timing = false})

#endif
