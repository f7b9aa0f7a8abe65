/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of networks on the stub device share (tests/stub): a runtime that has loaded it,
 * and networks built and run there.
 */
#ifndef TN_TESTS_DEVICE_TEST_H
#define TN_TESTS_DEVICE_TEST_H

#include "graph_test.h"

#include "base/file.h"
#include "run/context_private.h"

#include <math.h>
#include <stdlib.h>
#include <tenon/engine.h>

#include <tenon/import.h>

#define STUB    "stub/libtenon_stub.so"
#define NETWORK TENON_ROOT "/models/tiny/tiny_lenet.onnx"

typedef struct device_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    char log[1024];
} device_test;

static inline void keep_log(void *user, uint32_t level, const char *text) {
    device_test *test = user;
    (void)level;
    snprintf(test->log, sizeof(test->log), "%s", text);
}

static inline tn_runtime *make_runtime(device_test *test) {
    tn_runtime *runtime = NULL;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test->allocator.functions,
                                        .log = keep_log,
                                        .log_user = test,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    return tn_runtime_create(&options, &runtime) == TN_OK ? runtime : NULL;
}

static inline int setup(void **state) {
    device_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    *state = test;
    test->runtime = make_runtime(test);
    return test->runtime && tn_runtime_load_library(test->runtime, STUB) == TN_OK ? 0 : -1;
}

static inline int teardown(void **state) {
    device_test *test = *state;
    tn_runtime_release(test->runtime);
    const int64_t left = test->allocator.live;
    free(test);
    return left == 0 ? 0 : -1;
}

static inline void must(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static inline tn_plan *build(tn_graph *graph, const char *device) {
    static const int64_t smallest[] = {1, 1, 28, 28}, usual[] = {2, 1, 28, 28},
                         largest[] = {4, 1, 28, 28};
    const tn_profile_input input = {.size = sizeof(input),
                                    .rank = 4,
                                    .name = "input",
                                    .minimum = smallest,
                                    .optimum = usual,
                                    .maximum = largest};
    const tn_profile_input *const inputs[] = {&input};
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .device = device,
                                        .timing_seconds = 2,
                                        .profile_input_count = 1,
                                        .profile_inputs = inputs};
    tn_plan *plan = NULL;
    must(tn_build(graph, &options, &plan));
    return plan;
}

static inline tn_plan *build_lenet(tn_runtime *runtime, const char *device) {
    tn_graph *graph = NULL;
    tn_file file = {0};
    must(tn_file_map(tn_runtime_allocator(runtime), NETWORK, &file));
    must(tn_graph_parse_onnx(runtime, file.data, file.bytes, NULL, &graph));
    tn_file_unmap(&file);
    tn_plan *plan = build(graph, device);
    tn_graph_destroy(graph);
    return plan;
}

static inline tn_engine *load(tn_runtime *runtime, const tn_plan *plan, const char *device) {
    const tn_engine_options options = {.size = sizeof(options), .device = device};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    tn_engine *engine = NULL;
    must(tn_engine_load_bytes(runtime, data, bytes, &options, &engine));
    return engine;
}

static inline void fill(float *image, int64_t count, int seed) {
    for (int64_t i = 0; i < count; i++)
        image[i] = (float)((i * 37 + seed * 101) % 255) / 255.0f;
}

/* The outputs of `batch` images. */
static inline void run(tn_context *context, int64_t batch, int seed, float *output) {
    static float images[4 * 28 * 28];
    const int64_t shape[] = {batch, 1, 28, 28};
    const tn_tensor *made = NULL;
    fill(images, batch * 784, seed);
    must(tn_context_set_shape(context, 0, 4, shape));
    must(tn_context_bind_input(context, 0, images, sizeof(images)));
    must(tn_context_run(context));
    must(tn_context_output(context, 0, &made));
    assert_int_equal(made->bytes, (uint64_t)batch * 10 * sizeof(float));
    memcpy(output, made->data, (size_t)made->bytes);
}

static inline void assert_close(const float *a, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-5f)) fail_msg("element %zu: %g and %g", i, a[i], b[i]);
}

/* Relu, LeakyRelu (channels last), Sigmoid (the processor's), Add, on images; all on the device but
 * for Sigmoid, which may be left out. */
static inline tn_graph *make_chain(tn_runtime *runtime, bool with_sigmoid) {
    static const int64_t shape[] = {2, 3, 4, 5};
    static const char *const ops[] = {"Relu", "LeakyRelu", "Sigmoid", "Relu"};
    tn_graph *graph = NULL;
    must(tn_graph_create(runtime, "chain", &graph));
    const tn_tensor_id input = add_input(graph, "x", TN_F32, 4, shape);
    tn_tensor_id last = input;
    for (size_t i = 0; i < TN_COUNT(ops); i++) {
        if (!with_sigmoid && strcmp(ops[i], "Sigmoid") == 0) continue;
        const tn_node_description node = {.size = sizeof(node),
                                          .domain = "",
                                          .op = ops[i],
                                          .name = ops[i],
                                          .input_count = 1,
                                          .inputs = &last,
                                          .output_count = 1};
        tn_tensor_id made = TN_NO_TENSOR;
        must(tn_graph_add_node(graph, &node, &made));
        last = made;
    }
    must(tn_graph_add_output(graph, last, "y"));
    return graph;
}

static inline tn_engine *load_chain(device_test *test, bool with_sigmoid, const char *device,
                                    tn_plan **out_plan) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .device = device, .flags = TN_BUILD_NO_FUSION};
    tn_graph *graph = make_chain(test->runtime, with_sigmoid);
    must(tn_build(graph, &options, out_plan));
    tn_graph_destroy(graph);
    return load(test->runtime, *out_plan, NULL);
}

#define DEVICE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
