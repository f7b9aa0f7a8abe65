/* SPDX-License-Identifier: Apache-2.0 */
/* Inference of types and shapes: names of extents, type variables, and what a shape rule may write.
 */
#include "graph_test.h"

static void test_shapes_go_through_and_change_with_the_input(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 3));
    tn_tensor_id y = add_unary(graph, "Copy", "a", x);
    tn_tensor_id z = add_node(graph, "Add", "b", 2, TENSORS(x, y));
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 2, .extents = {4, 3}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
    assert_shape(&test, z, 2, EXTENTS(4, 3));
    assert_int_equal(test.inference.tensors[z].storage.tensor.type, TN_F32);
    assert_int_equal(test.inference.tensors[z].storage.tensor.bytes, 48);
    shape.extents[0] = 0;
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
    assert_shape(&test, z, 2, EXTENTS(0, 3));
    inference_end(&test);
}

static void test_declared_extents_are_kept(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 3));
    inference_test test;
    inference_begin(&test, graph);
    tn_shape other = {.rank = 2, .extents = {4, 5}}, flat = {.rank = 1, .extents = {3}};
    assert_int_equal(tn_inference_run(&test.inference, &other, NULL), TN_ERROR_SHAPE);
    assert_error("'x' is declared as [?, 3], but [4, 5] was given", NULL);
    assert_int_equal(tn_inference_run(&test.inference, &flat, NULL), TN_ERROR_SHAPE);
    inference_end(&test);
}

static void test_extents_of_one_name_agree(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    const char *first[] = {"N", NULL}, *second[] = {"C", "N"};
    tn_tensor_id id;
    assert_int_equal(tn_graph_add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 3), first, &id), TN_OK);
    assert_int_equal(tn_graph_add_input(graph, "z", TN_F32, 2, EXTENTS(-1, -1), second, &id),
                     TN_OK);
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shapes[] = {{.rank = 2, .extents = {4, 3}}, {.rank = 2, .extents = {7, 4}}};
    assert_int_equal(tn_inference_run(&test.inference, shapes, NULL), TN_OK);
    shapes[1].extents[1] = 5;
    assert_int_equal(tn_inference_run(&test.inference, shapes, NULL), TN_ERROR_SHAPE);
    assert_error("extent 'N' is 4 in input 'x' (axis 0) but 5 in input 'z' (axis 1)", NULL);
    inference_end(&test);
}

static void test_an_input_of_unknown_rank_takes_any(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, UINT32_MAX, NULL);
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 3, .extents = {1, 2, 3}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
    assert_shape(&test, x, 3, EXTENTS(1, 2, 3));
    inference_end(&test);
}

/* One run of a graph that has one input; expects it to fail. */
static void run_and_fail(tn_graph *graph, tn_status expected) {
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = graph->tensors[graph->inputs[0]].shape;
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), expected);
    inference_end(&test);
}

static void test_a_type_that_a_port_has_not_is_named(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F16, 1, EXTENTS(2));
    add_node(graph, "Add", "sum", 2, TENSORS(x, x));
    run_and_fail(graph, TN_ERROR_TYPE);
    assert_error("input 'a' (tensor 'x') is f16; f32|i64 is allowed", "node 'sum': operator Add");
}

static void test_a_type_variable_has_one_type(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(2));
    tn_tensor_id c = add_i64s(graph, "c", 2, EXTENTS(1, 2));
    add_node(graph, "Add", "sum", 2, TENSORS(x, c));
    run_and_fail(graph, TN_ERROR_TYPE);
    assert_error("input 'b' (tensor 'c') is i64, but input 'a' (tensor 'x') is f32",
                 "node 'sum': operator Add");
}

static void test_a_shape_rule_that_refuses_names_the_node(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_I64, 1, EXTENTS(3));
    tn_tensor_id c = add_i64s(graph, "c", 2, EXTENTS(1, 2));
    add_node(graph, "Add", "sum", 2, TENSORS(x, c));
    run_and_fail(graph, TN_ERROR_SHAPE);
    assert_error("shapes of a and b differ", "node 'sum'");
}

static void broken(void **state, int64_t how, tn_status expected, const char *message) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(2));
    add_with_int(graph, "Broken", "bad", x, "how", how);
    run_and_fail(graph, expected);
    assert_error(message, "node 'bad'");
    assert_error(NULL, "operator ");
}

