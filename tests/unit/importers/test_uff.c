/* SPDX-License-Identifier: Apache-2.0 */
/* What the UFF reader makes of networks: nodes, orders of axes, fields of custom nodes, options.
 * What operations compute is compared with NumPy in tests/cli/check_foreign_models.py. */
#include "uff_test.h"

static tn_tensor_id find_uff_tensor(const tn_graph *graph, const char *name) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_find(graph, name, &id), TN_OK);
    return id;
}

static size_t count_op(const tn_graph *graph, const char *op) {
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        count += !graph->nodes[i].is_dead && strcmp(graph->nodes[i].entry->op->name, op) == 0;
    return count;
}

static void parse_mixed(graph_test *test) {
    onnx_part file = uff_mixed_network();
    if (parse_uff_in(test, &file, NULL) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    onnx_part_free(&file);
}

static void test_an_input_without_batch_axis_gets_one(void **state) {
    graph_test *test = *state;
    parse_mixed(test);
    const tn_port_info *info = tn_graph_input(test->graph, 0);
    assert_int_equal(tn_graph_input_count(test->graph), 1);
    assert_int_equal(info->rank, 4);
    const int64_t expected[] = {-1, 2, 4, 5};
    assert_memory_equal(info->extents, expected, sizeof(expected));
    assert_string_equal(info->names[0], "batch");
}

/* The flattened data that the weights take is not moved; the output that shows it in file order is.
 */
static void test_only_an_output_in_file_order_is_transposed(void **state) {
    graph_test *test = *state;
    parse_mixed(test);
    assert_int_equal(count_op(test->graph, "Conv"), 1);
    assert_int_equal(count_op(test->graph, "MatMul"), 1);
    assert_int_equal(count_op(test->graph, "Transpose"), 1);
    const tn_graph_node *transpose = NULL;
    for (size_t i = 0; i < test->graph->node_count; i++)
        if (strcmp(test->graph->nodes[i].entry->op->name, "Transpose") == 0)
            transpose = &test->graph->nodes[i];
    assert_non_null(transpose);
    assert_string_equal(transpose->name, "pool/nhwc");
    assert_int_equal(tn_graph_output_count(test->graph), 2);
    assert_string_equal(tn_graph_output(test->graph, 0)->name, "y");
    assert_string_equal(tn_graph_output(test->graph, 1)->name, "rows");
}

static void test_a_kernel_is_put_in_order(void **state) {
    graph_test *test = *state;
    parse_mixed(test);
    /* [3, 3, 2, 3]: element [0, 0, 0, k] becomes [k, 0, 0, 0] */
    const tn_graph_tensor *kernel = &test->graph->tensors[find_uff_tensor(test->graph, "k/3201")];
    const float *data = kernel->data;
    assert_true(kernel->is_constant);
    assert_int_equal(kernel->shape.extents[0], 3);
    assert_int_equal(kernel->shape.extents[1], 2);
    assert_true(data[0] == 0.5f && data[18] == -1.0f && data[36] == 2.0f);
}

static void test_rows_of_weights_follow_a_flatten(void **state) {
    graph_test *test = *state;
    float values[36];
    uff_net net = {0};
    for (int i = 0; i < 36; i++)
        values[i] = (float)i;
    uff_mark(&net, "y");
    onnx_part node = uff_node("y", "FullyConnected", "flat,w");
    uff_field_orders(&net, &node, "NC_CK");
    uff_add(&net, &node);
    node = uff_node("flat", "Flatten", "p");
    uff_add(&net, &node);
    node = uff_node("p", "Pool", "x");
    uff_field_text(&node, "func", "avg");
    uff_field_ints(&node, "kernel", "1,1");
    uff_field_orders(&net, &node, "N+C");
    uff_add(&net, &node);
    uff_const(&net, "w", UFF_F32, "36,1", values, sizeof(values));
    uff_input(&net, "x", "3,4,3"); /* C, H, W */
    must_parse_uff(test, &net);
    const tn_graph_tensor *rows = &test->graph->tensors[find_uff_tensor(test->graph, "w/rows")];
    const float *data = rows->data;
    /* index c, h, w holds what was at h, w, c */
    for (int c = 0; c < 3; c++)
        for (int h = 0; h < 4; h++)
            for (int w = 0; w < 3; w++)
                assert_true(data[(c * 4 + h) * 3 + w] == (float)((h * 3 + w) * 3 + c));
}

static void test_fields_of_a_custom_node_reach_its_operator(void **state) {
    graph_test *test = *state;
    parse_mixed(test);
    assert_int_equal(tiny_last_fields.number, 5);
    assert_true(tiny_last_fields.factor == 1.5f);
    assert_int_equal(tiny_last_fields.to, TN_F16);
    assert_int_equal(tiny_last_fields.list.count, 3);
    assert_int_equal(tiny_last_fields.mode, 0);
}

static void add_custom(uff_net *net, onnx_part *node) {
    uff_add(net, node);
    uff_input(net, "x", "-1,4");
    uff_mark(net, "y");
}

static void test_whole_floats_serve_where_integers_are_asked_for(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    onnx_part node = uff_node("y", "_Fields", "x"), list = {0}, data = {0};
    const double numbers[] = {4, 5};
    onnx_part_bytes(&list, 1, numbers, sizeof(numbers));
    onnx_part_move(&data, 4, &list);
    uff_field(&node, "list_u_flist", &data);
    onnx_part_free(&data);
    uff_field_real(&node, "number", 6);
    uff_field_bool(&node, "factor", true);
    add_custom(&net, &node);
    must_parse_uff(test, &net);
    assert_int_equal(tiny_last_fields.number, 6);
    assert_int_equal(tiny_last_fields.list.count, 2);
    assert_true(tiny_last_fields.factor == 1);
}

static void test_a_field_that_the_operator_lacks_is_refused_by_name(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    onnx_part node = uff_node("y", "_Fields", "x");
    uff_field_int(&node, "numbr_u_int", 1);
    add_custom(&net, &node);
    assert_int_equal(parse_uff(test, &net, NULL), TN_ERROR_ARGUMENT);
    assert_error("number", "node 'y'");
}

static void test_a_missing_layer_is_said_with_its_fields(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    onnx_part node = uff_node("y", "_Fieldz", "x");
    uff_field_int(&node, "size_u_int", 3);
    uff_field_ints(&node, "ksize", "1,2,2,1");
    uff_field_text(&node, "mode", "b'SAME'");
    uff_field_type(&node, "T", UFF_F16);
    add_custom(&net, &node);
    assert_int_equal(parse_uff(test, &net, NULL), TN_ERROR_UNSUPPORTED);
    assert_error("node 'y': no operator 'Fieldz'", NULL);
    assert_error("tiny::Fields", NULL);
    assert_error("size=3 (an integer), ksize=[1, 2, 2, 1] (a list of integers), mode='SAME' "
                 "(a string), T=f16 (an element type)",
                 NULL);
    assert_error("--plugin", NULL);
}

static void test_all_missing_layers_are_said_at_once(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    static const char *const nodes[][3] = {
        {"a", "_GridAnchor_TRT", "x"}, {"b", "_NMS_TRT", "a"}, {"y", "_NMS_TRT", "b"}};
    for (size_t i = 0; i < TN_COUNT(nodes); i++) {
        onnx_part node = uff_node(nodes[i][0], nodes[i][1], nodes[i][2]);
        uff_add(&net, &node);
    }
    uff_input(&net, "x", "-1,4");
    uff_mark(&net, "y");
    assert_int_equal(parse_uff(test, &net, NULL), TN_ERROR_UNSUPPORTED);
    assert_error("2 things", NULL);
    assert_error("node 'a': no operator 'GridAnchor_TRT'", NULL);
    assert_error("node 'b' and 1 more like it: no operator 'NMS_TRT'", NULL);
}

static void test_the_same_is_said_of_a_graph_built_by_hand(void **state) {
    graph_test *test = *state;
    const int64_t extents[] = {2}, ksize[] = {1, 2};
    const tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, extents);
    const tn_attribute list = {
        .size = sizeof(list), .type = TN_FIELD_I64S, .name = "ksize", .count = 2, .items = ksize};
    const tn_attribute *const attributes[] = {&list};
    tn_node_description node = {.size = sizeof(node),
                                .domain = "tiny",
                                .op = "Fieldz",
                                .input_count = 1,
                                .output_count = 1,
                                .inputs = &x,
                                .attribute_count = 1,
                                .attributes = attributes};
    tn_tensor_id y;
    assert_int_equal(tn_graph_add_node(test->graph, &node, &y), TN_ERROR_UNSUPPORTED);
    assert_error("the nearest is 'tiny::Fields'", "node 'Fieldz'");
    assert_error("the node has ksize=[1, 2] (a list of integers)", NULL);
    assert_error("--plugin", NULL);
}

