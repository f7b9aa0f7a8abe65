/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of engines and contexts share: graph_test.h's set-up with the layers of
 * run_layers.h, and a graph taken to a context in one line.
 */
#ifndef TN_TESTS_SUPPORT_RUN_TEST_H
#define TN_TESTS_SUPPORT_RUN_TEST_H

#include "run_layers.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "graph_test.h"

#include "run/context_private.h"

typedef struct run_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
} run_test;

/* Lines of the log, for tests that expect a warning. */
static char run_log[2048];
static inline void run_log_line(void *user, uint32_t level, const char *text) {
    (void)user, (void)level;
    snprintf(run_log, sizeof(run_log), "%s", text);
}

/* A runtime with one of the libraries; the allocator of the tests is for one thread alone. */
static inline tn_runtime *run_runtime(const tn_allocator *allocator, tn_library_entry entry) {
    tn_runtime *runtime = NULL;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = allocator,
                                        .log = run_log_line,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    run_log[0] = '\0';
    if (tn_runtime_create(&options, &runtime) != TN_OK) return NULL;
    if (entry && tn_runtime_register_library(runtime, entry) != TN_OK) {
        tn_runtime_release(runtime);
        return NULL;
    }
    return runtime;
}

static inline int run_test_setup(void **state) {
    run_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    memset(&run_probe, 0, sizeof(run_probe));
    run_negated_in_place = run_gain_fused = run_updated_in_place = 0;
    memset(&run_open, 0, sizeof(run_open));
    test->runtime = run_runtime(&test->allocator.functions, run_entry);
    *state = test;
    return test->runtime && tn_graph_create(test->runtime, "net", &test->graph) == TN_OK ? 0 : -1;
}

/* With the operators of a library's file, and of another one that is linked in, where there is one.
 */
static inline int run_test_setup_with(void **state, const char *library, tn_library_entry entry) {
    if (run_test_setup(state) != 0) return -1;
    const run_test *test = *state;
    if (tn_runtime_load_library(test->runtime, library) != TN_OK) return -1;
    return !entry || tn_runtime_register_library(test->runtime, entry) == TN_OK ? 0 : -1;
}

/* Fails when anything was left behind, or a kernel's callbacks do not balance. */
static inline int run_test_teardown(void **state) {
    run_test *test = *state;
    tn_context_destroy(test->context);
    tn_engine_release(test->engine);
    tn_plan_destroy(test->plan);
    tn_graph_destroy(test->graph);
    tn_runtime_release(test->runtime);
    const int64_t left = test->allocator.live;
    free(test);
    if (left != 0) print_error("%lld blocks are left\n", (long long)left);
    return left == 0 && run_probe.prepared == run_probe.released &&
                   run_probe.opened == run_probe.closed
               ? 0
               : -1;
}

#define RUN_TEST(function)                                                                         \
    cmocka_unit_test_setup_teardown(function, run_test_setup, run_test_teardown)

/* --- graphs --- */

static inline tn_tensor_id run_node(tn_graph *graph, const char *op, const char *name,
                                    uint32_t input_count, const tn_tensor_id *inputs) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "run",
                                      .op = op,
                                      .name = name,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id id = TN_NO_TENSOR;
    if (tn_graph_add_node(graph, &node, &id) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return id;
}

static inline tn_tensor_id run_unary(tn_graph *graph, const char *op, const char *name,
                                     tn_tensor_id input) {
    return run_node(graph, op, name, 1, &input);
}

static inline tn_tensor_id run_floats(tn_graph *graph, const char *name, int64_t count) {
    float values[256];
    tn_tensor_id id = TN_NO_TENSOR;
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)i;
    assert_int_equal(tn_graph_add_constant(graph, name, TN_F32, 1, &count, values,
                                           (uint64_t)count * sizeof(*values), &id),
                     TN_OK);
    return id;
}

static inline void run_output(tn_graph *graph, tn_tensor_id tensor, const char *name) {
    assert_int_equal(tn_graph_add_output(graph, tensor, name), TN_OK);
}

/* A profile of one input from its three shapes. */
#define RUN_PROFILE(input, extents, low, best, high)                                               \
    (&(const tn_profile_input){.size = sizeof(tn_profile_input),                                   \
                               .rank = (extents),                                                  \
                               .name = (input),                                                    \
                               .minimum = (low),                                                   \
                               .optimum = (best),                                                  \
                               .maximum = (high)})
#define RUN_PROFILES(...) ((const tn_profile_input *const[]){__VA_ARGS__})

/* --- to a context --- */

static inline void run_must(tn_status status) {
    if (status != TN_OK)
        fail_msg("%s %s: %s", tn_status_name(status), tn_last_error()->where,
                 tn_last_error()->message);
}

static inline void run_build_with(run_test *test, uint32_t count,
                                  const tn_profile_input *const *profiles, uint32_t flags) {
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING | flags,
                                        .profile_input_count = count,
                                        .profile_inputs = profiles};
    run_must(tn_build(test->graph, &options, &test->plan));
}

static inline void run_load(run_test *test) {
    uint64_t bytes;
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &test->engine));
}

static inline void run_start(run_test *test, uint32_t count,
                             const tn_profile_input *const *profiles) {
    run_build_with(test, count, profiles, 0);
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
}

/* Binds an input, with its shape where it is not fixed. */
static inline void run_bind(run_test *test, const char *name, const void *data, uint64_t bytes) {
    uint32_t index = 0;
    run_must(tn_engine_find_input(test->engine, name, &index));
    run_must(tn_context_bind_input(test->context, index, data, bytes));
}

static inline void run_shape(run_test *test, const char *name, uint32_t rank,
                             const int64_t *extents) {
    uint32_t index = 0;
    run_must(tn_engine_find_input(test->engine, name, &index));
    run_must(tn_context_set_shape(test->context, index, rank, extents));
}

static inline const tn_tensor *run_result(run_test *test, uint32_t output) {
    const tn_tensor *tensor = NULL;
    run_must(tn_context_output(test->context, output, &tensor));
    return tensor;
}

static inline void assert_floats(const tn_tensor *tensor, int64_t count, const float *values) {
    assert_int_equal(run_count(tensor), count);
    assert_int_equal(tensor->bytes, count * (int64_t)sizeof(float));
    assert_int_equal(tensor->format, TN_LINEAR);
    for (int64_t i = 0; i < count; i++) {
        const float found = ((const float *)tensor->data)[i];
        if (found != values[i])
            fail_msg("element %lld is %g, not %g", (long long)i, (double)found, (double)values[i]);
    }
}
#define FLOATS(...) ((const float[]){__VA_ARGS__})

static inline uint64_t run_allocations(const run_test *test) {
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(test->context, &statistics);
    return statistics.allocations;
}

/* Memory that is, and that is not, aligned to 64 bytes. */
typedef struct run_buffer {
    _Alignas(64) float aligned[256];
    char gap[4];
    float crooked[256];
} run_buffer;

#endif
