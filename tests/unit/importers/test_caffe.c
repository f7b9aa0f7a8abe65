/* SPDX-License-Identifier: Apache-2.0 */
/* The Caffe reader: what becomes of layers, names, rules and blobs, and what its messages say. What
 * layers compute is tested by tests/cli/check_caffe.py. */
#include "graph_test.h"

#include "caffe_test.h"
#include "import_test.h"

static tn_status parse_text(graph_test *test, const char *text, const onnx_part *model,
                            const char *const *options) {
    tn_graph *graph = NULL;
    tn_status status = import_caffe(test->runtime, text, strlen(text), model ? model->data : NULL,
                                    model ? model->bytes : 0, options, &graph);
    if (status != TN_OK) {
        assert_null(graph);
        return status;
    }
    tn_graph_destroy(test->graph);
    test->graph = graph;
    return TN_OK;
}

static void must_parse(graph_test *test, const char *text, const onnx_part *model) {
    if (parse_text(test, text, model, NULL) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static const tn_graph_node *find_node(const tn_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].name, name) == 0) return &graph->nodes[i];
    fail_msg("there is no node '%s'", name);
    return NULL;
}

static const char *output_of(const tn_graph *graph, const char *node) {
    return graph->tensors[find_node(graph, node)->outputs[0]].name;
}

#define INPUT                                                                                      \
    "layer { name: \"data\" type: \"Input\" top: \"x\" input_param { shape { dim: 8 dim: 3 dim: "  \
    "4 dim: 5 } } }\n"
#define LAYER(type, name, bottom, top, rest)                                                       \
    "layer { name: \"" name "\" type: \"" type "\" bottom: \"" bottom "\" top: \"" top "\" " rest  \
    " }\n"

static void test_the_last_value_of_a_blob_has_its_name(void **state) {
    graph_test *test = *state;
    onnx_part model = caffe_model(false);
    must_parse(test, caffe_network, &model);
    const tn_graph *graph = test->graph;
    assert_string_equal(graph->name, "mixed network");
    assert_string_equal(output_of(graph, "conv"), "y@conv");
    assert_string_equal(output_of(graph, "scale"), "y@scale"); /* and the normalisation before it */
    assert_string_equal(output_of(graph, "relu"), "y");        /* Dropout adds nothing */
    assert_string_equal(output_of(graph, "power"), "w@power");
    assert_string_equal(output_of(graph, "staged"), "w");
    assert_int_equal(graph->output_count, 2);
    assert_string_equal(graph->output_names[0], "f");
    assert_string_equal(graph->output_names[1], "prob");
    onnx_part_free(&model);
}

static void test_the_batch_is_open_and_the_rest_is_as_declared(void **state) {
    graph_test *test = *state;
    must_parse(test, INPUT LAYER("ReLU", "r", "x", "y", ""), NULL);
    const tn_port_info *port = tn_graph_input(test->graph, 0);
    static const int64_t expected[] = {-1, 3, 4, 5};
    assert_string_equal(port->name, "x");
    assert_int_equal(port->rank, 4);
    assert_memory_equal(port->extents, expected, sizeof(expected));
    assert_string_equal(port->names[0], "batch");
}

static void test_inputs_that_are_listed_are_open(void **state) {
    graph_test *test = *state;
    static const int64_t expected[] = {-1, -1, -1, -1};
    static const char *const options[] = {"open_inputs=x", NULL};
    assert_int_equal(parse_text(test, INPUT LAYER("ReLU", "r", "x", "y", ""), NULL, options),
                     TN_OK);
    assert_memory_equal(tn_graph_input(test->graph, 0)->extents, expected, sizeof(expected));
}