/* ----------------------------------------------------------------------------------------------
 * options */

static void add_relu(uff_net *net, const char *id, const char *input) {
    uff_add_function(net, id, "Activation", input, "relu");
}

static void test_outputs_are_chosen_by_name(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    static const char *const options[] = {"outputs=inner", NULL};
    uff_mark(&net, "y");
    onnx_part node = uff_node("y", "_NobodyHasThis", "inner");
    uff_add(&net, &node);
    add_relu(&net, "inner", "x");
    uff_input(&net, "x", "-1,4");
    assert_int_equal(parse_uff(test, &net, options), TN_OK);
    assert_int_equal(tn_graph_output_count(test->graph), 1);
    assert_string_equal(tn_graph_output(test->graph, 0)->name, "inner");
}

static void test_an_inner_node_becomes_an_input(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    static const char *const options[] = {"inputs=inner=-1x7", NULL};
    uff_mark(&net, "y");
    add_relu(&net, "y", "inner");
    onnx_part node = uff_node("inner", "_NobodyHasThis", "x");
    uff_add(&net, &node);
    uff_input(&net, "x", "-1,4");
    assert_int_equal(parse_uff(test, &net, options), TN_OK);
    assert_int_equal(tn_graph_input_count(test->graph), 1);
    assert_string_equal(tn_graph_input(test->graph, 0)->name, "inner");
    assert_int_equal(tn_graph_input(test->graph, 0)->extents[1], 7);
}

