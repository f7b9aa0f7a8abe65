/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models: graphs, nodes, attributes, opsets, and what is said when something is not there. */
#include "onnx_test.h"

static void test_a_model_becomes_a_sorted_graph(void **state) {
    graph_test *test = *state;
    onnx_part model = mixed_model();
    must_parse(test, &model);
    tn_graph *graph = test->graph;
    assert_string_equal(graph->name, "mixed");
    assert_int_equal(graph->node_count, 5);
    assert_int_equal(tn_graph_input_count(graph), 2);
    assert_string_equal(tn_graph_input(graph, 1)->name, "z");
    assert_string_equal(tn_graph_input(graph, 1)->names[0], "N");
    assert_int_equal(tn_graph_input(graph, 1)->extents[1], 3);
    assert_string_equal(tn_graph_output(graph, 0)->name, "y");
    assert_true(graph->tensors[find_tensor(graph, "w")].is_constant);
    inference_test inference;
    inference_begin(&inference, graph);
    tn_shape shapes[] = {{.rank = 2, .extents = {4, 3}}, {.rank = 2, .extents = {4, 3}}};
    assert_int_equal(tn_inference_run(&inference.inference, shapes, NULL), TN_OK);
    assert_shape(&inference, find_tensor(graph, "y"), 2, EXTENTS(4, 3));
    assert_string_equal(tiny_last_fields.text, "hello");
    assert_int_equal(tiny_last_fields.list.count, 2);
    assert_int_equal(tiny_last_fields.list.items[1], 3);
    assert_true(((const float *)tiny_last_fields.table->data)[3] == 4);
    inference_end(&inference);
}

static void test_nodes_may_stand_in_any_order(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_node(&graph, "Copy", "second", "tiny", "a", "y");
    onnx_graph_node(&graph, "Copy", "first", "tiny", "x", "a");
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    must_parse(test, &model);
    assert_string_equal(test->graph->nodes[0].name, "first");
}

static void test_empty_names_at_the_end_are_nothing(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g"), node = {0};
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_part_text(&node, 1, "x");
    onnx_part_text(&node, 1, "");
    onnx_part_text(&node, 1, "");
    onnx_part_text(&node, 2, "y");
    onnx_part_text(&node, 2, "");
    onnx_part_text(&node, 4, "Copy");
    onnx_part_text(&node, 7, "tiny");
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    must_parse(test, &model);
    assert_int_equal(test->graph->nodes[0].input_count, 1);
    assert_string_equal(test->graph->nodes[0].name, "Copy_0");
}

/* A model with one initializer `w` of two floats, also an input, and one other input. */
static void test_initializers_among_the_inputs_are_no_inputs(void **state) {
    graph_test *test = *state;
    float values[] = {1, 2};
    onnx_part graph = onnx_graph("old");
    onnx_graph_input(&graph, "w", ONNX_F32, "2");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_part w = onnx_tensor_raw("w", ONNX_F32, "2", values, sizeof(values));
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &w);
    onnx_graph_node(&graph, "Add", "sum", "tiny", "x,w", "y");
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    must_parse(test, &model);
    assert_int_equal(tn_graph_input_count(test->graph), 1);
    assert_string_equal(tn_graph_input(test->graph, 0)->name, "x");
}

static void test_the_import_decides_the_version(void **state) {
    graph_test *test = *state;
    for (int64_t version = 1; version <= 4; version++) {
        onnx_part graph = onnx_graph("g");
        onnx_graph_input(&graph, "x", ONNX_F32, "2");
        onnx_graph_node(&graph, "Copy", "n", "tiny", "x", "y");
        onnx_part model = onnx_model(&graph, "tiny", version);
        must_parse(test, &model);
        assert_int_equal(test->graph->nodes[0].entry->op->since_version, version < 3 ? 1 : 3);
    }
}

static void test_a_domain_that_is_not_imported_means_version_1(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_node(&graph, "Copy", "n", "tiny", "x", "y");
    onnx_part model = onnx_model(&graph, "", 21);
    must_parse(test, &model);
    assert_int_equal(test->graph->nodes[0].entry->op->since_version, 1);
}

static tn_status parse_with_opset(graph_test *test, const char *domain, int64_t version) {
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_part model = onnx_model(&graph, domain, version);
    return parse_and_free(test, &model);
}

