/* SPDX-License-Identifier: Apache-2.0 */
/* The passes that rewrite by what operators say of themselves: rewrites are applied, factors
 * and shifts go into weights. With the built-in layers, which say so. */
#include "build_test.h"

#include <math.h>

static tn_tensor_id add_layer(tn_graph *graph, const char *op, uint32_t input_count,
                              const tn_tensor_id *inputs) {
    tn_tensor_id output = TN_NO_TENSOR;
    tn_node_description node = {.size = sizeof(node),
                                .domain = "",
                                .op = op,
                                .input_count = input_count,
                                .inputs = inputs,
                                .output_count = 1};
    if (tn_graph_add_node(graph, &node, &output) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    return output;
}

static tn_tensor_id add_values(tn_graph *graph, uint32_t rank, const int64_t *extents,
                               const float *values) {
    tn_tensor_id id = TN_NO_TENSOR;
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= (uint64_t)extents[i];
    assert_int_equal(tn_graph_add_constant(graph, NULL, TN_F32, rank, extents, values,
                                           count * sizeof *values, &id),
                     TN_OK);
    return id;
}

static tn_tensor_id add_number(tn_graph *graph, float value) {
    return add_values(graph, 0, NULL, &value);
}

static void recognize(build_stage *stage, tn_graph *graph) {
    stage_infer(stage, graph, NULL);
    assert_int_equal(tn_pass_rewrite(&stage->passes), TN_OK);
}

static const char *only_operator(const tn_graph *graph) {
    return graph->node_count == 1 ? graph->nodes[0].entry->op->name : "(several)";
}

/* --- recognize --- */

static void test_swish_is_recognized_in_either_order(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id a = add_layer(test->graph, "Sigmoid", 1, TENSORS(x));
    tn_tensor_id swish = add_layer(test->graph, "Mul", 2, TENSORS(x, a));
    tn_tensor_id b = add_layer(test->graph, "Sigmoid", 1, TENSORS(swish));
    tn_tensor_id twice = add_layer(test->graph, "Mul", 2, TENSORS(b, swish));
    add_output(test->graph, twice);
    recognize(&stage, test->graph);
    assert_int_equal(test->graph->node_count, 2);
    assert_string_equal(test->graph->nodes[0].entry->op->name, "Swish");
    assert_string_equal(test->graph->nodes[1].entry->op->name, "Swish");
    assert_int_equal(test->graph->nodes[0].inputs[0], x);
    assert_int_equal(test->graph->nodes[1].outputs[0], twice);
    assert_int_equal(stage.passes.rewritten.count, 2);
    stage_end(&stage);
}

static tn_tensor_id add_gelu(tn_graph *graph, tn_tensor_id x, float root, float half) {
    tn_tensor_id scaled = add_layer(graph, "Div", 2, TENSORS(x, add_number(graph, root)));
    tn_tensor_id erf = add_layer(graph, "Erf", 1, TENSORS(scaled));
    tn_tensor_id more = add_layer(graph, "Add", 2, TENSORS(add_number(graph, 1), erf));
    tn_tensor_id product = add_layer(graph, "Mul", 2, TENSORS(x, more));
    return add_layer(graph, "Mul", 2, TENSORS(product, add_number(graph, half)));
}

static void test_gelu_is_recognized_by_its_numbers(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(-1, 5));
    add_output(test->graph, add_gelu(test->graph, x, sqrtf(2), 0.5f));
    recognize(&stage, test->graph);
    assert_string_equal(only_operator(test->graph), "Gelu");
    stage_end(&stage);
}

static void test_other_numbers_are_left_alone(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    add_output(test->graph, add_gelu(test->graph, x, 1.4f, 0.5f));
    recognize(&stage, test->graph);
    assert_int_equal(test->graph->node_count, 5);
    assert_int_equal(stage.passes.rewritten.count, 0);
    stage_end(&stage);
}