static void add_pool(uff_net *net, const char *input_shape) {
    onnx_part node = uff_node("y", "Pool", "x");
    uff_field_text(&node, "func", "max");
    uff_field_ints(&node, "kernel", "2,2");
    uff_field_orders(net, &node, "N+C");
    uff_add(net, &node);
    uff_input(net, "x", input_shape);
    uff_mark(net, "y");
}

static void test_an_input_in_file_order_stays_so(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    add_pool(&net, "-1,6,8,3");
    must_parse_uff(test, &net);
    const int64_t expected[] = {-1, 6, 8, 3};
    assert_memory_equal(tn_graph_input(test->graph, 0)->extents, expected, sizeof(expected));
    assert_int_equal(count_op(test->graph, "Transpose"), 2); /* in, and out again */
}

static void test_a_shape_that_fits_only_channels_first_is_taken_so(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    const int64_t extents[] = {2, 3, 6, 8};
    static const char *const options[] = {"inputs=x=2x3x6x8", NULL};
    add_pool(&net, "-1,6,8,3");
    assert_int_equal(parse_uff(test, &net, options), TN_OK);
    assert_memory_equal(tn_graph_input(test->graph, 0)->extents, extents, sizeof(extents));
    assert_int_equal(count_op(test->graph, "Transpose"), 0);
}

static void test_channels_first_can_be_asked_for(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    static const char *const options[] = {"order=nchw", NULL};
    add_pool(&net, "-1,6,6,6");
    assert_int_equal(parse_uff(test, &net, options), TN_OK);
    assert_int_equal(count_op(test->graph, "Transpose"), 0);
}

/* ----------------------------------------------------------------------------------------------
 * what is refused */

static void expect(graph_test *test, uff_net *net, tn_status status, const char *message,
                   const char *where) {
    assert_int_equal(parse_uff(test, net, NULL), status);
    assert_error(message, where);
}