static void test_stages_and_level_choose_layers(void **state) {
    graph_test *test = *state;
    static const char text[] = INPUT LAYER("ReLU", "a", "x", "y", "include { stage: \"s\" }")
        LAYER("TanH", "b", "x", "y", "include { not_stage: \"s\" max_level: 0 }")
            LAYER("Sigmoid", "c", "x", "z", "exclude { min_level: 2 }");
    static const char *const options[] = {"level=2", "stages=s", NULL};
    assert_int_equal(parse_text(test, text, NULL, NULL), TN_OK);
    assert_string_equal(output_of(test->graph, "b"), "y");
    assert_string_equal(output_of(test->graph, "c"), "z");
    assert_int_equal(parse_text(test, text, NULL, options), TN_OK);
    assert_string_equal(output_of(test->graph, "a"), "y");
    assert_int_equal(test->graph->node_count, 1);
}

static void test_a_given_library_serves_unknown_layers(void **state) {
    graph_test *test = *state;
    onnx_part model = caffe_model(true);
    must_parse(test, caffe_network, &model);
    const tn_graph_node *node = find_node(test->graph, "own");
    const tiny_fields *fields = node->params;
    assert_string_equal(node->entry->op->name, "Fields");
    assert_int_equal(fields->number, 3);
    assert_int_equal(fields->list.count, 2);
    assert_int_equal(fields->list.items[1], 2);
    assert_int_equal(fields->mode, 1);
    assert_string_equal(fields->text, "t");
    assert_int_equal(fields->factors.count, 2);
    assert_true(fields->factors.items[0] == 0.5f && fields->factors.items[1] == 2);
    assert_non_null(fields->table);
    assert_int_equal(fields->table->shape[fields->table->rank - 1], 3);
    assert_true(((const float *)fields->table->data)[5] == 2.5f);
    onnx_part_free(&model);
}

static void test_fields_of_an_unknown_layer_are_named(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse_text(test,
                                INPUT LAYER("Fields", "f", "x", "y", "own_param { numbr: 3 }"),
                                NULL, NULL),
                     TN_ERROR_ARGUMENT);
    assert_error("number", "layer 'f' (line 2)");
    assert_int_equal(
        parse_text(test, INPUT LAYER("Fields", "f", "x", "y", "own_param { inner { number: 3 } }"),
                   NULL, NULL),
        TN_ERROR_ARGUMENT);
    assert_error("inner.number", "layer 'f'");
}

static void test_a_missing_operator_is_named_with_what_the_layer_has(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse_text(test,
                                INPUT LAYER("Convolutoin", "c", "x", "y", "own_param { size: 7 }"),
                                NULL, NULL),
                     TN_ERROR_UNSUPPORTED);
    assert_error("node 'c'", NULL);
    assert_error("Convolutoin", NULL);
    assert_error("'Convolution'", NULL);
    assert_error("size=7", NULL);
}

static void test_all_missing_operators_are_named_at_once(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse_text(test,
                                INPUT LAYER("One", "a", "x", "y", "")
                                    LAYER("Two", "b", "y", "z", "") LAYER("One", "c", "z", "w", ""),
                                NULL, NULL),
                     TN_ERROR_UNSUPPORTED);
    assert_error("node 'a' and 1 more like it", NULL);
    assert_error("node 'b'", NULL);
}

/* Layers of one name must not cost more, the more there are. */
static void test_many_layers_of_one_name_are_read(void **state) {
    graph_test *test = *state;
    static const char one[] = LAYER("ReLU", "r", "x", "x", "");
    const size_t count = 20000;
    char *text = malloc(sizeof(INPUT) + count * sizeof(one));
    assert_non_null(text);
    strcpy(text, INPUT);
    size_t length = strlen(text);
    for (size_t i = 0; i < count; i++, length += strlen(one))
        memcpy(text + length, one, sizeof(one));
    must_parse(test, text, NULL);
    assert_int_equal(test->graph->node_count, count);
    free(text);
}