static void test_a_pattern_that_others_read_into_is_left_alone(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id inner = add_layer(test->graph, "Sigmoid", 1, TENSORS(x));
    add_output(test->graph, add_layer(test->graph, "Mul", 2, TENSORS(x, inner)));
    add_output(test->graph, inner);
    recognize(&stage, test->graph);
    assert_int_equal(test->graph->node_count, 2);
    stage_end(&stage);
}

static void test_a_pattern_of_two_tensors_is_left_alone(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id other = add_input(test->graph, "other", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id inner = add_layer(test->graph, "Sigmoid", 1, TENSORS(x));
    add_output(test->graph, add_layer(test->graph, "Mul", 2, TENSORS(other, inner)));
    recognize(&stage, test->graph);
    assert_int_equal(test->graph->node_count, 2);
    stage_end(&stage);
}

/* --- fold affine --- */

enum { FILTERS = 2, CHANNELS = 3 };
static const float weights[FILTERS * CHANNELS] = {1, -2, 3, 4, 5, -6};

static tn_tensor_id add_conv(tn_graph *graph, tn_tensor_id x, bool has_bias) {
    tn_tensor_id w = add_values(graph, 4, EXTENTS(FILTERS, CHANNELS, 1, 1), weights);
    tn_tensor_id b = add_values(graph, 1, EXTENTS(FILTERS), (const float[]){10, 20});
    return add_layer(graph, "Conv", has_bias ? 3 : 2, TENSORS(x, w, b));
}

static tn_tensor_id add_normalization(tn_graph *graph, tn_tensor_id x) {
    const tn_tensor_id inputs[] = {
        x, add_values(graph, 1, EXTENTS(FILTERS), (const float[]){2, 3}),
        add_values(graph, 1, EXTENTS(FILTERS), (const float[]){100, 200}),
        add_values(graph, 1, EXTENTS(FILTERS), (const float[]){5, 7}),
        add_values(graph, 1, EXTENTS(FILTERS), (const float[]){4, 9})};
    return add_layer(graph, "BatchNormalization", 5, inputs);
}

static void fold(build_stage *stage, tn_graph *graph) {
    stage_infer(stage, graph, NULL);
    assert_int_equal(tn_pass_fold_affine(&stage->passes), TN_OK);
}

static float value_of(const tn_graph *graph, uint32_t input, size_t index) {
    const tn_graph_tensor *tensor = &graph->tensors[graph->nodes[0].inputs[input]];
    assert_true(tensor->is_constant && index < tensor->bytes / sizeof(float));
    return ((const float *)tensor->data)[index];
}

static void test_a_normalization_goes_into_weights_and_bias(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 2, 2));
    tn_tensor_id y = add_normalization(test->graph, add_conv(test->graph, x, true));
    add_output(test->graph, y);
    fold(&stage, test->graph);
    assert_string_equal(only_operator(test->graph), "Conv");
    assert_int_equal(test->graph->nodes[0].outputs[0], y);
    /* Factors 2 / 2 and 3 / 3, but for epsilon. */
    for (size_t i = 0; i < FILTERS * CHANNELS; i++)
        assert_float_equal(value_of(test->graph, 1, i), weights[i], 1e-4f);
    assert_float_equal(value_of(test->graph, 2, 0), 100 + (10 - 5), 1e-3f);
    assert_float_equal(value_of(test->graph, 2, 1), 200 + (20 - 7), 1e-3f);
    stage_end(&stage);
}

static void test_factors_and_biases_in_a_row_all_go_in(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 2, 2));
    tn_tensor_id y = add_conv(test->graph, x, false);
    tn_tensor_id factors =
        add_values(test->graph, 4, EXTENTS(1, FILTERS, 1, 1), (const float[]){2, -1});
    tn_tensor_id shifts = add_values(test->graph, 3, EXTENTS(FILTERS, 1, 1), (const float[]){3, 4});
    y = add_layer(test->graph, "Mul", 2, TENSORS(y, factors));
    y = add_layer(test->graph, "Add", 2, TENSORS(shifts, y));
    add_output(test->graph, y);
    fold(&stage, test->graph);
    assert_string_equal(only_operator(test->graph), "Conv");
    assert_float_equal(value_of(test->graph, 1, 1), -4, 0);
    assert_float_equal(value_of(test->graph, 1, 4), -5, 0);
    assert_float_equal(value_of(test->graph, 2, 0), 3, 0);
    assert_float_equal(value_of(test->graph, 2, 1), 4, 0);
    stage_end(&stage);
}