static void test_opsets_1_to_28_are_read(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse_with_opset(test, "", 1), TN_OK);
    assert_int_equal(parse_with_opset(test, "", 28), TN_OK);
    assert_int_equal(parse_with_opset(test, "ai.onnx", 28), TN_OK);
    assert_int_equal(parse_with_opset(test, "ai.onnx", 29), TN_ERROR_UNSUPPORTED);
    assert_error("opset 29 of ONNX; opsets 1 to 28", NULL);
    assert_int_equal(parse_with_opset(test, "", -1), TN_ERROR_FORMAT);
}

static void test_operators_of_onnx_need_an_import(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_node(&graph, "Anything", "n", "", "x", "y");
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    assert_error("imports no opset", "graph 'g': node 'n'");
}

static void test_all_missing_operators_are_reported_at_once(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_node(&graph, "Copi", "a", "tiny", "x", "p");
    onnx_graph_node(&graph, "Copy", "b", "tiny", "p", "q");
    onnx_graph_node(&graph, "Foreign", "c", "elsewhere", "q", "r");
    onnx_graph_node(&graph, "Copi", "d", "tiny", "r", "s");
    onnx_graph_output(&graph, "s", ONNX_F32, NULL);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_UNSUPPORTED);
    assert_error("2 things", "graph 'g'");
    assert_error("node 'a' and 1 more like it", NULL);
    assert_error("Copy", NULL);
    assert_error("node 'c'", NULL);
    assert_error("Foreign", NULL);
}

static void test_a_long_list_of_missing_operators_is_counted(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    for (int i = 0; i < 100; i++) {
        char op[32], output[32];
        snprintf(op, sizeof(op), "Unheard%d", i);
        snprintf(output, sizeof(output), "y%d", i);
        onnx_graph_node(&graph, op, op, "tiny", "x", output);
    }
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_UNSUPPORTED);
    assert_error("100 things", NULL);
    assert_error("'Unheard3'", NULL);
    const char *more = strstr(tn_last_error()->message, "and ");
    assert_non_null(more);
    assert_non_null(strstr(more, " more"));
}

static void test_bodies_are_reported_beside_missing_operators(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g"), body = onnx_graph("body");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_part node = onnx_node("Fields", "looped", "tiny", "x", "y");
    onnx_node_add(&node, onnx_attribute_graph("text", &body));
    onnx_part_free(&body);
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_node(&graph, "Unheard", "other", "tiny", "y", "z");
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_UNSUPPORTED);
    assert_error("node 'looped'", NULL);
    assert_error("a body (a graph), which this operator does not have there", NULL);
    assert_error("node 'other'", NULL);
}

static void parse_one(void **state, onnx_part attribute, tn_status expected) {
    onnx_part model = one_node_model("Fields", attribute);
    tn_status status = parse_and_free(*state, &model);
    if (status != expected)
        fail_msg("status %d, message '%s'", (int)status, tn_last_error()->message);
}

static const tiny_fields *params(void **state) {
    return ((graph_test *)*state)->graph->nodes[0].params;
}

static void test_attributes_become_fields(void **state) {
    float factors[] = {0.5f, 2};
    int64_t list[] = {4, -5, INT64_MIN};
    parse_one(state, onnx_attribute_int("number", -7), TN_OK);
    assert_int_equal(params(state)->number, -7);
    parse_one(state, onnx_attribute_float("factor", 0.25f), TN_OK);
    assert_true(params(state)->factor == 0.25f);
    parse_one(state, onnx_attribute_int("factor", 3), TN_OK);
    assert_true(params(state)->factor == 3);
    parse_one(state, onnx_attribute_text("text", "words", 5), TN_OK);
    assert_string_equal(params(state)->text, "words");
    parse_one(state, onnx_attribute_text("text", "", 0), TN_OK);
    assert_string_equal(params(state)->text, "");
    parse_one(state, onnx_attribute_text("mode", "fast", 4), TN_OK);
    assert_int_equal(params(state)->mode, 1);
    parse_one(state, onnx_attribute_ints("list", 3, list), TN_OK);
    assert_int_equal(params(state)->list.count, 3);
    assert_int_equal(params(state)->list.items[2], INT64_MIN);
    parse_one(state, onnx_attribute_ints("list", 0, list), TN_OK);
    assert_int_equal(params(state)->list.count, 0);
    parse_one(state, onnx_attribute_floats("factors", 2, factors), TN_OK);
    assert_true(params(state)->factors.items[1] == 2);
    parse_one(state, onnx_attribute_text("blob", "a\0b", 3), TN_OK);
    assert_int_equal(params(state)->blob.count, 3);
    assert_memory_equal(params(state)->blob.items, "a\0b", 3);
}

