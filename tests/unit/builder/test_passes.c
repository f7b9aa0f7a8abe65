/* SPDX-License-Identifier: Apache-2.0 */
/* Each pass, before and after. */
#include "build_test.h"

/* --- fold constants --- */

static void test_a_node_of_constants_becomes_a_constant(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_I64, 1, EXTENTS(2));
    tn_tensor_id a = add_i64s(graph, "a", 2, (const int64_t[]){3, 4});
    tn_tensor_id b = add_i64s(graph, "b", 2, (const int64_t[]){10, 20});
    tn_tensor_id sum = add_node(graph, "Add", "sum", 2, TENSORS(a, b));
    tn_tensor_id twice = add_node(graph, "Add", "twice", 2, TENSORS(sum, sum));
    add_output(graph, add_node(graph, "Add", "last", 2, TENSORS(x, twice)));
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_fold_constants(&stage.passes), TN_OK);
    assert_int_equal(graph->node_count, 1);
    assert_true(has_node(graph, "last"));
    assert_true(graph->tensors[twice].is_constant);
    assert_int_equal(graph->tensors[twice].bytes, 16);
    assert_int_equal(((const int64_t *)graph->tensors[twice].data)[0], 26);
    assert_int_equal(((const int64_t *)graph->tensors[twice].data)[1], 48);
    assert_true(has_name(&stage.passes.folded, "sum") && has_name(&stage.passes.folded, "twice"));
    stage_end(&stage);
}

static void test_a_view_of_a_constant_is_folded_without_a_copy(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id w = add_floats(graph, "w", 1, EXTENTS(6));
    tn_tensor_id shape = add_i64s(graph, "shape", 2, (const int64_t[]){2, 3});
    tn_tensor_id viewed = add_node(graph, "Reshape", "view", 2, TENSORS(w, shape));
    add_output(graph, add_unary(graph, "Noise", "noise", viewed));
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_fold_constants(&stage.passes), TN_OK);
    assert_false(has_node(graph, "view"));
    assert_ptr_equal(graph->tensors[viewed].data, graph->tensors[w].data);
    assert_int_equal(graph->tensors[viewed].shape.rank, 2);
    stage_end(&stage);
}

static void test_what_must_not_be_folded_stays(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id c = add_floats(graph, "c", 1, EXTENTS(4));
    tn_tensor_id noise = add_unary(graph, "Noise", "noise", c);
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", noise);
    add_output(graph, relu);
    add_output(graph, add_unary(graph, "Copy", "an_output", c));
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_fold_constants(&stage.passes), TN_OK);
    assert_int_equal(graph->node_count, 3);
    assert_int_equal(stage.passes.folded.count, 0);
    stage_end(&stage);
}

static void test_a_constant_that_grows_too_much_is_not_folded(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id small = add_i64s(graph, "small", 1, (const int64_t[]){1000});
    tn_tensor_id large = add_i64s(graph, "large", 1, (const int64_t[]){20 << 20});
    tn_tensor_id few = add_unary(graph, "Fill", "few", small);
    tn_tensor_id many = add_unary(graph, "Fill", "many", large);
    add_output(graph, add_unary(graph, "Noise", "n0", few));
    add_output(graph, add_unary(graph, "Noise", "n1", many));
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_fold_constants(&stage.passes), TN_OK);
    assert_true(!has_node(graph, "few") && has_node(graph, "many"));
    assert_int_equal(graph->tensors[few].bytes, 4000);
    stage_end(&stage);
}

static void test_a_shape_that_never_differs_is_folded(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, EXTENTS(3, 5));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", x);
    tn_tensor_id shape = add_unary(graph, "Shape", "shape", relu);
    tn_tensor_id flat = add_node(graph, "Reshape", "reshape", 2, TENSORS(relu, shape));
    add_output(graph, flat);
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_fold_constants(&stage.passes), TN_OK);
    assert_false(has_node(graph, "shape"));
    assert_true(graph->tensors[shape].is_constant);
    assert_int_equal(((const int64_t *)graph->tensors[shape].data)[1], 5);
    stage_end(&stage);
}

static void test_a_shape_that_a_profile_moves_is_not_folded(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 5));
    tn_tensor_id free = add_input(graph, "free", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id shape = add_unary(graph, "Shape", "shape", x);
    tn_tensor_id free_shape = add_unary(graph, "Shape", "free_shape", free);
    add_output(graph, add_unary(graph, "Copy", "c0", shape));
    add_output(graph, add_unary(graph, "Copy", "c1", free_shape));
    tn_profile_input range = {.size = sizeof range,
                              .rank = 2,
                              .name = "x",
                              .minimum = EXTENTS(1, 5),
                              .optimum = EXTENTS(4, 5),
                              .maximum = EXTENTS(8, 5)};
    const tn_profile_input *ranges[] = {&range};
    tn_builder_options options = {
        .size = sizeof options, .profile_input_count = 1, .profile_inputs = ranges};
    stage_infer(&stage, graph, &options);
    assert_int_equal(tn_pass_fold_constants(&stage.passes), TN_OK);
    assert_true(has_node(graph, "shape") && has_node(graph, "free_shape"));
    stage_end(&stage);
}