static void test_a_rank_past_the_highest_is_the_librarys_fault(void **state) {
    broken(state, TINY_RANK, TN_ERROR_PLUGIN, "rank 9");
}
static void test_a_negative_extent_is_the_librarys_fault(void **state) {
    broken(state, TINY_EXTENT, TN_ERROR_PLUGIN, "extent -3 at axis 0");
}
static void test_an_extent_left_unwritten_is_the_librarys_fault(void **state) {
    broken(state, TINY_NOTHING, TN_ERROR_PLUGIN, "extent -1 at axis 0");
}
static void test_a_type_outside_the_port_is_the_librarys_fault(void **state) {
    broken(state, TINY_TYPE, TN_ERROR_PLUGIN, "type bool");
}
static void test_a_type_left_out_is_the_librarys_fault(void **state) {
    broken(state, TINY_NO_TYPE, TN_ERROR_PLUGIN, "type none");
}
static void test_a_replaced_pointer_is_the_librarys_fault(void **state) {
    broken(state, TINY_POINTER, TN_ERROR_PLUGIN, "replaced");
}
static void test_an_unknown_status_is_the_librarys_fault(void **state) {
    broken(state, TINY_STATUS, TN_ERROR_PLUGIN, "4711");
}
static void test_a_librarys_reason_is_kept(void **state) {
    broken(state, TINY_FAIL, TN_ERROR_RANGE, "it was told to fail");
}

static void test_a_shape_beyond_memory_is_an_error(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(2));
    add_with_int(graph, "Broken", "bad", x, "how", TINY_HUGE);
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 1, .extents = {2}};
    tn_status status = tn_inference_run(&test.inference, &shape, NULL);
    assert_true(status == TN_ERROR_MEMORY || status == TN_ERROR_SHAPE);
    assert_error(NULL, "node 'bad': operator Broken");
    inference_end(&test);
}

static void test_an_absurd_input_shape_is_an_error(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    add_input(graph, "x", TN_F32, 2, EXTENTS(-1, -1));
    inference_test test;
    inference_begin(&test, graph);
    tn_shape huge = {.rank = 2, .extents = {INT64_MAX, INT64_MAX}};
    tn_shape negative = {.rank = 2, .extents = {-1, 2}};
    assert_int_not_equal(tn_inference_run(&test.inference, &huge, NULL), TN_OK);
    assert_error(NULL, "input 'x'");
    assert_int_not_equal(tn_inference_run(&test.inference, &negative, NULL), TN_OK);
    inference_end(&test);
}

static void test_absent_ports_are_null_and_counted(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(2));
    add_unary(graph, "Fields", "n", x);
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 1, .extents = {2}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
    assert_int_equal(tiny_last_counts[0], 3);
    assert_int_equal(tiny_last_counts[1], 2);
    assert_int_equal(tiny_last_fields.number, 7);
    inference_end(&test);
}

static void test_two_hundred_nodes_are_inferred_without_allocating_again(void **state) {
    graph_test *own = *state;
    tn_graph *graph = own->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(-1)), y = x;
    for (int i = 0; i < 50; i++) {
        tn_tensor_id shape = add_unary(graph, "Shape", NULL, y);
        tn_tensor_id list = add_node(graph, "Join", NULL, 1, &shape);
        y = add_node(graph, "Reshape", NULL, 2, TENSORS(y, list));
        y = add_unary(graph, "Copy", NULL, y);
    }
    inference_test test;
    inference_begin(&test, graph);
    tn_shape shape = {.rank = 1, .extents = {100}};
    assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
    uint64_t before = own->allocator.allocations;
    for (int64_t i = 0; i < 20; i++) {
        shape.extents[0] = 100 - i;
        assert_int_equal(tn_inference_run(&test.inference, &shape, NULL), TN_OK);
        assert_shape(&test, y, 1, EXTENTS(100 - i));
    }
    assert_int_equal(own->allocator.allocations, before);
    inference_end(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_shapes_go_through_and_change_with_the_input),
        GRAPH_TEST(test_declared_extents_are_kept),
        GRAPH_TEST(test_extents_of_one_name_agree),
        GRAPH_TEST(test_an_input_of_unknown_rank_takes_any),
        GRAPH_TEST(test_a_type_that_a_port_has_not_is_named),
        GRAPH_TEST(test_a_type_variable_has_one_type),
        GRAPH_TEST(test_a_shape_rule_that_refuses_names_the_node),
        GRAPH_TEST(test_a_rank_past_the_highest_is_the_librarys_fault),
        GRAPH_TEST(test_a_negative_extent_is_the_librarys_fault),
        GRAPH_TEST(test_an_extent_left_unwritten_is_the_librarys_fault),
        GRAPH_TEST(test_a_type_outside_the_port_is_the_librarys_fault),
        GRAPH_TEST(test_a_type_left_out_is_the_librarys_fault),
        GRAPH_TEST(test_a_replaced_pointer_is_the_librarys_fault),
        GRAPH_TEST(test_an_unknown_status_is_the_librarys_fault),
        GRAPH_TEST(test_a_librarys_reason_is_kept),
        GRAPH_TEST(test_a_shape_beyond_memory_is_an_error),
        GRAPH_TEST(test_an_absurd_input_shape_is_an_error),
        GRAPH_TEST(test_absent_ports_are_null_and_counted),
        GRAPH_TEST(test_two_hundred_nodes_are_inferred_without_allocating_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
