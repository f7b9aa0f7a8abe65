/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of older opsets: what they become, and what is said where they are damaged. Their results
 * are compared by scripts/onnx_suite/older.py. */
#include "onnx_test.h"

/* A graph of one node over x of 2 x 3 floats, in this opset. */
static tn_status parse_node(graph_test *test, int64_t opset, onnx_part *node) {
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2,3");
    onnx_part_move(&graph, ONNX_GRAPH_NODE, node);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    onnx_part model = onnx_model(&graph, "", opset);
    return parse_and_free(test, &model);
}

/* The node of the file; those that its adaptation adds come before it. */
static const tn_graph_node *last_node(const graph_test *test) {
    return &test->graph->nodes[test->graph->node_count - 1];
}

static void test_attributes_become_inputs(void **state) {
    graph_test *test = *state;
    const int64_t shape[] = {3, 2}, consumed[] = {0};
    onnx_part node = onnx_node("Reshape", "r", "", "x", "y");
    onnx_node_add(&node, onnx_attribute_ints("shape", 2, shape));
    onnx_node_add(&node, onnx_attribute_ints("consumed_inputs", 1, consumed));
    assert_int_equal(parse_node(test, 1, &node), TN_OK);
    assert_int_equal(last_node(test)->entry->op->since_version, 5);
    assert_int_equal(last_node(test)->input_count, 2);
    assert_true(test->graph->tensors[last_node(test)->inputs[1]].is_constant);
}

static void test_operators_without_a_version_so_old_are_those_of_opset_6(void **state) {
    graph_test *test = *state;
    const int64_t consumed[] = {0};
    onnx_part node = onnx_node("Relu", "r", "", "x", "y");
    onnx_node_add(&node, onnx_attribute_ints("consumed_inputs", 1, consumed));
    assert_int_equal(parse_node(test, 5, &node), TN_OK);
    assert_int_equal(last_node(test)->entry->op->since_version, 6);
}

static void test_consumed_inputs_are_no_attribute_from_opset_6_on(void **state) {
    graph_test *test = *state;
    const int64_t consumed[] = {0};
    onnx_part node = onnx_node("Relu", "r", "", "x", "y");
    onnx_node_add(&node, onnx_attribute_ints("consumed_inputs", 1, consumed));
    assert_int_not_equal(parse_node(test, 6, &node), TN_OK);
    assert_error("consumed_inputs", NULL);
}

static void test_upsample_becomes_resize(void **state) {
    graph_test *test = *state;
    const float scales[] = {2, 3};
    onnx_part node = onnx_node("Upsample", "u", "", "x", "y");
    onnx_node_add(&node, onnx_attribute_floats("scales", 2, scales));
    assert_int_equal(parse_node(test, 7, &node), TN_OK);
    assert_string_equal(last_node(test)->entry->op->name, "Resize");
    assert_int_equal(last_node(test)->input_count, 4); /* sizes are absent, too */
    assert_true(last_node(test)->inputs[1] == TN_NO_TENSOR);
}

static void test_a_type_by_an_unknown_name_is_refused(void **state) {
    graph_test *test = *state;
    onnx_part node = onnx_node("Cast", "c", "", "x", "y");
    onnx_node_add(&node, onnx_attribute_text("to", "REAL", 4));
    assert_int_equal(parse_node(test, 1, &node), TN_ERROR_FORMAT);
    assert_error("attribute 'to' is 'REAL', no type of ONNX", "node 'c'");
}

static void test_operators_that_nobody_has_stay_missing(void **state) {
    graph_test *test = *state;
    onnx_part node = onnx_node("ParametricSoftplus", "p", "", "x", "y");
    assert_int_equal(parse_node(test, 1, &node), TN_ERROR_UNSUPPORTED);
    assert_error("no operator 'ParametricSoftplus'", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_attributes_become_inputs),
        GRAPH_TEST(test_operators_without_a_version_so_old_are_those_of_opset_6),
        GRAPH_TEST(test_consumed_inputs_are_no_attribute_from_opset_6_on),
        GRAPH_TEST(test_upsample_becomes_resize),
        GRAPH_TEST(test_a_type_by_an_unknown_name_is_refused),
        GRAPH_TEST(test_operators_that_nobody_has_stay_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
