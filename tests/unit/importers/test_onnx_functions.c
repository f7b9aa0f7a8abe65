/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a model defines: they replace their calls, with names, attributes and
 * opsets of their own. */
#include "onnx_test.h"

/* A graph x -> own::<call> -> y that may be added to. */
static onnx_part calling_graph(const char *call, const char *inputs, const char *outputs) {
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_node(&graph, call, "call", "own", inputs, outputs);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    return graph;
}

static void body_node(onnx_part *function, const char *op, const char *name, const char *domain,
                      const char *inputs, const char *outputs) {
    onnx_part node = onnx_node(op, name, domain, inputs, outputs);
    onnx_part_move(function, ONNX_FUNCTION_NODE, &node);
}

static tn_status parse_with(void **state, onnx_part graph, size_t count, onnx_part *functions) {
    onnx_part model = onnx_model(&graph, "tiny", 3);
    for (size_t i = 0; i < count; i++)
        onnx_part_move(&model, ONNX_MODEL_FUNCTION, &functions[i]);
    return parse_and_free(*state, &model);
}

static void must_parse_with(void **state, onnx_part graph, size_t count, onnx_part *functions) {
    if (parse_with(state, graph, count, functions) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static void test_a_body_replaces_the_call(void **state) {
    onnx_part function = onnx_function("own", "Twice", "a", "b");
    body_node(&function, "Copy", "copy", "tiny", "a", "t");
    body_node(&function, "Add", "add", "tiny", "a,t", "b");
    onnx_part graph = calling_graph("Twice", "x", "m");
    onnx_graph_node(&graph, "Twice", "again", "own", "m", "y");
    must_parse_with(state, graph, 1, &function);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    assert_int_equal(parsed->node_count, 4);
    assert_string_equal(parsed->nodes[0].name, "call/copy");
    assert_string_equal(parsed->nodes[3].name, "again/add");
    find_tensor(parsed, "call/t");
    find_tensor(parsed, "again/t");
    assert_int_equal(parsed->tensors[find_tensor(parsed, "m")].producer, 1);
    assert_int_equal(parsed->tensors[find_tensor(parsed, "y")].producer, 3);
}

static void test_functions_call_functions(void **state) {
    onnx_part functions[2];
    functions[0] = onnx_function("own", "Outer", "a", "b");
    body_node(&functions[0], "Inner", "in", "own", "a", "t");
    body_node(&functions[0], "Inner", "on", "own", "t", "b");
    functions[1] = onnx_function("own", "Inner", "a", "b");
    body_node(&functions[1], "Copy", "copy", "tiny", "a", "b");
    must_parse_with(state, calling_graph("Outer", "x", "y"), 2, functions);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    assert_int_equal(parsed->node_count, 2);
    assert_string_equal(parsed->nodes[0].name, "call/in/copy");
    assert_string_equal(parsed->nodes[1].name, "call/on/copy");
}

static void test_a_name_in_a_body_that_the_graph_has_too_is_another_tensor(void **state) {
    onnx_part function = onnx_function("own", "Twice", "x", "y");
    body_node(&function, "Copy", "c", "tiny", "x", "t");
    body_node(&function, "Copy", "d", "tiny", "t", "y");
    onnx_part graph = calling_graph("Twice", "x", "m");
    onnx_graph_node(&graph, "Copy", "e", "tiny", "m", "call/t"); /* taken by the body */
    onnx_graph_node(&graph, "Copy", "f", "tiny", "call/t", "t");
    onnx_graph_node(&graph, "Copy", "h", "tiny", "t", "y");
    must_parse_with(state, graph, 1, &function);
    assert_int_equal(((graph_test *)*state)->graph->node_count, 5);
}

static void test_a_functions_opsets_are_its_own(void **state) {
    onnx_part function = onnx_function("own", "Old", "a", "b");
    body_node(&function, "Copy", "copy", "tiny", "a", "b");
    onnx_part import = onnx_import("tiny", 2);
    onnx_part_move(&function, ONNX_FUNCTION_IMPORT, &import);
    onnx_part graph = calling_graph("Old", "x", "m");
    onnx_graph_node(&graph, "Copy", "outside", "tiny", "m", "y");
    must_parse_with(state, graph, 1, &function);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    assert_int_equal(parsed->nodes[0].entry->op->since_version, 1);
    assert_int_equal(parsed->nodes[1].entry->op->since_version, 3);
}

/* A function whose node has number = the function's attribute n (default 5) and list = its k. */
static onnx_part attribute_function(void) {
    onnx_part function = onnx_function("own", "Set", "a", "b");
    onnx_part fallback = onnx_attribute_int("n", 5);
    onnx_part_move(&function, ONNX_FUNCTION_DEFAULT, &fallback);
    onnx_part_text(&function, ONNX_FUNCTION_ATTRIBUTE, "k");
    onnx_part node = onnx_node("Fields", "fields", "tiny", "a", "b");
    onnx_node_add(&node, onnx_attribute_reference("number", "n", 2));
    onnx_node_add(&node, onnx_attribute_reference("list", "k", 7));
    onnx_part_move(&function, ONNX_FUNCTION_NODE, &node);
    return function;
}

static void test_attributes_of_the_call_reach_the_body(void **state) {
    int64_t list[] = {1, 2};
    onnx_part function = attribute_function();
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_part call = onnx_node("Set", "call", "own", "x", "m");
    onnx_node_add(&call, onnx_attribute_int("n", 9));
    onnx_node_add(&call, onnx_attribute_ints("k", 2, list));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &call);
    onnx_graph_node(&graph, "Set", "plain", "own", "m", "y");
    must_parse_with(state, graph, 1, &function);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    const tiny_fields *given = parsed->nodes[0].params, *plain = parsed->nodes[1].params;
    assert_int_equal(given->number, 9);
    assert_int_equal(given->list.count, 2);
    assert_int_equal(plain->number, 5);
    assert_int_equal(plain->list.count, 0);
}

static void test_attributes_go_through_nested_calls(void **state) {
    onnx_part functions[2] = {onnx_function("own", "Outer", "a", "b"), attribute_function()};
    onnx_part inner = onnx_node("Set", "inner", "own", "a", "b");
    onnx_node_add(&inner, onnx_attribute_reference("n", "m", 2));
    onnx_part_move(&functions[0], ONNX_FUNCTION_NODE, &inner);
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_part call = onnx_node("Outer", "call", "own", "x", "m");
    onnx_node_add(&call, onnx_attribute_int("m", 11));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &call);
    onnx_graph_node(&graph, "Outer", "plain", "own", "m", "y"); /* m is not given: the default */
    must_parse_with(state, graph, 2, functions);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    assert_int_equal(((const tiny_fields *)parsed->nodes[0].params)->number, 11);
    assert_int_equal(((const tiny_fields *)parsed->nodes[1].params)->number, 5);
}

