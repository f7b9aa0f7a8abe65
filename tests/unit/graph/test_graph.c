/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs built by hand: what is accepted, what is refused and how, what a copy keeps. */
#include "graph_test.h"

#include "base/status.h"

static void test_a_small_network_has_its_ports(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    const char *names[] = {"N", NULL};
    tn_tensor_id x;
    assert_int_equal(tn_graph_add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 3), names, &x), TN_OK);
    tn_tensor_id y = add_unary(graph, "Copy", "first", x);
    assert_int_equal(tn_graph_add_output(graph, y, "result"), TN_OK);
    assert_int_equal(tn_graph_input_count(graph), 1);
    assert_int_equal(tn_graph_output_count(graph), 1);
    const tn_port_info *input = tn_graph_input(graph, 0);
    assert_string_equal(input->name, "x");
    assert_int_equal(input->type, TN_F32);
    assert_int_equal(input->rank, 2);
    assert_int_equal(input->extents[0], -1);
    assert_string_equal(input->names[0], "N");
    assert_null(input->names[1]);
    assert_int_equal(input->is_value, 0);
    assert_string_equal(tn_graph_output(graph, 0)->name, "result");
    assert_int_equal(tn_graph_output(graph, 0)->rank, UINT32_MAX);
    assert_null(tn_graph_input(graph, 1));
    assert_null(tn_graph_output(graph, 1));
}

static void test_an_input_whose_value_decides_shapes_says_so(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id size = add_input(graph, "size", TN_I64, 1, EXTENTS(2));
    tn_tensor_id copied = add_unary(graph, "Copy", "copy", size);
    add_node(graph, "Reshape", "reshape", 2, TENSORS(x, copied));
    assert_int_equal(tn_graph_input(graph, 0)->is_value, 0);
    assert_int_equal(tn_graph_input(graph, 1)->is_value, 1);
}

static void test_names_are_found_and_the_nearest_is_told(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "image", TN_F32, 1, EXTENTS(6)), found;
    assert_int_equal(tn_graph_find(graph, "image", &found), TN_OK);
    assert_int_equal(found, x);
    assert_int_equal(tn_graph_find(graph, "imaga", &found), TN_ERROR_NOT_FOUND);
    assert_error("'image'", NULL);
}

static void test_a_name_is_given_once(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6)), other = 77;
    assert_int_equal(tn_graph_add_input(graph, "x", TN_F32, 0, NULL, NULL, &other),
                     TN_ERROR_ARGUMENT);
    assert_error("'x' already", NULL);
    assert_int_equal(other, 77);
    const char *outputs[] = {"x"};
    tn_node_description node = {.size = sizeof(node),
                                .domain = "tiny",
                                .op = "Copy",
                                .name = "n",
                                .input_count = 1,
                                .inputs = &x,
                                .output_count = 1,
                                .output_names = outputs};
    assert_int_equal(tn_graph_add_node(graph, &node, &other), TN_ERROR_ARGUMENT);
    assert_error("'x' already", "node 'n'");
    assert_int_equal(graph->node_count, 0);
    assert_int_equal(tn_graph_add_output(graph, x, NULL), TN_OK);
    assert_int_equal(tn_graph_add_output(graph, x, NULL), TN_ERROR_ARGUMENT);
    tn_graph_clear_outputs(graph);
    assert_int_equal(tn_graph_output_count(graph), 0);
    assert_int_equal(tn_graph_add_output(graph, x, NULL), TN_OK);
}