static void test_a_cycle_is_named(void **state) {
    uff_net net = {0};
    add_relu(&net, "a", "b");
    add_relu(&net, "b", "a");
    uff_mark(&net, "a");
    expect(*state, &net, TN_ERROR_FORMAT, "not free of cycles: node 'a'", "node 'b'");
}

static void test_an_input_that_nobody_makes_is_named(void **state) {
    uff_net net = {0};
    add_relu(&net, "y", "image");
    uff_input(&net, "imagf", "-1,4");
    uff_mark(&net, "y");
    expect(*state, &net, TN_ERROR_NOT_FOUND, "no node 'image'; the nearest is 'imagf'", "node 'y'");
}

static void test_two_nodes_of_one_name_are_refused(void **state) {
    uff_net net = {0};
    add_relu(&net, "y", "x");
    add_relu(&net, "y", "x");
    uff_input(&net, "x", "-1,4");
    uff_mark(&net, "y");
    expect(*state, &net, TN_ERROR_FORMAT, "two nodes 'y'", NULL);
}

static void test_a_file_without_outputs_says_how_to_name_them(void **state) {
    uff_net net = {0};
    add_relu(&net, "y", "x");
    uff_input(&net, "x", "-1,4");
    expect(*state, &net, TN_ERROR_FORMAT, "--output NAME): 'y'", NULL);
}

static void test_weights_of_another_size_are_said_with_shapes(void **state) {
    static const float values[5];
    uff_net net = {0};
    uff_const(&net, "w", UFF_F32, "2,3", values, sizeof(values));
    uff_mark(&net, "w");
    expect(*state, &net, TN_ERROR_FORMAT, "[2, 3] of f32 takes 24 bytes, but the file holds 20",
           "node 'w'");
}

static void test_a_file_without_weights_is_said_to_be_so(void **state) {
    uff_net net = {0};
    const char text[] = "(...2000 bytes skipped...)";
    uff_const(&net, "w", UFF_F32, "500", text, sizeof(text) - 1);
    uff_mark(&net, "w");
    expect(*state, &net, TN_ERROR_FORMAT, "written for people to read, without weights",
           "node 'w'");
}

static void test_an_unknown_element_type_is_refused(void **state) {
    static const char bytes[4];
    uff_net net = {0};
    uff_const(&net, "w", 65664, "4", bytes, sizeof(bytes));
    uff_mark(&net, "w");
    expect(*state, &net, TN_ERROR_UNSUPPORTED, "element type 65664", "node 'w'");
}

/* What has no name is told by the bytes of an element, and doubles from integers by them, too.
 */
static void test_constants_without_a_named_type_are_read(void **state) {
    static const double doubles[] = {0.5, 0, -3};
    static const uint64_t numbers[] = {5, 0, 7};
    static const uint8_t truths[] = {1, 0, 255};
    static const struct {
        const void *data;
        size_t bytes;
        tn_type type;
        double first, last;
    } rows[] = {{doubles, sizeof(doubles), TN_F32, 0.5, -3},
                {numbers, sizeof(numbers), TN_I64, 5, 7},
                {truths, sizeof(truths), TN_I32, 1, 255}};
    graph_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        uff_net net = {0};
        uff_const(&net, "w", 7, "3", rows[i].data, rows[i].bytes);
        uff_mark(&net, "w");
        must_parse_uff(test, &net);
        const tn_graph_tensor *w = &test->graph->tensors[find_uff_tensor(test->graph, "w")];
        assert_int_equal(w->type, rows[i].type);
        assert_true(tn_element_get_f64(w->data, w->type, 0) == rows[i].first);
        assert_true(tn_element_get_f64(w->data, w->type, 2) == rows[i].last);
    }
}

