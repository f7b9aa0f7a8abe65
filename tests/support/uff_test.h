/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the UFF reader share: parsing what uff_writer.h made, and one network that has
 * something of everything. */
#ifndef TN_TESTS_UFF_TEST_H
#define TN_TESTS_UFF_TEST_H

#include "graph_test.h"
#include "import_test.h"
#include "uff_writer.h"

/* Parses a file into test->graph, which replaces what is there. */
static inline tn_status parse_uff_in(graph_test *test, const onnx_part *file,
                                     const char *const *options) {
    tn_graph *graph = NULL;
    tn_status status = import_uff(test->runtime, file->data, file->bytes, options, &graph);
    if (status != TN_OK) {
        assert_null(graph);
        return status;
    }
    tn_graph_destroy(test->graph);
    test->graph = graph;
    return TN_OK;
}

static inline tn_status parse_uff(graph_test *test, uff_net *net, const char *const *options) {
    onnx_part file = uff_file(net);
    tn_status status = parse_uff_in(test, &file, options);
    onnx_part_free(&file);
    return status;
}

static inline void must_parse_uff(graph_test *test, uff_net *net) {
    if (parse_uff(test, net, NULL) != TN_OK)
        fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

/* A node of one input and a field 'func'. */
static inline void uff_add_function(uff_net *net, const char *id, const char *operation,
                                    const char *inputs, const char *function) {
    onnx_part node = uff_node(id, operation, inputs);
    uff_field_text(&node, "func", function);
    uff_add(net, &node);
}

/* x [2, 4, 5] -> a convolution in N, H, W, C -> bias -> pool -> a library's node -> flattened ->
 * weights -> y; and a shape that is computed. Two outputs, z being the library's second. */
static inline onnx_part uff_mixed_network(void) {
    static const float values[1024] = {0.5f, -1, 2};
    static const int32_t numbers[] = {0, 1, 1, -1};
    uff_net net = {0};
    uff_mark(&net, "y,rows");
    onnx_part node = uff_node("y", "FullyConnected", "flat,w");
    uff_field_orders(&net, &node, "NC_CK");
    uff_add(&net, &node);
    node = uff_node("flat", "Flatten", "fields");
    uff_add(&net, &node);
    node = uff_node("fields", "_Fields", "pool");
    uff_field_int(&node, "number_u_int", 5);
    uff_field_real(&node, "factor_u_float", 1.5);
    uff_field_text(&node, "text", "b'plain'");
    uff_field_type(&node, "to", UFF_F16);
    uff_field_ints(&node, "list", "1,2,3");
    uff_field_type(&node, "T", UFF_F32);
    uff_add(&net, &node);
    node = uff_node("pool", "Pool", "biased");
    uff_field_text(&node, "func", "max");
    uff_field_ints(&node, "kernel", "2,2");
    uff_field_ints(&node, "strides", "1,1");
    uff_field_orders(&net, &node, "N+C");
    uff_add(&net, &node);
    uff_add_function(&net, "biased", "Binary", "conv,b", "add");
    node = uff_node("conv", "Conv", "x,k");
    uff_field_orders(&net, &node, "N+C_+CK");
    uff_field_ints(&node, "strides", "1,1");
    uff_field_text(&node, "implicit_padding", "same");
    uff_add(&net, &node);
    uff_const(&net, "k", UFF_F32, "3,3,2,3", values, 54 * sizeof(float));
    uff_const(&net, "b", UFF_F32, "3", values, 3 * sizeof(float));
    uff_const(&net, "w", UFF_F32, "36,4", values, 144 * sizeof(float));
    node = uff_node("rows", "Reshape", "pool,new");
    uff_add(&net, &node);
    node = uff_node("new", "Stack", "batch,left");
    uff_field_int(&node, "axis", 0);
    uff_add(&net, &node);
    node = uff_node("batch", "StridedSlice", "shape,zero,one,one");
    uff_field_int(&node, "shrink_axis_mask", 1);
    uff_add(&net, &node);
    node = uff_node("shape", "Shape", "pool");
    uff_add(&net, &node);
    uff_const(&net, "zero", UFF_I32, "1", &numbers[0], sizeof(int32_t));
    uff_const(&net, "one", UFF_I32, "1", &numbers[1], sizeof(int32_t));
    uff_const(&net, "left", UFF_I32, "", &numbers[3], sizeof(int32_t));
    uff_input(&net, "x", "2,4,5");
    return uff_file(&net);
}

#endif