static void test_a_tensor_in_a_body_is_read_for_each_call(void **state) {
    float values[32];
    for (int i = 0; i < 32; i++)
        values[i] = (float)i;
    onnx_part function = onnx_function("own", "Table", "a", "b");
    onnx_part node = onnx_node("Fields", "fields", "tiny", "a", "b");
    onnx_part tensor = onnx_tensor_raw("", ONNX_F32, "32", values, sizeof(values));
    onnx_node_add(&node, onnx_attribute_tensor("table", &tensor));
    onnx_part_free(&tensor);
    onnx_part_move(&function, ONNX_FUNCTION_NODE, &node);
    onnx_part graph = calling_graph("Table", "x", "m");
    onnx_graph_node(&graph, "Table", "again", "own", "m", "y");
    must_parse_with(state, graph, 1, &function);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    const tiny_fields *first = parsed->nodes[0].params, *second = parsed->nodes[1].params;
    assert_memory_equal(first->table->data, values, sizeof(values));
    assert_ptr_equal(first->table->data, second->table->data);
}

static void test_inputs_that_a_call_leaves_out_are_absent(void **state) {
    onnx_part function = onnx_function("own", "Opt", "a,b,c", "y1,y2");
    body_node(&function, "Fields", "fields", "tiny", "a,b,c", "y1,y2");
    must_parse_with(state, calling_graph("Opt", "x,,x", "y"), 1, &function);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    assert_int_equal(parsed->nodes[0].inputs[1], TN_NO_TENSOR);
    assert_int_equal(parsed->nodes[0].inputs[2], find_tensor(parsed, "x"));
}

static void test_an_input_may_be_handed_through(void **state) {
    onnx_part function = onnx_function("own", "Same", "a", "a");
    onnx_part graph = calling_graph("Same", "x", "m");
    onnx_graph_node(&graph, "Copy", "copy", "tiny", "m", "y");
    must_parse_with(state, graph, 1, &function);
    const tn_graph *parsed = ((graph_test *)*state)->graph;
    assert_int_equal(parsed->node_count, 1);
    assert_int_equal(parsed->nodes[0].inputs[0], find_tensor(parsed, "x"));
}

static void test_recursion_is_refused(void **state) {
    onnx_part functions[2] = {onnx_function("own", "A", "a", "b"),
                              onnx_function("own", "B", "a", "b")};
    body_node(&functions[0], "B", "to_b", "own", "a", "b");
    body_node(&functions[1], "A", "to_a", "own", "a", "b");
    assert_int_equal(parse_with(state, calling_graph("A", "x", "y"), 2, functions),
                     TN_ERROR_FORMAT);
    assert_error("calls itself", "graph 'g': function 'A' at node 'call'");
}