static void test_lists_of_texts_become_fields(void **state) {
    onnx_part attribute = {0};
    onnx_part_text(&attribute, 1, "names");
    onnx_part_number(&attribute, 20, 8);
    onnx_part_text(&attribute, 9, "one");
    onnx_part_text(&attribute, 9, "");
    parse_one(state, attribute, TN_OK);
    assert_int_equal(params(state)->names.count, 2);
    assert_string_equal(params(state)->names.items[0], "one");
    assert_string_equal(params(state)->names.items[1], "");
}

static void test_numbers_packed_or_not_are_the_same(void **state) {
    onnx_part attribute = {0}, packed = {0};
    onnx_part_text(&attribute, 1, "list");
    onnx_part_number(&attribute, 20, 7);
    onnx_part_varint(&packed, 300);
    onnx_part_varint(&packed, 5);
    onnx_part_bytes(&attribute, 8, packed.data, packed.bytes);
    onnx_part_number(&attribute, 8, 6);
    onnx_part_free(&packed);
    parse_one(state, attribute, TN_OK);
    assert_int_equal(params(state)->list.count, 3);
    assert_int_equal(params(state)->list.items[0], 300);
    assert_int_equal(params(state)->list.items[2], 6);
}

static void test_an_attribute_without_type_is_known_by_its_value(void **state) {
    onnx_part attribute = {0};
    onnx_part_text(&attribute, 1, "number");
    onnx_part_number(&attribute, 3, 12);
    parse_one(state, attribute, TN_OK);
    assert_int_equal(params(state)->number, 12);
}

static void test_element_types_come_in_onnx_numbers(void **state) {
    static const struct {
        int64_t onnx;
        tn_type ours;
    } pairs[] = {{ONNX_F32, TN_F32},   {ONNX_U8, TN_U8},        {ONNX_I8, TN_I8},
                 {ONNX_U16, TN_U16},   {ONNX_I16, TN_I16},      {ONNX_I32, TN_I32},
                 {ONNX_I64, TN_I64},   {ONNX_BOOL, TN_BOOL},    {ONNX_F16, TN_F16},
                 {ONNX_F64, TN_F64},   {ONNX_U32, TN_U32},      {ONNX_U64, TN_U64},
                 {ONNX_BF16, TN_BF16}, {ONNX_STRING, TN_STRING}};
    for (size_t i = 0; i < TN_COUNT(pairs); i++) {
        parse_one(state, onnx_attribute_int("to", pairs[i].onnx), TN_OK);
        assert_int_equal(params(state)->to, pairs[i].ours);
    }
    parse_one(state, onnx_attribute_int("to", ONNX_COMPLEX64), TN_ERROR_UNSUPPORTED);
    assert_error("COMPLEX64", NULL);
    assert_error("node 'n'", NULL);
    parse_one(state, onnx_attribute_int("to", 1000), TN_ERROR_UNSUPPORTED);
    parse_one(state, onnx_attribute_int("to", INT64_MIN), TN_ERROR_UNSUPPORTED);
}

static void test_bad_attributes_name_node_and_field(void **state) {
    parse_one(state, onnx_attribute_int("number", 1000), TN_ERROR_RANGE);
    assert_error("number", "graph 'g': node 'n': operator Fields");
    parse_one(state, onnx_attribute_int("numbre", 1), TN_ERROR_ARGUMENT);
    assert_error("number", "node 'n'");
    parse_one(state, onnx_attribute_text("text", "a\0b", 3), TN_ERROR_FORMAT);
    assert_error("NUL", "attribute 'text'");
    parse_one(state, onnx_attribute_text("number", "abc", 3), TN_ERROR_TYPE);
    onnx_part nothing = {0};
    onnx_part_text(&nothing, 1, "number");
    parse_one(state, nothing, TN_ERROR_FORMAT);
}

