/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the UFF fuzz target into a folder: small networks, each with another
 * operation, as bytes and as text, so that a fuzzer starts from what is sound.
 *
 *     make_uff_corpus FOLDER
 */
#include <stdio.h>
#include <string.h>

#include "importers/uff/uff.pb-c.h"
#include "prototext_writer.h"
#include "uff_test.h"

static const char *folder;
static int made;

static void save(onnx_part *file, const char *name) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.uff", folder, name);
    onnx_write_file(path, file->data, file->bytes);
    size_t bytes = 0;
    char *text =
        prototext_write(&tenon__uff__meta_graph__descriptor, file->data, file->bytes, &bytes);
    snprintf(path, sizeof(path), "%s/%s.pbtxt", folder, name);
    onnx_write_file(path, text, bytes);
    free(text);
    onnx_part_free(file);
    made += 2;
}

/* x [-1, 4, 5, 3] -> node -> y */
static void save_node(uff_net *net, onnx_part *node, const char *name) {
    uff_add(net, node);
    uff_input(net, "x", "-1,4,5,3");
    uff_mark(net, "y");
    onnx_part file = uff_file(net);
    save(&file, name);
}

static void write_functions(void) {
    static const char *const rows[][2] = {{"Unary", "rsqrt"},        {"Unary", "square"},
                                          {"Unary", "neg"},          {"Activation", "relu6"},
                                          {"Activation", "relu"},    {"Activation", "softsign"},
                                          {"Activation", "softplus"}};
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        uff_net net = {0};
        onnx_part node = uff_node("y", rows[i][0], "x");
        uff_field_text(&node, "func", rows[i][1]);
        save_node(&net, &node, rows[i][1]);
    }
}

/* Operations with one field of integers, or none. */
static void write_shapes(void) {
    static const struct {
        const char *operation, *field, *values;
    } rows[] = {{"Transpose", "permutation", "0,3,1,2"},
                {"Squeeze", "axes", ""},
                {"Flatten", NULL, NULL},
                {"Shape", NULL, NULL},
                {"Identity", NULL, NULL}};
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        uff_net net = {0};
        onnx_part node = uff_node("y", rows[i].operation, "x");
        if (rows[i].field) uff_field_ints(&node, rows[i].field, rows[i].values);
        save_node(&net, &node, rows[i].operation);
    }
}

static void write_axes(void) {
    static const char *const operations[] = {"ArgMax",     "ArgMin", "Softmax",
                                             "ExpandDims", "Concat", "Stack"};
    for (size_t i = 0; i < TN_COUNT(operations); i++) {
        uff_net net = {0};
        onnx_part node = uff_node("y", operations[i], i < 4 ? "x" : "x,x");
        uff_field_int(&node, "axis", -1);
        save_node(&net, &node, operations[i]);
    }
}

static void write_windows(void) {
    static const float values[54];
    uff_net net = {0};
    onnx_part node = uff_node("y", "Pool", "x");
    uff_field_text(&node, "func", "avg");
    uff_field_ints(&node, "kernel", "2,2");
    uff_field_ints(&node, "strides", "2,1");
    uff_field_ints(&node, "padding", "1,0");
    uff_field_orders(&net, &node, "N+C");
    save_node(&net, &node, "pool");
    static const int32_t extents[] = {1, 8, 10, 2};
    node = uff_node("y", "ConvTranspose", "x,k,s");
    uff_field_ints(&node, "strides", "2,2");
    uff_field_text(&node, "implicit_padding", "same");
    uff_field_orders(&net, &node, "N+C_+KC");
    uff_const(&net, "k", UFF_F32, "3,3,2,3", values, sizeof(values));
    uff_const(&net, "s", UFF_I32, "4", extents, sizeof(extents));
    save_node(&net, &node, "conv_transpose");
    node = uff_node("y", "Conv", "x,k");
    uff_field_int(&node, "number_groups", 3);
    uff_field_ints(&node, "dilation", "1,2");
    uff_field_orders(&net, &node, "N+C_+CK");
    uff_const(&net, "k", UFF_F32, "3,3,3,2", values, sizeof(values));
    save_node(&net, &node, "depthwise");
    node = uff_node("y", "LRN", "x");
    uff_field_int(&node, "window_size", 2);
    uff_field_real(&node, "alpha", 0.5);
    uff_field_orders(&net, &node, "N+C");
    save_node(&net, &node, "lrn");
}

static void write_normalisation(void) {
    static const float ones[] = {1, 1, 1};
    uff_net net = {0};
    onnx_part node = uff_node("y", "BatchNorm", "x,a,a,a,a");
    uff_field_real(&node, "epsilon", 0.5);
    uff_field_orders(&net, &node, "N+C");
    uff_const(&net, "a", UFF_F32, "3", ones, sizeof(ones));
    save_node(&net, &node, "batch_norm");
    node = uff_node("y", "Reduce", "x");
    uff_field_text(&node, "func", "mean");
    uff_field_ints(&node, "axes", "1,2");
    uff_field_bool(&node, "keepdims", false);
    save_node(&net, &node, "reduce");
    node = uff_node("y", "Binary", "a,x");
    uff_field_text(&node, "func", "sub");
    uff_const(&net, "a", UFF_F32, "3", ones, sizeof(ones));
    save_node(&net, &node, "binary");
}

static void write_lists(void) {
    static const int32_t numbers[] = {0, 0, 1, 2, 3, 0, 0, 0, 1, 1, 1, 1};
    uff_net net = {0};
    onnx_part node = uff_node("y", "Pad", "x,p");
    uff_const(&net, "p", UFF_I32, "4,2", numbers, 8 * sizeof(int32_t));
    save_node(&net, &node, "pad");
    node = uff_node("y", "StridedSlice", "x,b,e,s");
    uff_const(&net, "b", UFF_I32, "4", numbers + 5, 4 * sizeof(int32_t));
    uff_const(&net, "e", UFF_I32, "4", numbers + 1, 4 * sizeof(int32_t));
    uff_const(&net, "s", UFF_I32, "4", numbers + 8, 4 * sizeof(int32_t));
    uff_field_int(&node, "begin_mask", 1);
    uff_field_int(&node, "end_mask", 5);
    uff_field_int(&node, "shrink_axis_mask", 8);
    save_node(&net, &node, "strided_slice");
    node = uff_node("y", "GatherV2", "x,i");
    uff_field_int(&node, "axis", 2);
    uff_const(&net, "i", UFF_I32, "3", numbers, 3 * sizeof(int32_t));
    save_node(&net, &node, "gather");
    static const double doubles[] = {1, 0.5, 2};
    node = uff_node("y", "Binary", "x,c");
    uff_field_text(&node, "func", "mul");
    uff_const(&net, "c", 7, "3", doubles, sizeof(doubles));
    save_node(&net, &node, "unnamed_type");
    node = uff_node("y", "StridedSlice", "x,e,e,s");
    uff_field_int(&node, "shrink_axis_mask", 1);
    uff_const(&net, "s", UFF_I32, "4", numbers + 8, 4 * sizeof(int32_t));
    uff_add(&net, &node);
    node = uff_node("e", "Shape", "x");
    save_node(&net, &node, "open_bounds");
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    folder = argv[1];
    onnx_part mixed = uff_mixed_network();
    save(&mixed, "mixed");
    write_functions();
    write_shapes();
    write_axes();
    write_windows();
    write_normalisation();
    write_lists();
    printf("%d seeds\n", made);
    return 0;
}