static void
test_constants_without_a_named_type_are_refused_where_they_cannot_be_told(void **state) {
    static const double large[] = {1, 1e300, 2};
    static const uint64_t larger[] = {1, UINT64_MAX, 2};
    uff_net net = {0};
    uff_const(&net, "w", 7, "3", large, 16);
    uff_mark(&net, "w");
    expect(*state, &net, TN_ERROR_FORMAT, "unnamed element type 7", "node 'w'");
    uff_const(&net, "w", 7, "3", large, sizeof(large));
    uff_mark(&net, "w");
    expect(*state, &net, TN_ERROR_UNSUPPORTED, "element 1, 1e+300", "node 'w'");
    uff_const(&net, "w", 7, "3", larger, sizeof(larger));
    uff_mark(&net, "w");
    expect(*state, &net, TN_ERROR_UNSUPPORTED, "element 1 is beyond", "node 'w'");
}

static void add_unnamed_input(uff_net *net) {
    onnx_part node = uff_node("x", "Input", "");
    uff_field_type(&node, "dtype", 7);
    uff_field_ints(&node, "shape", "-1,4");
    uff_add(net, &node);
}

/* Of an input there are no bytes: what reads it must compute with floating-point values. */
static void test_an_input_without_a_named_type_is_told_by_its_readers(void **state) {
    static const char *const readers[] = {"LeakyRelu", "Softmax"};
    graph_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(readers); i++) {
        uff_net net = {0};
        onnx_part node = uff_node("z", readers[i], "y");
        if (i == 0) uff_field_real(&node, "alpha", 0.5);
        add_unnamed_input(&net);
        add_relu(&net, "y", "x");
        uff_add(&net, &node);
        uff_mark(&net, "z");
        must_parse_uff(test, &net);
        assert_int_equal(test->graph->tensors[test->graph->inputs[0]].type, TN_F32);
    }
    uff_net net = {0};
    add_unnamed_input(&net);
    add_relu(&net, "y", "x");
    uff_mark(&net, "y");
    expect(test, &net, TN_ERROR_UNSUPPORTED, "element type 7", "node 'x'");
}

static void test_references_that_lead_nowhere_are_refused(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    onnx_part node = uff_node("y", "Softmax", "x"), data = {0};
    uff_field_reference(&node, "axis", "not_there");
    uff_add(&net, &node);
    uff_input(&net, "x", "-1,4");
    uff_mark(&net, "y");
    expect(test, &net, TN_ERROR_FORMAT, "'not_there', which the file does not hold",
           "field 'axis'");
    node = uff_node("y", "Softmax", "x");
    uff_field_reference(&node, "axis", "round");
    uff_add(&net, &node);
    uff_input(&net, "x", "-1,4");
    uff_mark(&net, "y");
    onnx_part_text(&data, 100, "round");
    uff_shared(&net, "round", &data);
    onnx_part_free(&data);
    expect(test, &net, TN_ERROR_FORMAT, "do not end", "field 'axis'");
}

static void test_a_reference_to_a_reference_is_followed(void **state) {
    graph_test *test = *state;
    uff_net net = {0};
    onnx_part node = uff_node("y", "LeakyRelu", "x"), data = {0};
    const double alpha = 0.25;
    uff_field_reference(&node, "alpha", "first");
    uff_add(&net, &node);
    uff_input(&net, "x", "-1,4");
    uff_mark(&net, "y");
    onnx_part_text(&data, 100, "second");
    uff_shared(&net, "first", &data);
    onnx_part_free(&data);
    onnx_part_varint(&data, 3 << 3 | 1);
    onnx_part_raw(&data, &alpha, sizeof(alpha));
    uff_shared(&net, "second", &data);
    onnx_part_free(&data);
    must_parse_uff(test, &net);
    assert_true(test->graph->nodes[0].attributes[0]->f == 0.25);
}

static void test_orders_that_do_not_fit_are_refused(void **state) {
    static const char *const orders[] = {"N+", "NCC", "N++C", "NC", "CK"};
    graph_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(orders); i++) {
        uff_net net = {0};
        onnx_part node = uff_node("y", "Pool", "x");
        uff_field_text(&node, "func", "max");
        uff_field_ints(&node, "kernel", "2,2");
        uff_field_orders(&net, &node, orders[i]);
        uff_add(&net, &node);
        uff_input(&net, "x", "-1,6,8,3");
        uff_mark(&net, "y");
        expect(test, &net, TN_ERROR_FORMAT, "'inputs_orders' does not fit", "node 'y'");
    }
}

