/* SPDX-License-Identifier: Apache-2.0 */
/* What an ONNX file says of itself and of its tensors, as a graph describes it (describe.h). */
#include "onnx_test.h"

#include <stdlib.h>
#include <tenon/describe.h>

static void add_entry(onnx_part *model, const char *key, const char *value) {
    onnx_part entry = {0};
    if (key) onnx_part_text(&entry, 1, key);
    if (value) onnx_part_text(&entry, 2, value);
    onnx_part_move(model, 14, &entry);
}

static onnx_part described_model(void) {
    onnx_part graph = onnx_graph("g");
    onnx_graph_input(&graph, "x", ONNX_F32, "N,3");
    onnx_graph_node(&graph, "Copy", "first", "tiny", "x", "a");
    onnx_graph_node(&graph, "Copy", "second", "tiny", "a", "y");
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    onnx_part value = onnx_value("a", ONNX_F32, "N,3");
    onnx_part_move(&graph, ONNX_GRAPH_VALUE_INFO, &value);
    onnx_part model = onnx_model(&graph, "tiny", 3);
    onnx_part_text(&model, 2, "pytorch");
    onnx_part_text(&model, 3, "2.9");
    onnx_part_text(&model, 4, "com.example");
    onnx_part_number(&model, 5, 12);
    onnx_part_text(&model, 6, "finds animals");
    return model;
}

static tn_model_info info_of(const graph_test *test) {
    tn_model_info info = {.size = sizeof(info)};
    assert_int_equal(tn_graph_get_model_info(test->graph, &info), TN_OK);
    return info;
}

static void test_a_models_description_is_kept(void **state) {
    graph_test *test = *state;
    onnx_part model = described_model();
    add_entry(&model, "names", "{0: 'cat'}");
    add_entry(&model, "empty", NULL);
    must_parse(test, &model);
    const tn_model_info info = info_of(test);
    assert_string_equal(info.source_format, "onnx");
    assert_string_equal(info.graph_name, "g");
    assert_string_equal(info.producer_name, "pytorch");
    assert_string_equal(info.producer_version, "2.9");
    assert_string_equal(info.domain, "com.example");
    assert_string_equal(info.doc, "finds animals");
    assert_int_equal(info.model_version, 12);
    assert_int_equal(info.opset_count, 1);
    assert_string_equal(info.opsets[0].domain, "tiny");
    assert_int_equal(info.opsets[0].version, 3);
    assert_int_equal(info.metadata_count, 2);
    assert_string_equal(tn_model_info_find(&info, "names"), "{0: 'cat'}");
    assert_string_equal(tn_model_info_find(&info, "empty"), "");
}

static void test_metadata_that_is_unsound_or_too_much_is_left_out(void **state) {
    graph_test *test = *state;
    onnx_part model = described_model();
    add_entry(&model, "first", "1");
    add_entry(&model, "first", "2");
    add_entry(&model, NULL, "no key");
    for (int i = 0; i < TN_METADATA_MAX_COUNT + 5; i++) {
        char key[32];
        snprintf(key, sizeof(key), "key %d", i);
        add_entry(&model, key, "v");
    }
    must_parse(test, &model);
    const tn_model_info info = info_of(test);
    assert_int_equal(info.metadata_count, TN_METADATA_MAX_COUNT);
    assert_string_equal(info.metadata[0].value, "1");
    assert_string_equal(info.metadata[1].key, "key 0");
}

static void test_tensors_between_nodes_are_as_declared(void **state) {
    graph_test *test = *state;
    onnx_part model = described_model();
    must_parse(test, &model);
    tn_tensor_info tensor = {.size = sizeof(tensor)};
    assert_int_equal(tn_graph_get_tensor(test->graph, find_tensor(test->graph, "a"), &tensor),
                     TN_OK);
    assert_int_equal(tensor.type, TN_F32);
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.extents[0], -1);
    assert_int_equal(tensor.extents[1], 3);
    assert_int_equal(tensor.producer, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_a_models_description_is_kept),
        GRAPH_TEST(test_metadata_that_is_unsound_or_too_much_is_left_out),
        GRAPH_TEST(test_tensors_between_nodes_are_as_declared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