static void test_inputs_that_are_no_tensors_are_unsupported(void **state) {
    static const struct {
        uint32_t field;
        const char *what;
    } kinds[] = {{4, "sequence"},
                 {5, "map with keys of element type 0"},
                 {9, "optional"},
                 {8, "sparse"},
                 {7, "opaque"}};
    for (size_t i = 0; i < TN_COUNT(kinds); i++) {
        onnx_part graph = onnx_graph("g"), value = {0}, type = {0}, inner = {0};
        onnx_part_text(&value, 1, "x");
        onnx_part_move(&type, kinds[i].field, &inner);
        onnx_part_move(&value, 2, &type);
        onnx_part_move(&graph, ONNX_GRAPH_INPUT, &value);
        onnx_part model = onnx_model(&graph, "tiny", 1);
        assert_int_equal(parse_and_free(*state, &model), TN_ERROR_UNSUPPORTED);
        assert_error(kinds[i].what, "graph 'g': input 'x'");
    }
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_COMPLEX64, "2");
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(*state, &model), TN_ERROR_UNSUPPORTED);
    assert_error("COMPLEX64", "input 'x'");
}

static tn_status parse_input(void **state, const char *name, const char *shape) {
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, name, ONNX_F32, shape);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    return parse_and_free(*state, &model);
}

static void test_shapes_of_inputs(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse_input(state, "x", "batch,?,7,0"), TN_OK);
    const tn_port_info *info = tn_graph_input(test->graph, 0);
    assert_int_equal(info->rank, 4);
    assert_string_equal(info->names[0], "batch");
    assert_int_equal(info->extents[0], -1);
    assert_int_equal(info->extents[1], -1);
    assert_null(info->names[1]);
    assert_int_equal(info->extents[2], 7);
    assert_int_equal(info->extents[3], 0);
    assert_int_equal(parse_input(state, "x", NULL), TN_OK);
    assert_int_equal(tn_graph_input(test->graph, 0)->rank, UINT32_MAX);
    assert_int_equal(parse_input(state, "x", ""), TN_OK);
    assert_int_equal(tn_graph_input(test->graph, 0)->rank, 0);
    assert_int_equal(parse_input(state, "x", "1,1,1,1,1,1,1,1,1"), TN_ERROR_SHAPE);
    assert_int_equal(parse_input(state, "", "2"), TN_ERROR_FORMAT);
}

/* The axes of a model with two inputs that have one shape each, of which the extents are all
 * written as `extent`, at 48 and 192. */
static tn_status infer_two(graph_test *test, const char *extent) {
    onnx_part graph = onnx_graph("g");
    char shape[96];
    snprintf(shape, sizeof(shape), "%s,3,%s", extent, extent);
    onnx_graph_input(&graph, "x", ONNX_F32, shape);
    onnx_graph_input(&graph, "z", ONNX_F32, shape);
    onnx_graph_node(&graph, "Copy", "n", "tiny", "x", "y");
    onnx_graph_output(&graph, "y", ONNX_F32, shape);
    onnx_part model = onnx_model(&graph, "tiny", 1);
    must_parse(test, &model);
    inference_test inference;
    inference_begin(&inference, test->graph);
    tn_shape shapes[] = {{.rank = 3, .extents = {1, 3, 48}}, {.rank = 3, .extents = {2, 3, 192}}};
    const tn_status status = tn_inference_run(&inference.inference, shapes, NULL);
    inference_end(&inference);
    return status;
}

static void test_texts_that_exporters_write_for_unknown_extents_are_no_names(void **state) {
    static const char *const unknown[] = {"=",
                                          "=?",
                                          "=*",
                                          "=-1",
                                          "=-2",
                                          "=None",
                                          "=none",
                                          "=NaN",
                                          "=Unknown",
                                          "=dynamic",
                                          "=unk__7",
                                          "=DynamicDimension.0",
                                          "=p2o.DynamicDimension.12",
                                          "-1",
                                          "-5",
                                          "?"};
    static const char *const names[] = {
        "=N",        "=batch", "=unk", "=unk__", "=unk__x", "=DynamicDimension.",
        "=nonempty", "=s0",    "=??",  "=-"};
    graph_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(unknown); i++) {
        if (infer_two(test, unknown[i]) != TN_OK)
            fail_msg("'%s': %s", unknown[i], tn_last_error()->message);
        assert_int_equal(tn_graph_input(test->graph, 0)->extents[0], -1);
        assert_null(tn_graph_input(test->graph, 0)->names[0]);
    }
    for (size_t i = 0; i < TN_COUNT(names); i++) {
        if (infer_two(test, names[i]) != TN_ERROR_SHAPE) fail_msg("'%s' is a name", names[i]);
        assert_string_equal(tn_graph_input(test->graph, 0)->names[0], names[i] + 1);
    }
}

