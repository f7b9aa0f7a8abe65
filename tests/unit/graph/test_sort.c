/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a graph: stable, iterative, and clear about cycles and tensors from nowhere. */
#include "graph_test.h"

/* Adds a node whose tensors are there already. */
static void add_raw(tn_graph *graph, const char *op, const char *name, tn_tensor_id input,
                    tn_tensor_id output) {
    const tn_operator_entry *entry;
    assert_int_equal(
        tn_registry_find_operator(tn_runtime_registry(graph->runtime), "tiny", op, 0, &entry),
        TN_OK);
    assert_int_equal(
        tn_graph_add_node_raw(graph, name, entry, 0, NULL, 1, &input, 1, &output, NULL), TN_OK);
}

static tn_tensor_id add_tensor(tn_graph *graph, const char *name) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_add_tensor(graph, name, TN_NONE, &id), TN_OK);
    return id;
}

static void test_producers_come_first(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 0, NULL);
    tn_tensor_id a = add_tensor(graph, "a"), b = add_tensor(graph, "b"), c = add_tensor(graph, "c");
    add_raw(graph, "Copy", "last", b, c);
    add_raw(graph, "Copy", "middle", a, b);
    add_raw(graph, "Copy", "first", x, a);
    assert_int_equal(tn_graph_add_output(graph, c, NULL), TN_OK);
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    assert_string_equal(graph->nodes[0].name, "first");
    assert_string_equal(graph->nodes[1].name, "middle");
    assert_string_equal(graph->nodes[2].name, "last");
    assert_int_equal(graph->tensors[b].producer, 1);
    assert_int_equal(graph->tensors[b].use_count, 1);
    assert_int_equal(graph->tensors[c].use_count, 1);
}

static void test_a_sorted_graph_stays_as_it_is(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 0, NULL);
    const char *names[] = {"d", "a", "c", "b"};
    for (size_t i = 0; i < 4; i++)
        add_unary(graph, "Copy", names[i], x);
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(graph->nodes[i].name, names[i]);
}

static void test_dead_nodes_are_dropped(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 0, NULL);
    add_unary(graph, "Copy", "a", x);
    add_unary(graph, "Copy", "b", x);
    graph->nodes[0].is_dead = true;
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    assert_int_equal(graph->node_count, 1);
    assert_string_equal(graph->nodes[0].name, "b");
    assert_int_equal(graph->tensors[x].use_count, 1);
}

static void test_a_cycle_is_named(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id a = add_tensor(graph, "a"), b = add_tensor(graph, "b"), c = add_tensor(graph, "c");
    add_raw(graph, "Copy", "outside", c, add_tensor(graph, "d"));
    add_raw(graph, "Copy", "one", a, b);
    add_raw(graph, "Copy", "two", b, c);
    add_raw(graph, "Copy", "three", c, a);
    assert_int_equal(tn_graph_sort(graph), TN_ERROR_FORMAT);
    assert_error("'one'", NULL);
    assert_error("'two'", NULL);
    assert_error("'three'", NULL);
    assert_null(strstr(tn_last_error()->message, "outside"));
}

static void test_a_node_that_needs_itself_is_a_cycle(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id a = add_tensor(graph, "a");
    add_raw(graph, "Copy", "self", a, a);
    assert_int_equal(tn_graph_sort(graph), TN_ERROR_FORMAT);
    assert_error("'self' -> 'self'", NULL);
}

static void test_a_long_chain_backwards_needs_no_deep_stack(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    enum { LENGTH = 100000 };
    tn_tensor_id last = add_tensor(graph, "end");
    for (size_t i = 0; i < LENGTH; i++) {
        tn_tensor_id before = add_tensor(graph, NULL);
        add_raw(graph, "Copy", NULL, before, last);
        last = before;
    }
    add_raw(graph, "Copy", "first", add_input(graph, "x", TN_F32, 0, NULL), last);
    assert_int_equal(tn_graph_sort(graph), TN_OK);
    assert_string_equal(graph->nodes[0].name, "first");
}

static void test_a_missing_tensor_names_its_reader(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    add_raw(graph, "Copy", "reader", add_tensor(graph, "ghost"), add_tensor(graph, "y"));
    assert_int_equal(tn_graph_sort(graph), TN_ERROR_FORMAT);
    assert_error("'ghost'", NULL);
    assert_error("'reader' (Copy)", NULL);
}

static void test_a_missing_output_is_named(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    assert_int_equal(tn_graph_add_output(graph, add_tensor(graph, "ghost"), NULL), TN_OK);
    assert_int_equal(tn_graph_sort(graph), TN_ERROR_FORMAT);
    assert_error("'ghost'", NULL);
}

static void test_a_tensor_made_twice_names_both_nodes(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 0, NULL), y = add_tensor(graph, "y");
    add_raw(graph, "Copy", "one", x, y);
    add_raw(graph, "Copy", "two", x, y);
    assert_int_equal(tn_graph_sort(graph), TN_ERROR_FORMAT);
    assert_error("by node 'one' and by node 'two'", NULL);
}

static void test_an_input_is_made_by_no_node(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 0, NULL);
    tn_tensor_id z = add_input(graph, "z", TN_F32, 0, NULL);
    add_raw(graph, "Copy", "one", x, z);
    assert_int_equal(tn_graph_sort(graph), TN_ERROR_FORMAT);
    assert_error("'z' is an input and also an output of node 'one'", NULL);
}

static void test_an_empty_graph_is_sorted(void **state) {
    assert_int_equal(tn_graph_sort(((graph_test *)*state)->graph), TN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_producers_come_first),
        GRAPH_TEST(test_a_sorted_graph_stays_as_it_is),
        GRAPH_TEST(test_dead_nodes_are_dropped),
        GRAPH_TEST(test_a_cycle_is_named),
        GRAPH_TEST(test_a_node_that_needs_itself_is_a_cycle),
        GRAPH_TEST(test_a_long_chain_backwards_needs_no_deep_stack),
        GRAPH_TEST(test_a_missing_tensor_names_its_reader),
        GRAPH_TEST(test_a_missing_output_is_named),
        GRAPH_TEST(test_a_tensor_made_twice_names_both_nodes),
        GRAPH_TEST(test_an_input_is_made_by_no_node),
        GRAPH_TEST(test_an_empty_graph_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
