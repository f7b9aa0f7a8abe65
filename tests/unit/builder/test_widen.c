/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of 16-bit floats that compute in 32-bit ones: which nodes do, where conversions stand,
 * and builds that leave them as they are. */
#include "build_test.h"

/* --- HalfOnly: a shape rule for f16 alone; HalfKernel: any float, but a kernel for f16 alone ---
 */
static const tn_port half_only_inputs[] = {TN_PORT("x", "T:f16", 0, "x")};
static const tn_port half_kernel_inputs[] = {TN_PORT("x", "T:float", 0, "x")};
static const tn_port half_outputs[] = {TN_PORT("y", "T", 0, "x")};
#define HALF_OPERATOR(table, operator_name)                                                        \
    {                                                                                              \
        .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "tiny",     \
        .name = (operator_name), .doc = "x", TN_NO_FIELDS, TN_INPUTS(table),                       \
        TN_OUTPUTS(half_outputs), .infer = layer_same_shape, .reference = layer_copy_run           \
    }
static const tn_operator half_only = HALF_OPERATOR(half_only_inputs, "HalfOnly");
static const tn_operator half_kernel = HALF_OPERATOR(half_kernel_inputs, "HalfKernel");
static const char *const half_combinations[] = {"f16 -> f16"};
static const tn_kernel half_kernel_kernel = {.size = sizeof(tn_kernel),
                                             .revision = 1,
                                             .domain = "tiny",
                                             .op = "HalfKernel",
                                             .device = "cpu",
                                             .name = "half",
                                             TN_COMBINATIONS(half_combinations),
                                             .run = layer_copy_run};
static const tn_operator *const half_operators[] = {&half_only, &half_kernel};
static const tn_kernel *const half_kernels[] = {&half_kernel_kernel};
static tn_library half_library = {.size = sizeof(tn_library),
                                  .abi_major = TN_ABI_MAJOR,
                                  .abi_minor = TN_ABI_MINOR,
                                  .name = "half_layers",
                                  .version = "1",
                                  .operator_count = TN_COUNT(half_operators),
                                  .operators = half_operators,
                                  .kernel_count = TN_COUNT(half_kernels),
                                  .kernels = half_kernels};
static tn_library *half_entry(const tn_host *host) {
    (void)host;
    return &half_library;
}

static int half_setup(void **state) {
    if (build_test_setup(state) != 0) return -1;
    graph_test *test = *state;
    return tn_runtime_register_library(test->runtime, half_entry) == TN_OK ? 0 : -1;
}
#define HALF_TEST(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, half_setup, graph_test_teardown)

/* 1 and -2.5 */
static tn_tensor_id add_halves(tn_graph *graph, const char *name, tn_type type) {
    const uint16_t f16[2] = {0x3c00, 0xc100}, bf16[2] = {0x3f80, 0xc020};
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_constant(graph, name, type, 1, EXTENTS(2),
                                           type == TN_F16 ? f16 : bf16, sizeof f16, &id),
                     TN_OK);
    return id;
}

/* The standard operator, for all types. */
static tn_tensor_id add_sum(tn_graph *graph, const char *name, tn_tensor_id a, tn_tensor_id b) {
    tn_tensor_id id = TN_NO_TENSOR;
    const tn_node_description node = {.size = sizeof node,
                                      .domain = "",
                                      .version = 14,
                                      .op = "Add",
                                      .name = name,
                                      .input_count = 2,
                                      .inputs = TENSORS(a, b),
                                      .output_count = 1};
    assert_int_equal(tn_graph_add_node(graph, &node, &id), TN_OK);
    return id;
}

static bool widen(build_stage *stage, tn_graph *graph) {
    bool is_widened = false;
    stage_infer(stage, graph, NULL);
    assert_int_equal(tn_pass_widen(&stage->passes, &is_widened), TN_OK);
    return is_widened;
}

static uint32_t count_of(const tn_graph *graph, const char *op) {
    uint32_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        count += strcmp(graph->nodes[n].entry->op->name, op) == 0;
    return count;
}

/* The type that inference finds now. */
static tn_type type_of(const build_stage *stage, tn_tensor_id id) {
    tn_profile_shapes shapes;
    assert_int_equal(tn_profile_shapes_init(&shapes, stage->graph, stage->profiles, stage->arena),
                     TN_OK);
    const tn_type type = shapes.points[1]->tensors[id].storage.tensor.type;
    tn_profile_shapes_deinit(&shapes);
    return type;
}

static void check_types(graph_test *test, tn_type type) {
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id x = add_input(graph, "x", type, 1, EXTENTS(2));
    const tn_tensor_id w = add_halves(graph, "w", type);
    const tn_tensor_id sum = add_sum(graph, "sum", x, w);
    const tn_tensor_id last = add_sum(graph, "last", sum, x);
    add_output(graph, last);
    assert_true(widen(&stage, graph));
    assert_int_equal(count_of(graph, "Cast"), 2); /* of the input, once, and of the output */
    assert_int_equal(type_of(&stage, x), type);
    assert_int_equal(type_of(&stage, last), type);
    assert_int_equal(type_of(&stage, sum), TN_F32);
    assert_int_equal(graph->tensors[w].type, TN_F32);
    assert_int_equal(graph->tensors[w].bytes, 8);
    assert_true(((const float *)graph->tensors[w].data)[0] == 1.0f);
    assert_true(((const float *)graph->tensors[w].data)[1] == -2.5f);
    assert_true(has_name(&stage.passes.widened_nodes, "sum"));
    assert_true(has_name(&stage.passes.widened_nodes, "last"));
    /* who asks for the input and the output finds the tensors that the nodes use */
    assert_int_equal(type_of(&stage, tn_pass_stand_in(&stage.passes, x)), TN_F32);
    assert_int_equal(type_of(&stage, tn_pass_stand_in(&stage.passes, last)), TN_F32);
    assert_int_equal(tn_pass_stand_in(&stage.passes, sum), sum);
    stage_end(&stage);
}