/* Text, and what its message must hold. */
static void test_messages_say_what_and_where(void **state) {
    static const struct {
        const char *text, *message, *where;
    } cases[] = {
        {"name: \"a\"\n  layer { type 3 }", "line 2, column 16: '3'", NULL},
        {"name: \"a\\q\"", "line 1, column 10: this escape", NULL},
        {"name: \"a", "line 1, column 9: a text in quotes", NULL},
        {"name: 08", "'08' is no number", NULL},
        {"name: 1.2.3", "'1.2.3' is no number", NULL},
        {"name: \xff", "binary file", NULL},
        {"nam: \"a\"", "no field 'nam'; the nearest is 'name'", NULL},
        {"name: a", "field 'name' is a text in quotes", NULL},
        {"name: [\"a\"]", "is one value, not a list", NULL},
        {"name: \"a\" name: \"b\"", "line 1, column 11: field 'name' is given twice", NULL},
        {"input_dim: [1, 2", "',' or ']'", NULL},
        {"input_dim: [1,]", "where a value is expected", NULL},
        {"input_dim: 1.5", "whole number", NULL},
        {"layer < name: \"a\" }", "'>'", NULL},
        {"force_backward: yes", "true or false", NULL},
        {"layer { name: \"a\" } layers { name: \"b\" }", "both 'layer' and 'layers'", NULL},
        {"layers { layer { name: \"a\" } }", "oldest form", NULL},
        {"layers { name: \"a\" type: \"ReLU\" }", "without quotes", NULL},
        {INPUT LAYER("ReLU", "r", "x", "y", "relu_param { slope: 1 }"), "no field 'slope'",
         "layer 'r' (line 2)"},
        {INPUT LAYER("Eltwise", "e", "x", "y", ""), "1 bottoms", "layer 'e'"},
        {INPUT LAYER("ReLU", "r", "x", "y", "") LAYER("TanH", "t", "x", "y", ""),
         "another layer's already", "layer 't' (line 3)"},
        {INPUT LAYER("Softmax", "s", "x", "y", "softmax_param { axis: 4 }"), "axis is 4",
         "layer 's'"},
        {INPUT LAYER("Pooling", "p", "x", "y", "pooling_param { kernel_size: 2 kernel_h: 2 }"),
         "beside", "layer 'p'"},
        {INPUT LAYER("Pooling", "p", "x", "y", "pooling_param { kernel_size: 2 pad: 2 }"),
         "not below", "layer 'p'"},
        {INPUT LAYER("InnerProduct", "i", "x", "y", "inner_product_param { num_output: 2 }"),
         ".caffemodel", "layer 'i'"},
        {INPUT, "no output", NULL},
    };
    graph_test *test = *state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        if (parse_text(test, cases[i].text, NULL, NULL) == TN_OK) fail_msg("%s", cases[i].text);
        assert_error(cases[i].message, cases[i].where);
    }
}

static void test_errors_have_fields(void **state) {
    graph_test *test = *state;
    assert_int_equal(parse_text(test, "name: \"a\"\n  nam: 3", NULL, NULL), TN_ERROR_FORMAT);
    assert_int_equal(tn_last_error()->line, 2);
    assert_int_equal(tn_last_error()->column, 3);
    assert_string_equal(tn_last_error()->mend, "the nearest is 'name'");
    assert_int_equal(parse_text(test,
                                INPUT LAYER("Softmax", "s", "x", "y", "softmax_param { axis: 4 }"),
                                NULL, NULL),
                     TN_ERROR_RANGE);
    assert_string_equal(tn_last_error()->node, "s");
    assert_int_equal(tn_last_error()->line, 2);
    assert_int_equal(parse_text(test, INPUT LAYER("Softmx", "s", "x", "y", ""), NULL, NULL),
                     TN_ERROR_UNSUPPORTED);
    assert_string_equal(tn_last_error()->node, "s");
    assert_string_equal(tn_last_error()->op, "Softmx");
    assert_string_equal(tn_last_error()->mend, "the nearest of Caffe's own layers is 'Softmax'");
}

static void test_a_blob_of_another_shape_names_both(void **state) {
    graph_test *test = *state;
    static const char text[] =
        INPUT LAYER("InnerProduct", "ip", "x", "y", "inner_product_param { num_output: 2 }");
    onnx_part model = caffe_model(false);
    assert_int_equal(parse_text(test, text, &model, NULL), TN_ERROR_SHAPE);
    assert_error("[2, 48]", "layer 'ip' (line 2)");
    assert_error("[2, 60]", "blob 0");
    onnx_part_free(&model);
}