static void test_absurd_inputs_and_constants_are_refused(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    int64_t many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    tn_tensor_id id;
    assert_int_equal(tn_graph_add_input(graph, "a", TN_F32, 9, many, NULL, &id), TN_ERROR_SHAPE);
    assert_int_equal(tn_graph_add_input(graph, "a", TN_F32, 1, EXTENTS(-2), NULL, &id),
                     TN_ERROR_SHAPE);
    assert_int_equal(tn_graph_add_input(graph, "a", 99, 1, EXTENTS(2), NULL, &id), TN_ERROR_TYPE);
    assert_int_equal(tn_graph_add_input(graph, "", TN_F32, 0, NULL, NULL, &id), TN_ERROR_ARGUMENT);
    float values[2] = {1, 2};
    assert_int_equal(tn_graph_add_constant(graph, "c", TN_F32, 1, EXTENTS(3), values, 8, &id),
                     TN_ERROR_ARGUMENT);
    assert_error("12 bytes", NULL);
    assert_int_not_equal(
        tn_graph_add_constant(graph, "c", TN_F32, 2, EXTENTS(INT64_MAX, INT64_MAX), values, 8, &id),
        TN_OK);
    assert_int_equal(tn_graph_add_constant(graph, "c", TN_F32, 1, EXTENTS(-1), values, 8, &id),
                     TN_ERROR_SHAPE);
    assert_int_equal(graph->tensor_count, 0);
}

static void test_a_constant_is_copied_and_aligned(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    int64_t values[] = {3, 4};
    tn_tensor_id id = add_i64s(graph, "c", 2, values);
    values[0] = 0;
    assert_int_equal(((const int64_t *)graph->tensors[id].data)[0], 3);
    assert_int_equal((uintptr_t)graph->tensors[id].data % 64, 0);
}

static void test_a_node_without_operator_is_refused_with_the_nearest(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6)), y;
    assert_int_equal(try_node(graph, "Copi", "n", 1, &x, 1, &y), TN_ERROR_UNSUPPORTED);
    assert_error("Copy", "node 'n'");
    assert_int_equal(graph->node_count, 0);
    assert_int_equal(graph->tensor_count, 1);
}

static void test_wrong_port_counts_are_refused_by_port(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6)), y[3];
    assert_int_equal(try_node(graph, "Add", "n", 1, &x, 1, y), TN_ERROR_ARGUMENT);
    assert_error("'b' is missing", "node 'n': operator Add");
    assert_int_equal(try_node(graph, "Copy", "n", 2, TENSORS(x, x), 1, y), TN_ERROR_ARGUMENT);
    assert_error("at most 1 inputs", NULL);
    assert_int_equal(try_node(graph, "Copy", "n", 1, &x, 2, y), TN_ERROR_ARGUMENT);
    assert_error("at most 1 outputs", NULL);
    assert_int_equal(try_node(graph, "Join", "n", 0, NULL, 1, y), TN_ERROR_ARGUMENT);
    assert_error("at least 1", NULL);
    assert_int_equal(try_node(graph, "Copy", "n", 1, TENSORS(55), 1, y), TN_ERROR_ARGUMENT);
    assert_int_equal(graph->tensor_count, 1);
}

static void test_absent_ports_at_the_end_are_there_as_no_tensor(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    add_unary(graph, "Fields", "n", x);
    assert_int_equal(graph->nodes[0].input_count, 3);
    assert_int_equal(graph->nodes[0].inputs[1], TN_NO_TENSOR);
    assert_int_equal(graph->nodes[0].output_count, 2);
    assert_int_equal(graph->nodes[0].outputs[1], TN_NO_TENSOR);
}

static void test_an_unwanted_output_is_there_unless_its_port_is_optional(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6)), outputs[2];
    const char *names[] = {"", ""};
    tn_node_description node = {.size = sizeof(node),
                                .domain = "tiny",
                                .op = "Fields",
                                .name = "n",
                                .input_count = 1,
                                .inputs = &x,
                                .output_count = 2,
                                .output_names = names};
    assert_int_equal(tn_graph_add_node(graph, &node, outputs), TN_OK);
    assert_int_equal(outputs[0], TN_NO_TENSOR);
    assert_int_not_equal(graph->nodes[0].outputs[0], TN_NO_TENSOR);
    assert_int_equal(graph->nodes[0].outputs[1], TN_NO_TENSOR);
}