static void test_graphs_that_do_not_hold_together_are_refused(void **state) {
    graph_test *test = *state;
    onnx_part graph = onnx_graph("g");
    onnx_graph_node(&graph, "Copy", "a", "tiny", "ghost", "y");
    onnx_part model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    assert_error("'ghost'", "graph 'g'");
    graph = onnx_graph("g");
    onnx_graph_node(&graph, "Copy", "a", "tiny", "p", "q");
    onnx_graph_node(&graph, "Copy", "b", "tiny", "q", "p");
    model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    assert_error("cycle", "graph 'g'");
    graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_output(&graph, "nobody", ONNX_F32, NULL);
    model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    assert_error("'nobody'", NULL);
    graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    assert_error("twice", "input 'x'");
    graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "2");
    onnx_graph_node(&graph, "Copy", "a", "tiny", "x", "y");
    onnx_graph_node(&graph, "Copy", "b", "tiny", "x", "y");
    model = onnx_model(&graph, "tiny", 1);
    assert_int_equal(parse_and_free(test, &model), TN_ERROR_FORMAT);
    assert_error("node 'a' and by node 'b'", NULL);
}

static void test_a_file_that_is_no_model_is_refused(void **state) {
    graph_test *test = *state;
    tn_graph *graph;
    assert_int_equal(tn_graph_parse_onnx(test->runtime, "", 0, NULL, &graph), TN_ERROR_FORMAT);
    assert_error("no graph", NULL);
    const char text[] = "This is a text, not a model.";
    assert_int_equal(tn_graph_parse_onnx(test->runtime, text, sizeof(text), NULL, &graph),
                     TN_ERROR_FORMAT);
    assert_int_equal(tn_graph_parse_onnx(test->runtime, NULL, 5, NULL, &graph), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_load_onnx(test->runtime, "no-such-file.onnx", &graph),
                     TN_ERROR_NOT_FOUND);
    assert_error("no-such-file.onnx", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_a_model_becomes_a_sorted_graph),
        GRAPH_TEST(test_nodes_may_stand_in_any_order),
        GRAPH_TEST(test_empty_names_at_the_end_are_nothing),
        GRAPH_TEST(test_initializers_among_the_inputs_are_no_inputs),
        GRAPH_TEST(test_the_import_decides_the_version),
        GRAPH_TEST(test_a_domain_that_is_not_imported_means_version_1),
        GRAPH_TEST(test_opsets_1_to_28_are_read),
        GRAPH_TEST(test_operators_of_onnx_need_an_import),
        GRAPH_TEST(test_all_missing_operators_are_reported_at_once),
        GRAPH_TEST(test_a_long_list_of_missing_operators_is_counted),
        GRAPH_TEST(test_bodies_are_reported_beside_missing_operators),
        GRAPH_TEST(test_attributes_become_fields),
        GRAPH_TEST(test_lists_of_texts_become_fields),
        GRAPH_TEST(test_numbers_packed_or_not_are_the_same),
        GRAPH_TEST(test_an_attribute_without_type_is_known_by_its_value),
        GRAPH_TEST(test_element_types_come_in_onnx_numbers),
        GRAPH_TEST(test_bad_attributes_name_node_and_field),
        GRAPH_TEST(test_inputs_that_are_no_tensors_are_unsupported),
        GRAPH_TEST(test_shapes_of_inputs),
        GRAPH_TEST(test_texts_that_exporters_write_for_unknown_extents_are_no_names),
        GRAPH_TEST(test_graphs_that_do_not_hold_together_are_refused),
        GRAPH_TEST(test_a_file_that_is_no_model_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
