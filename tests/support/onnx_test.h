/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the ONNX reader share: parsing what onnx_writer.h made, and small models. */
#ifndef TN_TESTS_ONNX_TEST_H
#define TN_TESTS_ONNX_TEST_H

#include "graph_test.h"
#include "onnx_writer.h"

#include <tenon/import.h>

/* Parses a model into test->graph, which replaces what is there. */
static inline tn_status parse_in(graph_test *test, const onnx_part *model, const char *folder) {
    tn_graph *graph = NULL;
    tn_status status =
        tn_graph_parse_onnx(test->runtime, model->data, model->bytes, folder, &graph);
    if (status != TN_OK) {
        assert_null(graph);
        return status;
    }
    tn_graph_destroy(test->graph);
    test->graph = graph;
    return TN_OK;
}

static inline tn_status parse_and_free(graph_test *test, onnx_part *model) {
    tn_status status = parse_in(test, model, NULL);
    onnx_part_free(model);
    return status;
}

static inline void must_parse(graph_test *test, onnx_part *model) {
    if (parse_and_free(test, model) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static inline tn_tensor_id find_tensor(const tn_graph *graph, const char *name) {
    tn_tensor_id id = TN_NO_TENSOR;
    assert_int_equal(tn_graph_find(graph, name, &id), TN_OK);
    return id;
}

/* A model of one node of the tiny domain: x -> op -> y. */
static inline onnx_part one_node_model(const char *op, onnx_part attribute) {
    onnx_part graph = onnx_graph("g"), node = onnx_node(op, "n", "tiny", "x", "y");
    onnx_graph_input(&graph, "x", ONNX_F32, "N,3");
    if (attribute.bytes > 0) onnx_node_add(&node, attribute);
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    return onnx_model(&graph, "tiny", 3);
}

/* A model with a bit of everything: two inputs, an initializer, attributes of several kinds, a
 * function, values that decide a shape. */
static inline onnx_part mixed_model(void) {
    static const int64_t list[] = {2, 3};
    static const float table[] = {1, 2, 3, 4};
    onnx_part graph = onnx_graph("mixed");
    onnx_graph_input(&graph, "x", ONNX_F32, "N,3");
    onnx_graph_input(&graph, "z", ONNX_F32, "N,3");
    onnx_part w = onnx_tensor_raw("w", ONNX_I64, "2", list, sizeof(list));
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &w);
    onnx_part big = onnx_tensor("big", ONNX_F32, "40");
    float values[40] = {0};
    onnx_part_bytes(&big, 9, values, sizeof(values));
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &big);
    onnx_graph_node(&graph, "Twice", "call", "own", "x", "t");
    onnx_graph_node(&graph, "Shape", "shape", "tiny", "t", "s");
    onnx_graph_node(&graph, "Add", "sum", "tiny", "s,w", "dims");
    onnx_graph_node(&graph, "Add", "both", "tiny", "t,z", "u");
    onnx_part node = onnx_node("Fields", "fields", "tiny", "u,,w", "y,y2");
    onnx_part tensor = onnx_tensor_raw("", ONNX_F32, "4", table, sizeof(table));
    onnx_node_add(&node, onnx_attribute_tensor("table", &tensor));
    onnx_part_free(&tensor);
    onnx_node_add(&node, onnx_attribute_ints("list", 2, list));
    onnx_node_add(&node, onnx_attribute_text("text", "hello", 5));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_output(&graph, "y", ONNX_F32, "N,3");
    onnx_part model = onnx_model(&graph, "tiny", 3);
    onnx_part function = onnx_function("own", "Twice", "a", "b");
    onnx_part body = onnx_node("Add", "add", "tiny", "a,a", "b");
    onnx_part_move(&function, ONNX_FUNCTION_NODE, &body);
    onnx_part import = onnx_import("tiny", 1);
    onnx_part_move(&function, ONNX_FUNCTION_IMPORT, &import);
    onnx_part_move(&model, ONNX_MODEL_FUNCTION, &function);
    return model;
}

#endif
