/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the graph and of its readers share: a runtime with the tiny operators on a
 * counting allocator, short functions that add nodes, and a look at the last error.
 */
#ifndef TN_TESTS_GRAPH_TEST_H
#define TN_TESTS_GRAPH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "failing_allocator.h"
#include "graph/infer.h"
#include "plugin/registry.h"
#include "plugin/runtime_parts.h"
#include "tiny_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include <cmocka.h>
#include <tenon/import.h>

typedef struct graph_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    tn_graph *graph;
} graph_test;

static inline bool graph_test_visit(void *user, const tn_importer *importer,
                                    const tn_library_info *of) {
    (void)user;
    (void)importer;
    (void)of;
    return true;
}

static inline bool built_in_operator(void *user, const tn_operator *op, const tn_library_info *of) {
    (void)user;
    (void)op;
    (void)of;
    return true;
}
static inline bool built_in_kernel(void *user, const tn_kernel *kernel, const tn_library_info *of) {
    (void)user;
    (void)kernel;
    (void)of;
    return true;
}

/* Reads the tables of all libraries that a runtime has, which would otherwise happen when one is
 * asked for first: what that leaves in memory is then there before a test counts. False: no
 * memory. */
static inline bool read_built_in_tables(tn_runtime *runtime) {
    tn_registry *registry = tn_runtime_registry(runtime);
    const tn_rewrite_entry **entries = NULL;
    uint32_t count = 0;
    bool is_read = true;
    tn_runtime_visit_operators(runtime, built_in_operator, NULL);
    tn_runtime_visit_kernels(runtime, built_in_kernel, NULL);
    if (tn_registry_rewrites(registry, &entries, &count) != TN_OK) return false;
    for (uint32_t i = 0; i < count; i++)
        is_read = tn_registry_read_rewrite(registry, entries[i]) == TN_OK && is_read;
    tn_registry_free_rewrites(registry, entries, count);
    return is_read;
}

static inline int graph_test_setup(void **state) {
    graph_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    tn_runtime_options options = {.size = sizeof(options),
                                  .allocator = &test->allocator.functions,
                                  .flags = TN_RUNTIME_NO_ENVIRONMENT};
    *state = test;
    if (tn_runtime_create(&options, &test->runtime) != TN_OK) return -1;
    if (tn_runtime_register_library(test->runtime, tiny_entry) != TN_OK) return -1;
    /* what the runtime keeps of operators and importers is not what a reading leaves behind */
    if (!read_built_in_tables(test->runtime)) return -1;
    tn_runtime_visit_importers(test->runtime, graph_test_visit, NULL);
    return tn_graph_create(test->runtime, "net", &test->graph) == TN_OK ? 0 : -1;
}

/* Fails when anything was left behind. */
static inline int graph_test_teardown(void **state) {
    graph_test *test = *state;
    tn_graph_destroy(test->graph);
    tn_runtime_release(test->runtime);
    int64_t left = test->allocator.live;
    free(test);
    return left == 0 ? 0 : -1;
}

#define GRAPH_TEST(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, graph_test_setup, graph_test_teardown)

/* Both parts of the last error; null: whatever it is. */
static inline void assert_error(const char *message_part, const char *where_part) {
    const tn_error *error = tn_last_error();
    const char *message = error->message ? error->message : "";
    const char *where = error->where ? error->where : "";
    if (message_part && !strstr(message, message_part))
        fail_msg("'%s' is not in the message '%s'", message_part, message);
    if (where_part && !strstr(where, where_part))
        fail_msg("'%s' is not in the location '%s'", where_part, where);
}

static inline tn_tensor_id add_input(tn_graph *graph, const char *name, tn_type type, uint32_t rank,
                                     const int64_t *extents) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_input(graph, name, type, rank, extents, NULL, &id), TN_OK);
    return id;
}

static inline tn_status try_node(tn_graph *graph, const char *op, const char *name,
                                 uint32_t input_count, const tn_tensor_id *inputs,
                                 uint32_t output_count, tn_tensor_id *out_outputs) {
    tn_node_description node = {.size = sizeof(node),
                                .domain = "tiny",
                                .op = op,
                                .name = name,
                                .input_count = input_count,
                                .inputs = inputs,
                                .output_count = output_count};
    return tn_graph_add_node(graph, &node, out_outputs);
}