static void test_inner_tensors_of_f16_become_32_bit_floats(void **state) {
    check_types(*state, TN_F16);
}

static void test_inner_tensors_of_bf16_become_32_bit_floats(void **state) {
    check_types(*state, TN_BF16);
}

static void check_kept(graph_test *test, const char *op) {
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id x = add_input(graph, "x", TN_F16, 1, EXTENTS(2));
    const tn_tensor_id before = add_unary(graph, "Copy", "before", x);
    const tn_tensor_id kept = add_unary(graph, op, "kept", before);
    const tn_tensor_id after = add_unary(graph, "Copy", "after", kept);
    add_output(graph, add_sum(graph, "last", after, before));
    assert_true(widen(&stage, graph));
    assert_false(has_name(&stage.passes.widened_nodes, "kept"));
    assert_true(has_name(&stage.passes.widened_nodes, "after"));
    assert_int_equal(type_of(&stage, before), TN_F32);
    assert_int_equal(type_of(&stage, kept), TN_F16);
    assert_int_equal(type_of(&stage, after), TN_F32);
    assert_int_equal(count_of(graph, "Cast"), 4);
    stage_end(&stage);
}

static void test_an_operator_of_16_bits_alone_keeps_them(void **state) {
    check_kept(*state, "HalfOnly");
}

static void test_a_node_whose_kernels_are_of_16_bits_alone_keeps_them(void **state) {
    check_kept(*state, "HalfKernel");
}

static void test_a_network_of_32_bit_floats_is_not_touched(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(2));
    add_output(graph, add_unary(graph, "Copy", "copy", x));
    assert_false(widen(&stage, graph));
    assert_int_equal(graph->node_count, 1);
    stage_end(&stage);
}

/* An output that is a constant, and one that nodes in 16 bits read as well. */
static void test_a_constant_that_others_read_keeps_a_copy_of_16_bits(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    const tn_tensor_id x = add_input(graph, "x", TN_F16, 1, EXTENTS(2));
    const tn_tensor_id w = add_halves(graph, "w", TN_F16);
    const tn_tensor_id kept = add_unary(graph, "HalfOnly", "kept", w);
    add_output(graph, add_sum(graph, "sum", x, w));
    add_output(graph, kept);
    assert_true(widen(&stage, graph));
    assert_int_equal(graph->tensors[w].type, TN_F32);
    assert_int_equal(type_of(&stage, kept), TN_F16);
    stage_end(&stage);
}

static tn_plan *build(graph_test *test, uint32_t flags) {
    const tn_builder_options options = {
        .size = sizeof options, .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
    tn_plan *plan = NULL;
    if (tn_build(test->graph, &options, &plan) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return plan;
}

static bool is_widened(graph_test *test, uint32_t flags) {
    tn_plan *plan = build(test, flags);
    const bool answer = strstr(tn_plan_report(plan), "\"widened\"") != NULL;
    tn_plan_destroy(plan);
    return answer;
}

static void test_builds_that_keep_16_bits_have_no_conversions(void **state) {
    graph_test *test = *state;
    const tn_tensor_id x = add_input(test->graph, "x", TN_F16, 1, EXTENTS(2));
    add_output(test->graph, add_unary(test->graph, "Copy", "copy", x));
    assert_true(is_widened(test, 0));
    assert_true(is_widened(test, TN_BUILD_NO_FUSION));
    assert_false(is_widened(test, TN_BUILD_KEEP_HALF));
    assert_false(is_widened(test, TN_BUILD_REFERENCE));
}

static void test_failing_allocations_leave_nothing_behind(void **state) {
    graph_test *test = *state;
    const tn_builder_options options = {
        .size = sizeof options, .threads = 1, .flags = TN_BUILD_NO_TIMING};
    const tn_tensor_id x = add_input(test->graph, "x", TN_F16, 1, EXTENTS(2));
    const tn_tensor_id w = add_halves(test->graph, "w", TN_F16);
    const tn_tensor_id kept = add_unary(test->graph, "HalfOnly", "kept", x);
    add_output(test->graph, add_sum(test->graph, "sum", kept, w));
    tn_plan_destroy(build(test, 0)); /* what the runtime loads once is there now */
    test->allocator.allocations = 0;
    tn_plan_destroy(build(test, 0));
    const uint64_t count = test->allocator.allocations;
    const int64_t live = test->allocator.live;
    for (uint64_t at = 1; at <= count; at++) {
        tn_plan *plan = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = at;
        const tn_status status = tn_build(test->graph, &options, &plan);
        test->allocator.fail_at = 0;
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
        tn_plan_destroy(plan);
        assert_int_equal(test->allocator.live, live);
    }
    assert_true(count > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        HALF_TEST(test_inner_tensors_of_f16_become_32_bit_floats),
        HALF_TEST(test_inner_tensors_of_bf16_become_32_bit_floats),
        HALF_TEST(test_an_operator_of_16_bits_alone_keeps_them),
        HALF_TEST(test_a_node_whose_kernels_are_of_16_bits_alone_keeps_them),
        HALF_TEST(test_a_network_of_32_bit_floats_is_not_touched),
        HALF_TEST(test_a_constant_that_others_read_keeps_a_copy_of_16_bits),
        HALF_TEST(test_builds_that_keep_16_bits_have_no_conversions),
        HALF_TEST(test_failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