static void test_functions_that_multiply_are_bounded(void **state) {
    enum { LEVELS = 40 };
    onnx_part functions[LEVELS];
    char name[16], next[16];
    for (int i = 0; i < LEVELS; i++) {
        snprintf(name, sizeof(name), "F%d", i);
        snprintf(next, sizeof(next), "F%d", i + 1);
        functions[i] = onnx_function("own", name, "a", "b");
        if (i + 1 == LEVELS) continue;
        body_node(&functions[i], next, "p", "own", "a", "t");
        body_node(&functions[i], next, "q", "own", "t", "b");
    }
    assert_int_equal(parse_with(state, calling_graph("F0", "x", "y"), LEVELS, functions),
                     TN_ERROR_FORMAT);
    assert_error("too many nodes", NULL);
}

static void test_a_deep_chain_of_calls_is_refused(void **state) {
    enum { LEVELS = 100 };
    onnx_part functions[LEVELS];
    char name[16], next[16];
    for (int i = 0; i < LEVELS; i++) {
        snprintf(name, sizeof(name), "F%d", i);
        snprintf(next, sizeof(next), "F%d", i + 1);
        functions[i] = onnx_function("own", name, "a", "b");
        body_node(&functions[i], i + 1 < LEVELS ? next : "Copy", "p",
                  i + 1 < LEVELS ? "own" : "tiny", "a", "b");
    }
    assert_int_equal(parse_with(state, calling_graph("F0", "x", "y"), LEVELS, functions),
                     TN_ERROR_FORMAT);
    assert_error("levels deep", NULL);
}

static void test_calls_with_too_many_tensors_are_refused(void **state) {
    onnx_part function = onnx_function("own", "One", "a", "b");
    body_node(&function, "Copy", "copy", "tiny", "a", "b");
    assert_int_equal(parse_with(state, calling_graph("One", "x,x", "y"), 1, &function),
                     TN_ERROR_FORMAT);
    assert_error("takes 1 inputs", "function 'One'");
    function = onnx_function("own", "One", "a", "b");
    body_node(&function, "Copy", "copy", "tiny", "a", "b");
    assert_int_equal(parse_with(state, calling_graph("One", "x", "y,z"), 1, &function),
                     TN_ERROR_FORMAT);
}

static void test_a_reference_outside_a_function_is_refused(void **state) {
    onnx_part model = one_node_model("Fields", onnx_attribute_reference("number", "n", 2));
    assert_int_equal(parse_and_free(*state, &model), TN_ERROR_FORMAT);
    assert_error("its node is in none", "node 'n'");
}

static void test_a_function_defined_twice_is_refused(void **state) {
    onnx_part functions[2] = {onnx_function("own", "A", "a", "b"),
                              onnx_function("own", "A", "a", "b")};
    assert_int_equal(parse_with(state, calling_graph("A", "x", "y"), 2, functions),
                     TN_ERROR_FORMAT);
    assert_error("'A' is defined twice", NULL);
}

static void test_missing_operators_in_bodies_are_reported_with_the_call(void **state) {
    onnx_part function = onnx_function("own", "A", "a", "b");
    body_node(&function, "Unheard", "deep", "tiny", "a", "b");
    assert_int_equal(parse_with(state, calling_graph("A", "x", "y"), 1, &function),
                     TN_ERROR_UNSUPPORTED);
    assert_error("'call/deep'", "graph 'g'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_a_body_replaces_the_call),
        GRAPH_TEST(test_functions_call_functions),
        GRAPH_TEST(test_a_name_in_a_body_that_the_graph_has_too_is_another_tensor),
        GRAPH_TEST(test_a_functions_opsets_are_its_own),
        GRAPH_TEST(test_attributes_of_the_call_reach_the_body),
        GRAPH_TEST(test_attributes_go_through_nested_calls),
        GRAPH_TEST(test_a_tensor_in_a_body_is_read_for_each_call),
        GRAPH_TEST(test_inputs_that_a_call_leaves_out_are_absent),
        GRAPH_TEST(test_an_input_may_be_handed_through),
        GRAPH_TEST(test_recursion_is_refused),
        GRAPH_TEST(test_functions_that_multiply_are_bounded),
        GRAPH_TEST(test_a_deep_chain_of_calls_is_refused),
        GRAPH_TEST(test_calls_with_too_many_tensors_are_refused),
        GRAPH_TEST(test_a_reference_outside_a_function_is_refused),
        GRAPH_TEST(test_a_function_defined_twice_is_refused),
        GRAPH_TEST(test_missing_operators_in_bodies_are_reported_with_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