static void test_what_others_read_is_not_folded(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 2, 2));
    tn_tensor_id conv = add_conv(test->graph, x, true);
    add_output(test->graph, add_normalization(test->graph, conv));
    add_output(test->graph, conv);
    fold(&stage, test->graph);
    assert_int_equal(test->graph->node_count, 2);
    stage_end(&stage);
}

static void test_along_another_axis_nothing_is_folded(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 2, 2));
    tn_tensor_id columns = add_values(test->graph, 1, EXTENTS(2), (const float[]){2, -1});
    tn_tensor_id conv = add_conv(test->graph, x, true);
    add_output(test->graph, add_layer(test->graph, "Mul", 2, TENSORS(conv, columns)));
    fold(&stage, test->graph);
    assert_int_equal(test->graph->node_count, 2);
    stage_end(&stage);
}

static void test_weights_that_vary_are_not_folded(void **state) {
    graph_test *test = *state;
    build_stage stage;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 2, 2));
    tn_tensor_id w = add_input(test->graph, "w", TN_F32, 4, EXTENTS(FILTERS, CHANNELS, 1, 1));
    tn_tensor_id conv = add_layer(test->graph, "Conv", 2, TENSORS(x, w));
    add_output(test->graph, add_normalization(test->graph, conv));
    fold(&stage, test->graph);
    assert_int_equal(test->graph->node_count, 2);
    stage_end(&stage);
}

/* --- memory --- */

static void test_memory_that_runs_out_is_an_error(void **state) {
    graph_test *test = *state;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 4, EXTENTS(1, CHANNELS, 2, 2));
    tn_tensor_id y = add_normalization(test->graph, add_conv(test->graph, x, true));
    tn_tensor_id inner = add_layer(test->graph, "Sigmoid", 1, TENSORS(y));
    add_output(test->graph, add_layer(test->graph, "Mul", 2, TENSORS(y, inner)));
    for (uint64_t nth = 1; nth < 10000; nth++) {
        tn_graph *copy = NULL;
        build_stage stage;
        assert_int_equal(tn_graph_copy(test->graph, &copy), TN_OK);
        stage_infer(&stage, copy, NULL);
        test->allocator.fail_at = test->allocator.allocations + nth;
        tn_status status = tn_pass_rewrite(&stage.passes);
        if (status == TN_OK) status = tn_pass_fold_affine(&stage.passes);
        test->allocator.fail_at = 0;
        const size_t left = copy->node_count;
        stage_end(&stage);
        tn_graph_destroy(copy);
        if (status == TN_OK) {
            assert_int_equal(left, 2);
            return;
        }
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    fail_msg("it never has enough memory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_swish_is_recognized_in_either_order),
        BUILD_TEST(test_gelu_is_recognized_by_its_numbers),
        BUILD_TEST(test_other_numbers_are_left_alone),
        BUILD_TEST(test_a_pattern_that_others_read_into_is_left_alone),
        BUILD_TEST(test_a_pattern_of_two_tensors_is_left_alone),
        BUILD_TEST(test_a_normalization_goes_into_weights_and_bias),
        BUILD_TEST(test_factors_and_biases_in_a_row_all_go_in),
        BUILD_TEST(test_what_others_read_is_not_folded),
        BUILD_TEST(test_along_another_axis_nothing_is_folded),
        BUILD_TEST(test_weights_that_vary_are_not_folded),
        BUILD_TEST(test_memory_that_runs_out_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
