/* SPDX-License-Identifier: Apache-2.0 */
/* Caffe's recurrent layers in the reader: what becomes of their bottoms, blobs and tops, and what
 * wrong ones are told. What they compute is tested by tests/cli/check_caffe.py. */
#include "graph_test.h"

#include "caffe_test.h"
#include "import_test.h"

#define INPUT(name, dims)                                                                          \
    "layer { name: \"" name "\" type: \"Input\" top: \"" name "\" input_param { shape { " dims     \
    " } } }\n"
#define RECURRENT(type, ports, params)                                                             \
    INPUT("x", "dim: 5 dim: 2 dim: 3")                                                             \
    INPUT("cont", "dim: 5 dim: 2")                                                                 \
    INPUT("s", "dim: 2 dim: 4")                                                                    \
    INPUT("h", "dim: 1 dim: 2 dim: 6")                                                             \
    INPUT("c", "dim: 1 dim: 2 dim: 6")                                                             \
    "layer { name: \"it\" type: \"" type "\" " ports " recurrent_param { " params " } }\n"
#define BOTTOM(name) "bottom: \"" name "\" "
#define TOP(name)    "top: \"" name "\" "

typedef struct blob_shape {
    uint32_t rank;
    int64_t extents[2];
} blob_shape;

/* A file with the blobs of the layer 'it'. */
static onnx_part make_model(size_t count, const blob_shape *shapes) {
    onnx_part model = {0}, layer = {0};
    onnx_part_text(&layer, CAFFE_LAYER_NAME, "it");
    for (size_t i = 0; i < count; i++) {
        onnx_part blob = caffe_blob(shapes[i].rank, shapes[i].extents, false);
        onnx_part_move(&layer, CAFFE_LAYER_BLOB, &blob);
    }
    onnx_part_move(&model, CAFFE_MODEL_LAYER, &layer);
    return model;
}

static tn_status parse(graph_test *test, const char *text, const onnx_part *model) {
    tn_graph *graph = NULL;
    const tn_status status =
        import_caffe(test->runtime, text, strlen(text), model ? model->data : NULL,
                     model ? model->bytes : 0, NULL, &graph);
    if (status != TN_OK) {
        assert_null(graph);
        return status;
    }
    tn_graph_destroy(test->graph);
    test->graph = graph;
    return TN_OK;
}

/* The node 'it' of the text; the names of its inputs and outputs are `inputs` and `outputs`, in one
 * text each, absent ones as '-'. */
static void expect_ports(graph_test *test, const char *text, const onnx_part *model, const char *op,
                         const char *inputs, const char *outputs) {
    char found[2][200] = {"", ""};
    if (parse(test, text, model) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
    const tn_graph *graph = test->graph;
    assert_int_equal(graph->node_count, 1);
    const tn_graph_node *node = &graph->nodes[0];
    assert_string_equal(node->name, "it");
    assert_string_equal(node->entry->op->domain, "Caffe");
    assert_string_equal(node->entry->op->name, op);
    for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
        const bool is_input = i < node->input_count;
        const tn_tensor_id id = is_input ? node->inputs[i] : node->outputs[i - node->input_count];
        char *at = found[is_input ? 0 : 1];
        snprintf(at + strlen(at), 200 - strlen(at), "%s%s", *at ? " " : "",
                 id == TN_NO_TENSOR ? "-" : graph->tensors[id].name);
    }
    assert_string_equal(found[0], inputs);
    assert_string_equal(found[1], outputs);
}

