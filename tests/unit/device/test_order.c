/* SPDX-License-Identifier: Apache-2.0 */
/* What a build on a device measures first where it may use 16 bits and 8 bits. */
#include "device_test.h"
#include "stub/stub.h"

#include <tenon/calibration.h>

enum { FLOAT = 0, HALF = 1, BYTES = 2, KINDS = 3 };

static uint32_t count, first_runs[KINDS]; /* runs of all, and which of them was a kernel's first */

static void note(int kind) {
    if (first_runs[kind] == 0) first_runs[kind] = ++count;
}

static tn_status do_nothing(tn_call *call) {
    memset(call->outputs[0]->data, 0, call->outputs[0]->bytes);
    return TN_OK;
}
static tn_status enqueue(tn_call *call, int kind) {
    note(kind);
    return ((const tn_stub_state *)call->device->user)->enqueue(call, do_nothing);
}
static tn_status run_float(tn_call *call) {
    return enqueue(call, FLOAT);
}
static tn_status run_half(tn_call *call) {
    return enqueue(call, HALF);
}
static tn_status run_bytes(tn_call *call) {
    return enqueue(call, BYTES);
}

static const char *const float_types[] = {"f32 -> f32"}, *const half_types[] = {"f16 -> f16"},
                         *const bytes_types[] = {"qi8 -> qi8"};
#define KERNEL(kernel_name, types, function)                                                       \
    {                                                                                              \
        .size = sizeof(tn_kernel), .revision = 1, .domain = "", .op = "Neg", .device = "stub",     \
        .name = kernel_name, TN_COMBINATIONS(types), .run = function                               \
    }
static const tn_kernel float_kernel = KERNEL("float", float_types, run_float),
                       half_kernel = KERNEL("half", half_types, run_half),
                       bytes_kernel = KERNEL("bytes", bytes_types, run_bytes);
static const tn_kernel *const kernels[] = {&float_kernel, &half_kernel, &bytes_kernel};

static tn_library *entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "order",
                                 .version = "1",
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels};
    (void)host;
    return &library;
}

static void build_neg(tn_runtime *runtime, uint32_t second_precision) {
    static const int64_t shape[] = {1, 64, 64, 64};
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_calibration *scales = NULL;
    must(tn_graph_create(runtime, "neg", &graph));
    tn_tensor_id last = add_input(graph, "x", TN_F32, 4, shape);
    must(tn_calibration_create(runtime, &scales));
    must(tn_calibration_set(scales, "x", 1));
    for (int i = 0; i < 2; i++) {
        const char *const name = i == 0 ? "a" : "b";
        const tn_node_description node = {.size = sizeof(node),
                                          .domain = "",
                                          .op = "Neg",
                                          .name = name,
                                          .input_count = 1,
                                          .inputs = (tn_tensor_id[]){last},
                                          .output_count = 1,
                                          .output_names = &name};
        must(tn_graph_add_node(graph, &node, &last));
        must(tn_calibration_set(scales, name, 1));
    }
    must(tn_graph_add_output(graph, last, "y"));
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .device = "stub",
                                        .precision = TN_PRECISION_I8,
                                        .second_precision = second_precision,
                                        .calibration = scales,
                                        .timing_seconds = 2,
                                        .flags = TN_BUILD_NO_FUSION};
    count = 0;
    memset(first_runs, 0, sizeof(first_runs));
    must(tn_build(graph, &options, &plan));
    tn_plan_destroy(plan);
    tn_calibration_destroy(scales);
    tn_graph_destroy(graph);
}

/* 8 bits move the least and promise most by the estimates; where 16 bits are allowed, too, these
 * come first all the same. */
static void test_8_bits_come_last_beside_16(void **state) {
    device_test *test = *state;
    must(tn_runtime_register_library(test->runtime, entry));
    build_neg(test->runtime, TN_PRECISION_F16);
    assert_int_not_equal(first_runs[BYTES], 0);
    assert_int_not_equal(first_runs[HALF], 0);
    assert_true(first_runs[HALF] < first_runs[BYTES] && first_runs[FLOAT] < first_runs[BYTES]);
    build_neg(test->runtime, 0);
    assert_int_equal(first_runs[BYTES], 1);
    assert_int_equal(first_runs[HALF], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {DEVICE_TEST(test_8_bits_come_last_beside_16)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