/* --- drop dead --- */

static void test_nodes_that_nobody_needs_are_dropped(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id kept = add_unary(graph, "Relu", "kept", x);
    tn_tensor_id dead = add_unary(graph, "Relu", "dead", kept);
    add_unary(graph, "Relu", "deader", dead);
    add_output(graph, kept);
    stage_infer(&stage, graph, NULL);
    assert_int_equal(graph->tensors[kept].use_count, 2);
    assert_int_equal(tn_pass_drop_dead(&stage.passes), TN_OK);
    assert_int_equal(graph->node_count, 1);
    assert_true(has_node(graph, "kept") && has_name(&stage.passes.dropped, "deader"));
    assert_int_equal(graph->tensors[kept].use_count, 1);
    stage_end(&stage);
}

static void test_optional_outputs_that_nobody_reads_are_dropped(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4)), first[2], second[2];
    assert_int_equal(try_node(graph, "Pair", "first", 1, &x, 2, first), TN_OK);
    assert_int_equal(try_node(graph, "Pair", "second", 1, &first[0], 2, second), TN_OK);
    add_output(graph, second[1]);
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_drop_dead(&stage.passes), TN_OK);
    assert_int_equal(graph->nodes[0].outputs[0], first[0]);
    assert_int_equal(graph->nodes[0].outputs[1], TN_NO_TENSOR);
    assert_int_equal(graph->nodes[1].outputs[0], second[0]); /* not optional */
    assert_int_equal(graph->nodes[1].outputs[1], second[1]);
    stage_end(&stage);
}

/* --- drop identities --- */

static void test_an_identity_is_dropped(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id same = add_unary(graph, "Same", "same", x);
    tn_tensor_id other = add_with_int(graph, "Same", "other", same, "on", 0);
    tn_tensor_id last = add_node(graph, "Plus", "last", 2, TENSORS(same, other));
    add_output(graph, last);
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_drop_identities(&stage.passes), TN_OK);
    assert_int_equal(graph->node_count, 2);
    assert_true(has_node(graph, "other") && has_name(&stage.passes.dropped, "same"));
    assert_int_equal(graph->nodes[0].inputs[0], x);
    assert_int_equal(graph->nodes[1].inputs[0], x);
    stage_end(&stage);
}

static void test_an_output_keeps_its_name_when_its_identity_goes(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", x);
    tn_tensor_id same = add_unary(graph, "Same", "same", relu);
    tn_tensor_id other = add_unary(graph, "Relu", "other", relu);
    add_output(graph, same);
    add_output(graph, other);
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_drop_identities(&stage.passes), TN_OK);
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(graph->outputs[0], same);
    assert_int_equal(graph->nodes[0].outputs[0], same);
    assert_int_equal(graph->nodes[1].inputs[0], same);
    stage_end(&stage);
}

static void test_an_identity_from_input_to_output_stays(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    build_stage stage;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", x);
    add_output(graph, add_unary(graph, "Same", "from_input", x));
    add_output(graph, relu);
    add_output(graph, add_unary(graph, "Same", "from_output", relu));
    stage_infer(&stage, graph, NULL);
    assert_int_equal(tn_pass_drop_identities(&stage.passes), TN_OK);
    assert_int_equal(graph->node_count, 3);
    stage_end(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_a_node_of_constants_becomes_a_constant),
        BUILD_TEST(test_a_view_of_a_constant_is_folded_without_a_copy),
        BUILD_TEST(test_what_must_not_be_folded_stays),
        BUILD_TEST(test_a_constant_that_grows_too_much_is_not_folded),
        BUILD_TEST(test_a_shape_that_never_differs_is_folded),
        BUILD_TEST(test_a_shape_that_a_profile_moves_is_not_folded),
        BUILD_TEST(test_nodes_that_nobody_needs_are_dropped),
        BUILD_TEST(test_optional_outputs_that_nobody_reads_are_dropped),
        BUILD_TEST(test_an_identity_is_dropped),
        BUILD_TEST(test_an_output_keeps_its_name_when_its_identity_goes),
        BUILD_TEST(test_an_identity_from_input_to_output_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