static void test_an_lstm_takes_its_blobs_in_caffes_order(void **state) {
    static const blob_shape all[] = {{2, {24, 3}}, {1, {24}}, {2, {24, 4}}, {2, {24, 6}}};
    static const blob_shape few[] = {{2, {24, 3}}, {1, {24}}, {2, {24, 6}}};
    graph_test *test = *state;
    onnx_part model = make_model(TN_COUNT(all), all), plain = make_model(TN_COUNT(few), few);
    expect_ports(test,
                 RECURRENT("LSTM",
                           BOTTOM("x") BOTTOM("cont") BOTTOM("s") BOTTOM("h") BOTTOM("c") TOP("y")
                               TOP("last") TOP("cell"),
                           "num_output: 6 expose_hidden: true"),
                 &model, "LSTM", "x cont it/blobs[0] it/blobs[1] it/blobs[3] s it/blobs[2] h c",
                 "y last cell");
    expect_ports(test, RECURRENT("LSTM", BOTTOM("x") BOTTOM("cont") TOP("y"), "num_output: 6"),
                 &plain, "LSTM", "x cont it/blobs[0] it/blobs[1] it/blobs[2] - - - -",
                 "y it/h_T it/c_T");
    assert_int_equal(test->graph->output_count, 1); /* states that are no tops are no outputs */
    onnx_part_free(&model);
    onnx_part_free(&plain);
}

static void test_an_rnn_takes_its_blobs_in_caffes_order(void **state) {
    static const blob_shape all[] = {{2, {6, 3}}, {1, {6}},    {2, {6, 4}},
                                     {2, {6, 6}}, {2, {6, 6}}, {1, {6}}};
    graph_test *test = *state;
    onnx_part model = make_model(TN_COUNT(all), all);
    expect_ports(
        test,
        RECURRENT("RNN", BOTTOM("x") BOTTOM("cont") BOTTOM("s") BOTTOM("h") TOP("y") TOP("last"),
                  "num_output: 6 expose_hidden: true"),
        &model, "RNN",
        "x cont it/blobs[0] it/blobs[1] it/blobs[3] it/blobs[4] it/blobs[5] s it/blobs[2] h",
        "y last");
    expect_ports(
        test, RECURRENT("RNN", BOTTOM("x") BOTTOM("cont") BOTTOM("s") TOP("y"), "num_output: 6"),
        &model, "RNN",
        "x cont it/blobs[0] it/blobs[1] it/blobs[3] it/blobs[4] it/blobs[5] s it/blobs[2] -",
        "y it/h_T");
    onnx_part_free(&model);
}

