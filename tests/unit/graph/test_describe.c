/* SPDX-License-Identifier: Apache-2.0 */
/* A graph's nodes, tensors and bodies, and where its model comes from, as structs (describe.h). */
#include "graph_test.h"

#include "base/status.h"

#include <tenon/describe.h>

static void make_network(tn_graph *graph, tn_tensor_id *out_x, tn_tensor_id *out_y) {
    static const int64_t sizes[] = {3, 2};
    tn_tensor_id shape;
    *out_x = add_input(graph, "x", TN_F32, 2, EXTENTS(-1, 3));
    assert_int_equal(
        tn_graph_add_constant(graph, "shape", TN_I64, 1, EXTENTS(2), sizes, sizeof(sizes), &shape),
        TN_OK);
    tn_tensor_id copied = add_unary(graph, "Copy", "first", *out_x);
    *out_y = add_node(graph, "Reshape", "second", 2, TENSORS(copied, shape));
    assert_int_equal(tn_graph_add_output(graph, *out_y, "y"), TN_OK);
}

static void test_nodes_and_tensors_are_enumerated(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x, y;
    make_network(graph, &x, &y);
    assert_int_equal(tn_graph_node_count(graph), 2);
    assert_int_equal(tn_graph_tensor_count(graph), 4);
    assert_int_equal(tn_graph_input_tensor(graph, 0), x);
    assert_int_equal(tn_graph_input_tensor(graph, 1), TN_NO_TENSOR);
    assert_int_equal(tn_graph_output_tensor(graph, 0), y);

    tn_node_info node = {.size = sizeof(node)};
    assert_int_equal(tn_graph_get_node(graph, 1, &node), TN_OK);
    assert_string_equal(node.name, "second");
    assert_string_equal(node.op, "Reshape");
    assert_string_equal(node.domain, "tiny");
    assert_int_equal(node.version, 1);
    assert_non_null(node.library);
    assert_int_equal(node.input_count, 2);
    assert_int_equal(node.output_count, 1);
    assert_int_equal(node.outputs[0], y);
    assert_int_equal(node.body_count, 0);

    tn_tensor_info tensor = {.size = sizeof(tensor)};
    assert_int_equal(tn_graph_get_tensor(graph, x, &tensor), TN_OK);
    assert_int_equal(tensor.is_input, 1);
    assert_int_equal(tensor.producer, TN_NO_NODE);
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.extents[0], -1);
    assert_int_equal(tn_graph_get_tensor(graph, node.inputs[1], &tensor), TN_OK);
    assert_string_equal(tensor.name, "shape");
    assert_int_equal(tensor.is_constant, 1);
    assert_int_equal(tensor.bytes, 16);
    assert_int_equal(((const int64_t *)tensor.data)[0], 3);
    assert_int_equal(tn_graph_get_tensor(graph, y, &tensor), TN_OK);
    assert_int_equal(tensor.type, TN_NONE);
    assert_int_equal(tensor.rank, UINT32_MAX);
    assert_int_equal(tensor.producer, 1);
    assert_int_equal(tensor.is_output, 1);
    assert_null(tensor.data);
}