static void test_shared_blobs_are_those_of_the_first_layer(void **state) {
    graph_test *test = *state;
    static const char text[] =
        "input: \"x\" input_dim: 1 input_dim: 48 input_dim: 1 input_dim: 1\n" LAYER(
            "InnerProduct", "ip", "x", "y",
            "param { name: \"w\" } param { name: \"b\" } inner_product_param { num_output: 2 }")
            LAYER("InnerProduct", "other", "x", "z",
                  "param { name: \"w\" } param { name: \"b\" } inner_product_param { num_output: 2 "
                  "}");
    onnx_part model = caffe_model(false);
    must_parse(test, text, &model);
    const tn_graph *graph = test->graph;
    const tn_graph_node *first = find_node(graph, "ip"), *second = find_node(graph, "other");
    for (uint32_t i = 1; i < 3; i++)
        assert_ptr_equal(graph->tensors[first->inputs[i]].data,
                         graph->tensors[second->inputs[i]].data);
    onnx_part_free(&model);
}

static void test_a_mean_is_taken_from_its_input(void **state) {
    graph_test *test = *state;
    static const int64_t extents[] = {3, 4, 5}, wrong[] = {3, 4, 4};
    onnx_part mean = caffe_blob(3, extents, true), other = caffe_blob(3, wrong, true);
    must_parse(test, INPUT LAYER("ReLU", "r", "x", "y", ""), NULL);
    assert_int_equal(import_mean(test->runtime, test->graph, NULL, mean.data, mean.bytes, 0.5),
                     TN_OK);
    const tn_graph_node *relu = find_node(test->graph, "r");
    assert_memory_equal(test->graph->tensors[relu->inputs[0]].name, "mean/scaled", 11);
    must_parse(test, INPUT LAYER("ReLU", "r", "x", "y", ""), NULL);
    assert_int_equal(import_mean(test->runtime, test->graph, "x", other.data, other.bytes, 1),
                     TN_ERROR_SHAPE);
    assert_error("[1, 3, 4, 4]", NULL);
    assert_error("[?, 3, 4, 5]", NULL);
    assert_int_equal(import_mean(test->runtime, test->graph, "z", mean.data, mean.bytes, 1),
                     TN_ERROR_NOT_FOUND);
    onnx_part_free(&other);
    onnx_part_free(&mean);
}

static void test_each_failing_allocation_of_a_mean_is_an_error_without_leak(void **state) {
    graph_test *test = *state;
    static const int64_t extents[] = {3, 4, 5};
    onnx_part mean = caffe_blob(3, extents, true);
    for (uint64_t n = 1;; n++) {
        must_parse(test, INPUT LAYER("ReLU", "r", "x", "y", ""), NULL);
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        tn_status status =
            import_mean(test->runtime, test->graph, NULL, mean.data, mean.bytes, 0.5);
        test->allocator.fail_at = 0;
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
    onnx_part_free(&mean);
}

/* --- weights inside the description --- */

static const float *constant_data(const tn_graph *graph, const char *name, size_t *out_bytes) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_find(graph, name, &id), TN_OK);
    *out_bytes = graph->tensors[id].bytes;
    return graph->tensors[id].data;
}

static void test_weights_in_the_text_are_those_of_a_file(void **state) {
    graph_test *test = *state;
    onnx_part model = caffe_model(false);
    size_t bytes = 0, found = 0, expected = 0;
    char *text = caffe_network_with_weights(&bytes);
    float weights[96];
    must_parse(test, caffe_network, &model);
    const float *data = constant_data(test->graph, "ip/blobs[0]", &expected);
    assert_int_equal(expected, sizeof(weights));
    memcpy(weights, data, sizeof(weights));
    must_parse(test, text, NULL);
    data = constant_data(test->graph, "ip/blobs[0]", &found);
    assert_int_equal(found, expected);
    assert_memory_equal(data, weights, expected);
    free(text);
    onnx_part_free(&model);
}

#define WEIGHED(blobs)                                                                             \
    INPUT LAYER("InnerProduct", "ip", "x", "y", "inner_product_param { num_output: 1 }\n" blobs)