static void test_wrong_recurrent_layers_are_told_what_is_expected(void **state) {
    static const blob_shape blobs[] = {{2, {24, 3}}, {1, {24}}, {2, {24, 6}}};
    static const struct {
        const char *text, *message, *where;
    } cases[] = {
        {RECURRENT("LSTM", BOTTOM("x") TOP("y"), "num_output: 6"),
         "it has 1 bottoms; 2 are expected without expose_hidden: x, cont", "layer 'it' (line 6)"},
        {RECURRENT("LSTM", BOTTOM("x") BOTTOM("cont") BOTTOM("h") BOTTOM("c") TOP("y"),
                   "num_output: 6"),
         "it has 4 bottoms; 2 are expected without expose_hidden", "layer 'it'"},
        {RECURRENT("LSTM", BOTTOM("x") BOTTOM("cont") TOP("y") TOP("a") TOP("b"),
                   "num_output: 6 expose_hidden: true"),
         "it has 2 bottoms; 4 are expected with expose_hidden: x, cont (time steps x streams), h_0 "
         "and c_0",
         "layer 'it'"},
        {RECURRENT("RNN", BOTTOM("x") BOTTOM("cont") BOTTOM("s") BOTTOM("h") TOP("y"),
                   "num_output: 6 expose_hidden: true"),
         "it has 1 tops; 2 are expected with expose_hidden", "layer 'it'"},
        {RECURRENT("RNN", BOTTOM("x") BOTTOM("cont") TOP("y") TOP("a"), "num_output: 6"),
         "it has 2 tops; 1 is expected without expose_hidden", "layer 'it'"},
        {RECURRENT("RNN", BOTTOM("x") BOTTOM("cont") TOP("y"), ""),
         "num_output is 0; at least 1 is expected", "layer 'it'"},
        {RECURRENT("LSTM", BOTTOM("x") BOTTOM("x") TOP("y"), "num_output: 6"),
         "its bottom cont has rank 3; 2, time steps and streams, is expected", "layer 'it'"},
        {RECURRENT("LSTM",
                   BOTTOM("x") BOTTOM("cont") BOTTOM("cont") BOTTOM("c") TOP("y") TOP("a") TOP("b"),
                   "num_output: 6 expose_hidden: true"),
         "its bottom h_0 has rank 2; 3, [1, streams, num_output], is expected", "layer 'it'"},
        {RECURRENT("LSTM", BOTTOM("x") BOTTOM("cont") TOP("y"), "num_output: 5"), "[20, 3]",
         "blob 0"},
        {RECURRENT("LSTM", BOTTOM("x") BOTTOM("cont") BOTTOM("s") TOP("y"), "num_output: 6"),
         "its shape is [24, 6]; [24, 4] is expected", "blob 2"},
        {RECURRENT("RNN", BOTTOM("x") BOTTOM("cont") TOP("y"), "num_output: 24"),
         "its shape is [24, 6]; [24, 24] is expected", "blob 2"},
        {RECURRENT("RNN", BOTTOM("s") BOTTOM("cont") TOP("y"), "num_output: 24"),
         "its shape is [24, 3]; [24, 1] is expected", "blob 0"},
        {RECURRENT("RNN", BOTTOM("x") BOTTOM("cont") TOP("y"), "num_outputs: 24"),
         "no field 'num_outputs'; the nearest is 'num_output'", "layer 'it'"},
    };
    graph_test *test = *state;
    onnx_part model = make_model(TN_COUNT(blobs), blobs);
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        if (parse(test, cases[i].text, &model) == TN_OK) fail_msg("%s", cases[i].text);
        assert_error(cases[i].message, cases[i].where);
    }
    onnx_part_free(&model);
}

static void test_a_recurrent_text_cut_off_anywhere_does_no_harm(void **state) {
    graph_test *test = *state;
    const size_t length = strlen(caffe_recurrent_network);
    const int64_t live = test->allocator.live;
    size_t refused = 0;
    for (size_t bytes = 0; bytes < length; bytes++) {
        tn_graph *graph = NULL;
        char *cut = malloc(bytes + 1); /* of its own, so that a sanitizer sees where it ends */
        assert_non_null(cut);
        memcpy(cut, caffe_recurrent_network, bytes);
        refused += import_caffe(test->runtime, cut, bytes, NULL, 0, NULL, &graph) != TN_OK;
        tn_graph_destroy(graph);
        free(cut);
        assert_int_equal(test->allocator.live, live);
    }
    assert_true(refused > length * 9 / 10);
}

static void test_each_failing_allocation_of_recurrent_layers_is_an_error(void **state) {
    graph_test *test = *state;
    const int64_t live = test->allocator.live;
    for (uint64_t n = 1;; n++) {
        tn_graph *graph = NULL;
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        const tn_status status =
            import_caffe(test->runtime, caffe_recurrent_network, strlen(caffe_recurrent_network),
                         NULL, 0, NULL, &graph);
        test->allocator.fail_at = 0;
        tn_graph_destroy(graph);
        assert_int_equal(test->allocator.live, live);
        if (status == TN_OK) {
            assert_true(n > 10);
            break;
        }
        assert_int_equal(status, TN_ERROR_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_an_lstm_takes_its_blobs_in_caffes_order),
        GRAPH_TEST(test_an_rnn_takes_its_blobs_in_caffes_order),
        GRAPH_TEST(test_wrong_recurrent_layers_are_told_what_is_expected),
        GRAPH_TEST(test_a_recurrent_text_cut_off_anywhere_does_no_harm),
        GRAPH_TEST(test_each_failing_allocation_of_recurrent_layers_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
