/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in kernels of every operator with an expression, on a third party's: in floats at each
 * level, linear and behind a convolution in whatever format that has, and in 8 bits.
 */
#include "third_party_layers.h"

static const tn_operator *const operators[] = {&bend, &less};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "third_party",
                             .version = "1",
                             .operator_count = 2,
                             .operators = operators};
static tn_library *entry(const tn_host *host) {
    (void)host;
    return &library;
}

#include "graph_test.h"
#include <math.h>
#include <tenon/tenon.h>

enum {
    BATCH = 2,
    CHANNELS = 20,
    HEIGHT = 9,
    WIDTH = 11,
    COUNT = BATCH * CHANNELS * HEIGHT * WIDTH
};
static const int64_t whole[] = {BATCH, CHANNELS, HEIGHT, WIDTH}, channels[] = {CHANNELS, 1, 1};

static int setup(void **state) {
    if (graph_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    return tn_runtime_register_library(test->runtime, entry) == TN_OK ? 0 : -1;
}

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static tn_tensor_id constant(tn_graph *graph, const char *name, uint32_t rank,
                             const int64_t *extents, uint64_t count, float low) {
    static float values[CHANNELS * CHANNELS * 9];
    tn_tensor_id id = TN_NO_TENSOR;
    for (uint64_t i = 0; i < count; i++)
        values[i] = low + (float)(i * 7 % 23) / 23.0F;
    check(tn_graph_add_constant(graph, name, TN_F32, rank, extents, values, count * sizeof(float),
                                &id));
    return id;
}

/* Of the built-in layers. */
static tn_tensor_id add_builtin(tn_graph *graph, const char *op, const char *name,
                                uint32_t input_count, const tn_tensor_id *inputs) {
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = op,
                                      .name = name,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = 1};
    tn_tensor_id id = TN_NO_TENSOR;
    check(tn_graph_add_node(graph, &node, &id));
    return id;
}

static tn_tensor_id less_of(tn_graph *graph, const char *name, tn_tensor_id a, tn_tensor_id b) {
    return add_node(graph, "Less2", name, 2, (tn_tensor_id[]){a, b});
}

/* Builds, loads and runs; the input's elements are multiples of 1/32 in -1.5 .. 1.5. */
static void run(graph_test *test, const tn_builder_options *options, float *out_values,
                char *out_report, size_t report_bytes) {
    static _Alignas(64) float numbers[COUNT];
    uint64_t bytes = 0;
    const void *data;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    const tn_tensor *output = NULL;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)(i * 29 % 97 - 48) / 32.0F;
    check(tn_build(test->graph, options, &plan));
    snprintf(out_report, report_bytes, "%s", tn_plan_report(plan));
    data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine));
    check(tn_context_create(engine, &context));
    for (uint32_t i = 0; i < (uint32_t)test->graph->input_count; i++)
        check(tn_context_bind_input(context, i, numbers, sizeof(numbers)));
    check(tn_context_run(context));
    check(tn_context_output(context, 0, &output));
    memcpy(out_values, output->data, COUNT * sizeof(float));
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

static char report[16384];

/* As the references within `tolerance`, and with a kernel named so. */
static void check_network(graph_test *test, tn_builder_options options, const char *kernel,
                          float tolerance) {
    static float wanted[COUNT], found[COUNT];
    const tn_builder_options reference = {
        .size = sizeof reference, .threads = 1, .flags = TN_BUILD_REFERENCE};
    options.size = sizeof options;
    run(test, &reference, wanted, report, sizeof(report));
    run(test, &options, found, report, sizeof(report));
    if (!strstr(report, kernel)) fail_msg("no %s in %s", kernel, report);
    for (int i = 0; i < COUNT; i++)
        if (!(fabsf(wanted[i] - found[i]) <= tolerance * (1 + fabsf(wanted[i]))))
            fail_msg("element %d is %g, not %g", i, (double)found[i], (double)wanted[i]);
}