static void test_slips_in_weights_are_shown_by_line_and_column(void **state) {
    static const struct {
        const char *text, *message, *where;
    } rows[] = {
        {WEIGHED("blobs { data: x }"), "line 3, column 9: field 'data' is a number; 'x' is not",
         NULL},
        {WEIGHED("blobs { num: 1.5 }"), "line 3, column 9: field 'num' is a whole number", NULL},
        {WEIGHED("blobs { shape { dim: 1 dim: 60 } data: [1, 2] }"),
         "its shape [1, 60] takes 60 elements, but it has 2", "layer 'ip'"},
        {WEIGHED("blobs { shape { dim: 1 dim: 2 } data: [1, 2] }"),
         "its shape is [1, 2]; [1, 60] is expected", "blob 0"},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        assert_int_not_equal(parse_text(*state, rows[i].text, NULL, NULL), TN_OK);
        assert_error(rows[i].message, rows[i].where);
    }
}

/* A layer's blobs come from the file where both have them. */
static void test_a_file_of_weights_goes_before_those_in_the_text(void **state) {
    graph_test *test = *state;
    size_t bytes = 0;
    const float one = 1;
    const int64_t extents[] = {1, 1};
    onnx_part model = {0}, layer = {0}, blob = {0}, shape = {0};
    for (int i = 0; i < 2; i++)
        onnx_part_number(&shape, 1, extents[i]);
    onnx_part_move(&blob, CAFFE_BLOB_SHAPE, &shape);
    onnx_part_bytes(&blob, CAFFE_BLOB_DATA, &one, sizeof(one));
    onnx_part_text(&layer, CAFFE_LAYER_NAME, "a");
    onnx_part_move(&layer, CAFFE_LAYER_BLOB, &blob);
    onnx_part_move(&model, CAFFE_MODEL_LAYER, &layer);
    must_parse(test,
               "input: \"x\" input_shape { dim: 1 dim: 1 }\n"
               "layer { name: \"a\" type: \"InnerProduct\" bottom: \"x\" top: \"a\" "
               "inner_product_param { num_output: 1 bias_term: false } blobs { shape { dim: 1 dim: "
               "1 } data: 5 } }\n"
               "layer { name: \"b\" type: \"InnerProduct\" bottom: \"a\" top: \"b\" "
               "inner_product_param { num_output: 1 bias_term: false } blobs { shape { dim: 1 dim: "
               "1 } double_data: 7 } }\n",
               &model);
    assert_true(*constant_data(test->graph, "a/blobs[0]", &bytes) == 1);
    assert_true(*constant_data(test->graph, "b/blobs[0]", &bytes) == 7);
    onnx_part_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_weights_in_the_text_are_those_of_a_file),
        GRAPH_TEST(test_slips_in_weights_are_shown_by_line_and_column),
        GRAPH_TEST(test_a_file_of_weights_goes_before_those_in_the_text),
        GRAPH_TEST(test_the_last_value_of_a_blob_has_its_name),
        GRAPH_TEST(test_the_batch_is_open_and_the_rest_is_as_declared),
        GRAPH_TEST(test_inputs_that_are_listed_are_open),
        GRAPH_TEST(test_stages_and_level_choose_layers),
        GRAPH_TEST(test_a_given_library_serves_unknown_layers),
        GRAPH_TEST(test_fields_of_an_unknown_layer_are_named),
        GRAPH_TEST(test_a_missing_operator_is_named_with_what_the_layer_has),
        GRAPH_TEST(test_all_missing_operators_are_named_at_once),
        GRAPH_TEST(test_many_layers_of_one_name_are_read),
        GRAPH_TEST(test_messages_say_what_and_where),
        GRAPH_TEST(test_errors_have_fields),
        GRAPH_TEST(test_a_blob_of_another_shape_names_both),
        GRAPH_TEST(test_shared_blobs_are_those_of_the_first_layer),
        GRAPH_TEST(test_a_mean_is_taken_from_its_input),
        GRAPH_TEST(test_each_failing_allocation_of_a_mean_is_an_error_without_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