static void test_a_field_out_of_range_names_node_and_field(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6)), y;
    tn_attribute number = {
        .size = sizeof(number), .type = TN_FIELD_I64, .name = "number", .i = 101};
    const tn_attribute *attributes[] = {&number};
    tn_node_description node = {.size = sizeof(node),
                                .domain = "tiny",
                                .op = "Fields",
                                .name = "n",
                                .input_count = 1,
                                .inputs = &x,
                                .output_count = 1,
                                .attribute_count = 1,
                                .attributes = attributes};
    assert_int_equal(tn_graph_add_node(graph, &node, &y), TN_ERROR_RANGE);
    assert_error("number", "node 'n'");
    assert_int_equal(graph->tensor_count, 1);
}

static void test_the_opset_decides_the_version(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    add_unary(graph, "Copy", "newest", x);
    assert_int_equal(tn_graph_set_opset(graph, "tiny", 2), TN_OK);
    add_unary(graph, "Copy", "older", x);
    assert_int_equal(graph->nodes[0].entry->op->since_version, 3);
    assert_int_equal(graph->nodes[1].entry->op->since_version, 1);
}

static void test_a_copy_has_its_own_parameters_and_shared_data(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id c = add_i64s(graph, "c", 2, EXTENTS(2, 3));
    tn_tensor_id y = add_node(graph, "Reshape", "r", 2, TENSORS(x, c));
    tn_tensor_id z = add_with_int(graph, "Broken", "b", y, "how", 0);
    assert_int_equal(tn_graph_add_output(graph, z, "out"), TN_OK);
    tn_graph *copy;
    assert_int_equal(tn_graph_copy(graph, &copy), TN_OK);
    assert_int_equal(copy->node_count, 2);
    assert_int_equal(copy->tensor_count, graph->tensor_count);
    assert_ptr_equal(copy->tensors[c].data, graph->tensors[c].data);
    assert_ptr_not_equal(copy->nodes[1].params, graph->nodes[1].params);
    assert_int_equal(((tiny_broken *)copy->nodes[1].params)->how, 0);
    assert_int_equal(copy->tensors[z].use_count, 1);
    assert_string_equal(tn_graph_output(copy, 0)->name, "out");
    assert_string_equal(tn_graph_input(copy, 0)->name, "x");
    add_unary(copy, "Copy", "more", z);
    assert_int_equal(graph->node_count, 2);
    tn_graph_destroy(copy);
}

static void test_null_arguments_are_errors(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_graph *other;
    assert_int_equal(tn_graph_create(NULL, "x", &other), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_add_node(graph, NULL, NULL), TN_ERROR_ARGUMENT);
    tn_node_description empty = {.size = sizeof(empty)};
    assert_int_equal(tn_graph_add_node(graph, &empty, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_add_output(graph, 3, NULL), TN_ERROR_ARGUMENT);
    tn_graph_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_a_small_network_has_its_ports),
        GRAPH_TEST(test_an_input_whose_value_decides_shapes_says_so),
        GRAPH_TEST(test_names_are_found_and_the_nearest_is_told),
        GRAPH_TEST(test_a_name_is_given_once),
        GRAPH_TEST(test_absurd_inputs_and_constants_are_refused),
        GRAPH_TEST(test_a_constant_is_copied_and_aligned),
        GRAPH_TEST(test_a_node_without_operator_is_refused_with_the_nearest),
        GRAPH_TEST(test_wrong_port_counts_are_refused_by_port),
        GRAPH_TEST(test_absent_ports_at_the_end_are_there_as_no_tensor),
        GRAPH_TEST(test_an_unwanted_output_is_there_unless_its_port_is_optional),
        GRAPH_TEST(test_a_field_out_of_range_names_node_and_field),
        GRAPH_TEST(test_the_opset_decides_the_version),
        GRAPH_TEST(test_a_copy_has_its_own_parameters_and_shared_data),
        GRAPH_TEST(test_null_arguments_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