static void test_a_chain_of_floats_at_each_level(void **state) {
    static const char *const levels[][2] = {{"fused_baseline", "sse2"},
                                            {"fused_avx2", "avx2,fma"},
                                            {"fused_avx512", "avx512f,avx512bw,avx512vl,avx512dq"}};
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 4, whole);
    const tn_tensor_id z = add_input(graph, "z", TN_F32, 4, whole);
    tn_tensor_id last = add_unary(graph, "Bend", "a", x);
    last = less_of(graph, "b", last, constant(graph, "by_channel", 3, channels, CHANNELS, 0.5F));
    last = less_of(graph, "c", z, last);
    last = less_of(graph, "d", last, constant(graph, "one", 0, NULL, 1, 0.25F));
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('e' + i), 0};
        last = add_unary(graph, "Bend", name, last);
    }
    tn_graph_add_output(graph, last, NULL);
    for (uint32_t i = 0; i < 3; i++) {
        char pins[64];
        if (!tn_runtime_has_features(test->runtime, levels[i][1])) continue;
        snprintf(pins, sizeof(pins), "Bend=%s", levels[i][0]);
        for (uint32_t threads = 1; threads <= 2; threads++) {
            check_network(test,
                          (tn_builder_options){.threads = threads,
                                               .flags = TN_BUILD_NO_TIMING,
                                               .force_kernel = pins},
                          levels[i][0], 1e-5F);
            assert_null(strstr(report, "reference"));
        }
    }
}

static void test_a_long_chain_is_one_step(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_tensor_id last = add_input(graph, "x", TN_F32, 4, whole);
    for (int i = 0; i < 9; i++) {
        char name[2] = {(char)('a' + i), 0};
        last = i % 2 ? add_builtin(graph, "Sin", name, 1, &last)
                     : add_unary(graph, "Bend", name, last);
    }
    tn_graph_add_output(graph, last, NULL);
    check_network(test, (tn_builder_options){.threads = 1, .flags = TN_BUILD_NO_TIMING}, "fused_",
                  1e-4F);
    assert_non_null(strstr(report, "\"absorbed\": [\"b\", \"c\", \"d\", \"e\", \"f\", "
                                   "\"g\", \"h\", \"i\"]"));
}

/* By measured time: in the convolution's format, or behind a conversion. */
static void test_behind_a_convolution_in_its_format(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    const int64_t filter[] = {CHANNELS, CHANNELS, 1, 1};
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 4, whole);
    const tn_tensor_id w = constant(graph, "w", 4, filter, CHANNELS * CHANNELS, -0.5F);
    const tn_tensor_id y = add_builtin(graph, "Conv", "conv", 2, (tn_tensor_id[]){x, w});
    tn_tensor_id last = add_unary(graph, "Bend", "a", y);
    last = less_of(graph, "b", last, constant(graph, "by_channel", 3, channels, CHANNELS, 0.5F));
    last = less_of(graph, "c", last, y);
    const tn_tensor_id again = add_builtin(graph, "Conv", "conv2", 2, (tn_tensor_id[]){last, w});
    tn_graph_add_output(graph, again, NULL);
    check_network(test, (tn_builder_options){.threads = 1}, "conv2", 1e-4F);
}

static void test_bytes_are_looked_up(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_calibration *calibration = NULL;
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 4, whole);
    tn_graph_add_output(graph, add_unary(graph, "Bend", "y", x), "y");
    check(tn_calibration_create(test->runtime, &calibration));
    check(tn_calibration_set(calibration, "x", 1 / 32.0F));
    check(tn_calibration_set(calibration, "y", 1 / 32.0F));
    static const char *const pins[][2] = {{"Bend=fused_int8", "sse2"},
                                          {"Bend=fused_int8_avx2", "avx2,fma"},
                                          {"Bend=fused_int8_avx512", "avx512f,avx512bw,avx512vl"}};
    for (uint32_t i = 0; i < 3; i++)
        if (tn_runtime_has_features(test->runtime, pins[i][1]))
            /* x is exact in its scale, y within half a step. */
            check_network(test,
                          (tn_builder_options){.threads = 1,
                                               .flags = TN_BUILD_NO_TIMING,
                                               .precision = TN_PRECISION_I8,
                                               .calibration = calibration,
                                               .force_kernel = pins[i][0]},
                          pins[i][0] + strlen("Bend="), 0.51F / 32);
    tn_calibration_destroy(calibration);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, graph_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_chain_of_floats_at_each_level),
        TEST(test_a_long_chain_is_one_step),
        TEST(test_behind_a_convolution_in_its_format),
        TEST(test_bytes_are_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