static void test_indices_past_the_end_are_refused(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x, y;
    make_network(graph, &x, &y);
    tn_node_info node = {.size = sizeof(node), .version = 77};
    tn_tensor_info tensor = {.size = sizeof(tensor)};
    tn_body_info body = {.size = sizeof(body)};
    assert_int_equal(tn_graph_get_node(graph, 2, &node), TN_ERROR_RANGE);
    assert_error("the graph has 2", NULL);
    assert_int_equal(node.version, 77);
    assert_int_equal(tn_graph_get_tensor(graph, TN_NO_TENSOR, &tensor), TN_ERROR_RANGE);
    assert_int_equal(tn_graph_get_body(graph, 0, 0, &body), TN_ERROR_RANGE);
    assert_error("'first' has 0", NULL);
    assert_int_equal(tn_graph_get_node(graph, 0, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_get_node(NULL, 0, &node), TN_ERROR_ARGUMENT);
    node.size = 0;
    assert_int_equal(tn_graph_get_node(graph, 0, &node), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_graph_node_count(NULL), 0);
}

static void test_an_older_callers_struct_is_filled_as_far_as_it_goes(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_tensor_id x, y;
    make_network(graph, &x, &y);
    tn_node_info node = {.size = offsetof(tn_node_info, name), .name = "untouched"};
    assert_int_equal(tn_graph_get_node(graph, 0, &node), TN_OK);
    assert_string_equal(node.op, "Copy");
    assert_string_equal(node.name, "untouched");
    assert_int_equal(node.size, offsetof(tn_node_info, name));
}

static tn_model_info info_of(const tn_graph *graph) {
    tn_model_info info = {.size = sizeof(info)};
    assert_int_equal(tn_graph_get_model_info(graph, &info), TN_OK);
    return info;
}

static void test_a_graph_made_by_hand_is_described_by_its_maker(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    tn_model_info info = info_of(graph);
    assert_string_equal(info.graph_name, "net");
    assert_string_equal(info.producer_name, "");
    assert_string_equal(info.source_format, "");
    assert_int_equal(info.metadata_count, 0);

    char key[] = "classes"; /* is copied */
    const tn_metadata entries[] = {{key, "cat,dog"}, {"stride", "32"}};
    const tn_model_info given = {.size = sizeof(given),
                                 .graph_name = "renamed",
                                 .producer_name = "trainer",
                                 .doc = "finds animals",
                                 .model_version = -7,
                                 .metadata_count = 2,
                                 .metadata = entries};
    assert_int_equal(tn_graph_set_opset(graph, "tiny", 3), TN_OK);
    assert_int_equal(tn_graph_set_model_info(graph, &given), TN_OK);
    key[0] = '?';
    info = info_of(graph);
    assert_string_equal(info.graph_name, "renamed");
    assert_string_equal(info.producer_name, "trainer");
    assert_string_equal(info.producer_version, "");
    assert_string_equal(info.doc, "finds animals");
    assert_int_equal(info.model_version, -7);
    assert_int_equal(info.opset_count, 1);
    assert_string_equal(info.opsets[0].domain, "tiny");
    assert_int_equal(info.opsets[0].version, 3);
    assert_string_equal(tn_model_info_find(&info, "classes"), "cat,dog");
    assert_null(tn_model_info_find(&info, "none"));

    assert_int_equal(tn_graph_set_metadata(graph, "stride", "16"), TN_OK);
    assert_int_equal(tn_graph_set_metadata(graph, "task", "detect"), TN_OK);
    assert_int_equal(tn_graph_set_metadata(graph, "classes", NULL), TN_OK);
    assert_int_equal(tn_graph_set_metadata(graph, "never", NULL), TN_OK);
    info = info_of(graph);
    assert_int_equal(info.metadata_count, 2);
    assert_string_equal(info.metadata[0].key, "stride");
    assert_string_equal(info.metadata[0].value, "16");
    assert_string_equal(info.metadata[1].value, "detect");
}

static void test_unsound_metadata_is_refused_and_nothing_changes(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph;
    assert_int_equal(tn_graph_set_metadata(graph, "kept", "1"), TN_OK);
    const tn_metadata twice[] = {{"a", "1"}, {"a", "2"}}, empty[] = {{"", "1"}},
                      missing[] = {{"a", NULL}};
    tn_model_info given = {.size = sizeof(given), .metadata_count = 2, .metadata = twice};
    assert_int_equal(tn_graph_set_model_info(graph, &given), TN_ERROR_ARGUMENT);
    assert_error("'a' twice", NULL);
    given.metadata_count = 1;
    given.metadata = empty;
    assert_int_equal(tn_graph_set_model_info(graph, &given), TN_ERROR_ARGUMENT);
    given.metadata = missing;
    assert_int_equal(tn_graph_set_model_info(graph, &given), TN_ERROR_ARGUMENT);
    given.metadata = NULL;
    assert_int_equal(tn_graph_set_model_info(graph, &given), TN_ERROR_ARGUMENT);
    given.metadata = twice;
    given.metadata_count = TN_METADATA_MAX_COUNT + 1;
    assert_int_equal(tn_graph_set_model_info(graph, &given), TN_ERROR_RANGE);
    assert_int_equal(tn_graph_set_metadata(graph, "", "1"), TN_ERROR_ARGUMENT);
    const tn_model_info info = info_of(graph);
    assert_int_equal(info.metadata_count, 1);
    assert_string_equal(info.metadata[0].key, "kept");
}

static void test_a_copy_keeps_where_the_model_comes_from(void **state) {
    tn_graph *graph = ((graph_test *)*state)->graph, *copy = NULL;
    assert_int_equal(tn_graph_set_metadata(graph, "kept", "1"), TN_OK);
    assert_int_equal(tn_graph_copy(graph, &copy), TN_OK);
    const tn_model_info info = info_of(copy);
    assert_string_equal(tn_model_info_find(&info, "kept"), "1");
    assert_true(info.metadata != info_of(graph).metadata);
    tn_graph_destroy(copy);
}

static void test_each_failing_allocation_leaves_the_graph_as_it_was(void **state) {
    graph_test *test = *state;
    const tn_metadata entries[] = {{"a", "1"}, {"b", "2"}};
    const tn_model_info given = {
        .size = sizeof(given), .doc = "text", .metadata_count = 2, .metadata = entries};
    for (uint64_t n = 1;; n++) {
        test->allocator.allocations = 0;
        test->allocator.fail_at = n;
        tn_status status = tn_graph_set_model_info(test->graph, &given);
        if (status == TN_OK) status = tn_graph_set_metadata(test->graph, "c", "3");
        test->allocator.fail_at = 0;
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
        assert_true(info_of(test->graph).metadata_count != 1);
    }
    assert_int_equal(info_of(test->graph).metadata_count, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(test_nodes_and_tensors_are_enumerated),
        GRAPH_TEST(test_indices_past_the_end_are_refused),
        GRAPH_TEST(test_an_older_callers_struct_is_filled_as_far_as_it_goes),
        GRAPH_TEST(test_a_graph_made_by_hand_is_described_by_its_maker),
        GRAPH_TEST(test_unsound_metadata_is_refused_and_nothing_changes),
        GRAPH_TEST(test_a_copy_keeps_where_the_model_comes_from),
        GRAPH_TEST(test_each_failing_allocation_leaves_the_graph_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