static void test_an_unknown_function_is_said_with_those_there_are(void **state) {
    uff_net net = {0};
    uff_add_function(&net, "y", "Activation", "x", "swish");
    uff_input(&net, "x", "-1,4");
    uff_mark(&net, "y");
    expect(*state, &net, TN_ERROR_UNSUPPORTED, "there are relu relu6", "node 'y'");
}

static void test_a_kernel_for_other_channels_is_said_with_both(void **state) {
    static const float values[9 * 5 * 2];
    uff_net net = {0};
    onnx_part node = uff_node("y", "Conv", "x,k");
    uff_field_orders(&net, &node, "N+C_+CK");
    uff_add(&net, &node);
    uff_const(&net, "k", UFF_F32, "3,3,5,2", values, sizeof(values));
    uff_input(&net, "x", "-1,6,8,3");
    uff_mark(&net, "y");
    expect(*state, &net, TN_ERROR_SHAPE, "'x' has 3 channels, but the kernel 'k' is for 5",
           "node 'y'");
}

static void test_other_versions_and_files_are_refused(void **state) {
    graph_test *test = *state;
    onnx_part file = {0};
    assert_int_equal(parse_uff_in(test, &file, NULL), TN_ERROR_FORMAT);
    assert_error("is it a UFF model?", NULL);
    onnx_part_number(&file, 1, 2);
    onnx_part_bytes(&file, 4, "", 0);
    assert_int_equal(parse_uff_in(test, &file, NULL), TN_ERROR_UNSUPPORTED);
    assert_error("version 2", NULL);
    onnx_part_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_an_input_without_batch_axis_gets_one),
        GRAPH_TEST(test_only_an_output_in_file_order_is_transposed),
        GRAPH_TEST(test_a_kernel_is_put_in_order),
        GRAPH_TEST(test_rows_of_weights_follow_a_flatten),
        GRAPH_TEST(test_fields_of_a_custom_node_reach_its_operator),
        GRAPH_TEST(test_whole_floats_serve_where_integers_are_asked_for),
        GRAPH_TEST(test_a_field_that_the_operator_lacks_is_refused_by_name),
        GRAPH_TEST(test_a_missing_layer_is_said_with_its_fields),
        GRAPH_TEST(test_all_missing_layers_are_said_at_once),
        GRAPH_TEST(test_the_same_is_said_of_a_graph_built_by_hand),
        GRAPH_TEST(test_outputs_are_chosen_by_name),
        GRAPH_TEST(test_an_inner_node_becomes_an_input),
        GRAPH_TEST(test_an_input_in_file_order_stays_so),
        GRAPH_TEST(test_a_shape_that_fits_only_channels_first_is_taken_so),
        GRAPH_TEST(test_channels_first_can_be_asked_for),
        GRAPH_TEST(test_a_cycle_is_named),
        GRAPH_TEST(test_an_input_that_nobody_makes_is_named),
        GRAPH_TEST(test_two_nodes_of_one_name_are_refused),
        GRAPH_TEST(test_a_file_without_outputs_says_how_to_name_them),
        GRAPH_TEST(test_weights_of_another_size_are_said_with_shapes),
        GRAPH_TEST(test_a_file_without_weights_is_said_to_be_so),
        GRAPH_TEST(test_an_unknown_element_type_is_refused),
        GRAPH_TEST(test_constants_without_a_named_type_are_read),
        GRAPH_TEST(test_constants_without_a_named_type_are_refused_where_they_cannot_be_told),
        GRAPH_TEST(test_an_input_without_a_named_type_is_told_by_its_readers),
        GRAPH_TEST(test_references_that_lead_nowhere_are_refused),
        GRAPH_TEST(test_a_reference_to_a_reference_is_followed),
        GRAPH_TEST(test_orders_that_do_not_fit_are_refused),
        GRAPH_TEST(test_an_unknown_function_is_said_with_those_there_are),
        GRAPH_TEST(test_a_kernel_for_other_channels_is_said_with_both),
        GRAPH_TEST(test_other_versions_and_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