/* A node with one output. */
static inline tn_tensor_id add_node(tn_graph *graph, const char *op, const char *name,
                                    uint32_t input_count, const tn_tensor_id *inputs) {
    tn_tensor_id id = TN_NO_TENSOR;
    tn_status status = try_node(graph, op, name, input_count, inputs, 1, &id);
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return id;
}

static inline tn_tensor_id add_unary(tn_graph *graph, const char *op, const char *name,
                                     tn_tensor_id input) {
    return add_node(graph, op, name, 1, &input);
}

/* A node with one integer field. */
static inline tn_tensor_id add_with_int(tn_graph *graph, const char *op, const char *name,
                                        tn_tensor_id input, const char *field, int64_t value) {
    tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_I64, .name = field, .i = value};
    const tn_attribute *attributes[] = {&attribute};
    tn_node_description node = {.size = sizeof(node),
                                .domain = "tiny",
                                .op = op,
                                .name = name,
                                .input_count = 1,
                                .inputs = &input,
                                .output_count = 1,
                                .attribute_count = 1,
                                .attributes = attributes};
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_node(graph, &node, &id), TN_OK);
    return id;
}

static inline tn_tensor_id add_i64s(tn_graph *graph, const char *name, int64_t count,
                                    const int64_t *values) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_constant(graph, name, TN_I64, 1, &count, values,
                                           (uint64_t)count * sizeof(*values), &id),
                     TN_OK);
    return id;
}

/* Infers a graph that a reader made, with small shapes for what it leaves open. */
static inline tn_status infer_parsed(const tn_graph *graph) {
    tn_arena *arena = NULL;
    tn_inference_plan plan;
    tn_inference inference = {0};
    tn_shape shapes[4] = {{0}};
    tn_status status = graph->input_count > TN_COUNT(shapes) ? TN_ERROR_UNSUPPORTED : TN_OK;
    for (size_t i = 0; i < graph->input_count && status == TN_OK; i++) {
        shapes[i] = graph->tensors[graph->inputs[i]].shape;
        for (uint32_t axis = 0; axis < shapes[i].rank; axis++)
            if (shapes[i].extents[axis] < 0) shapes[i].extents[axis] = 2;
    }
    if (status == TN_OK) status = tn_arena_create(graph->allocator, &arena);
    if (status == TN_OK) status = tn_inference_plan_create(graph, arena, &plan);
    if (status == TN_OK) status = tn_inference_init(&inference, graph, &plan);
    if (status == TN_OK) status = tn_inference_run(&inference, shapes, NULL);
    tn_inference_deinit(&inference);
    tn_arena_destroy(arena);
    return status;
}

/* An inference over a sorted graph. */
typedef struct inference_test {
    tn_arena *arena;
    tn_inference_plan plan;
    tn_inference inference;
} inference_test;

static inline void inference_begin(inference_test *test, tn_graph *graph) {
    *test = (inference_test){0};
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    assert_int_equal(tn_arena_create(graph->allocator, &test->arena), TN_OK);
    assert_int_equal(tn_inference_plan_create(graph, test->arena, &test->plan), TN_OK);
    assert_int_equal(tn_inference_init(&test->inference, graph, &test->plan), TN_OK);
}

static inline void inference_end(inference_test *test) {
    tn_inference_deinit(&test->inference);
    tn_arena_destroy(test->arena);
}

static inline void assert_shape(const inference_test *test, tn_tensor_id id, uint32_t rank,
                                const int64_t *extents) {
    const tn_tensor *tensor = &test->inference.tensors[id].storage.tensor;
    assert_true(test->inference.tensors[id].is_known);
    assert_int_equal(tensor->rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        assert_int_equal(tensor->shape[i], extents[i]);
}

#define EXTENTS(...) ((const int64_t[]){__VA_ARGS__})
#define TENSORS(...) ((const tn_tensor_id[]){__VA_ARGS__})

#endif
