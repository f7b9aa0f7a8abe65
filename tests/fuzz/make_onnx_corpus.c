/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the ONNX fuzz target into a folder: small models, each with another part of
 * the format or another kind of operator, so that a fuzzer starts from what is sound.
 *
 *     make_onnx_corpus FOLDER
 */
#include <stdio.h>

#include "onnx_writer.h"

static const char *folder;
static int made;

static void save(onnx_part *model, const char *name) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.onnx", folder, name);
    onnx_write_file(path, model->data, model->bytes);
    onnx_part_free(model);
    made++;
}

static void save_graph(onnx_part *graph, int64_t opset, const char *name) {
    onnx_part model = onnx_model(graph, "", opset);
    save(&model, name);
}

static void add_i64s(onnx_part *graph, const char *name, size_t count, const int64_t *values) {
    char shape[16];
    snprintf(shape, sizeof(shape), "%zu", count);
    onnx_part tensor = onnx_tensor_raw(name, ONNX_I64, shape, values, count * sizeof(*values));
    onnx_part_move(graph, ONNX_GRAPH_INITIALIZER, &tensor);
}

static void add_zeros(onnx_part *graph, const char *name, const char *shape, size_t count) {
    static const float zeros[256];
    onnx_part tensor = onnx_tensor_raw(name, ONNX_F32, shape, zeros, count * sizeof(float));
    onnx_part_move(graph, ONNX_GRAPH_INITIALIZER, &tensor);
}

/* Operators with one input and no attributes, one model each. */
static void write_unary(void) {
    static const char *const ops[] = {"Relu",      "Sigmoid",    "Tanh",      "Exp",
                                      "Sqrt",      "Erf",        "Softmax",   "Flatten",
                                      "Shape",     "Identity",   "Squeeze",   "Transpose",
                                      "Clip",      "Dropout",    "LeakyRelu", "Gelu",
                                      "HardSwish", "ReduceMean", "ReduceSum", "GlobalAveragePool"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        onnx_part graph = onnx_graph("unary");
        onnx_graph_input(&graph, "x", ONNX_F32, "N,3,1,4");
        onnx_graph_node(&graph, ops[i], "n", "", "x", "y");
        onnx_graph_output(&graph, "y", ONNX_F32, NULL);
        save_graph(&graph, 21, ops[i]);
    }
}

static void write_binary(void) {
    static const char *const ops[] = {"Add", "Sub", "Mul", "Div", "Pow", "Equal", "MatMul"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        onnx_part graph = onnx_graph("binary");
        onnx_graph_input(&graph, "a", ONNX_F32, "2,N,N");
        onnx_graph_input(&graph, "b", ONNX_F32, "N,N");
        onnx_graph_node(&graph, ops[i], "n", "", "a,b", "y");
        onnx_graph_output(&graph, "y", ONNX_F32, NULL);
        save_graph(&graph, 17, ops[i]);
    }
}

/* Operators whose second input is a list of integers. */
static void write_with_list(void) {
    static const struct {
        const char *op;
        size_t count;
        int64_t values[8];
    } ops[] = {{"Reshape", 2, {0, -1}},  {"Expand", 3, {2, 2, 3}}, {"Unsqueeze", 2, {0, 1}},
               {"Split", 2, {1, 1}},     {"Gather", 2, {1, 0}},    {"ReduceSum", 1, {1}},
               {"Pad", 4, {1, 0, 0, 1}}, {"Squeeze", 1, {0}},      {"Tile", 2, {2, 1}}};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        onnx_part graph = onnx_graph("list");
        char name[32];
        onnx_graph_input(&graph, "x", ONNX_F32, "2,3");
        add_i64s(&graph, "list", ops[i].count, ops[i].values);
        onnx_graph_node(&graph, ops[i].op, "n", "", "x,list", "y");
        onnx_graph_output(&graph, "y", ONNX_F32, NULL);
        snprintf(name, sizeof(name), "list_%s", ops[i].op);
        save_graph(&graph, 18, name);
    }
}

static void write_windows(void) {
    static const char *const ops[] = {"Conv", "ConvTranspose", "MaxPool", "AveragePool"};
    static const int64_t twos[] = {2, 2}, pads[] = {1, 0, 1, 0};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        onnx_part graph = onnx_graph("window");
        int has_weights = i < 2;
        onnx_graph_input(&graph, "x", ONNX_F32, "N,2,H,W");
        if (has_weights) add_zeros(&graph, "w", "2,2,2,2", 16);
        onnx_part node = onnx_node(ops[i], "n", "", has_weights ? "x,w" : "x", "y");
        onnx_node_add(&node, onnx_attribute_ints("kernel_shape", 2, twos));
        onnx_node_add(&node, onnx_attribute_ints("strides", 2, twos));
        onnx_node_add(&node, onnx_attribute_ints("pads", 4, pads));
        onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
        onnx_graph_output(&graph, "y", ONNX_F32, NULL);
        save_graph(&graph, 11, ops[i]);
    }
}

/* Values that decide shapes, through several nodes. */
static void write_shape_chain(void) {
    static const int64_t first[] = {0}, tail[] = {-1};
    onnx_part graph = onnx_graph("chain");
    onnx_graph_input(&graph, "x", ONNX_F32, "N,3,4");
    add_i64s(&graph, "first", 1, first);
    add_i64s(&graph, "tail", 1, tail);
    onnx_graph_node(&graph, "Shape", "shape", "", "x", "s");
    onnx_graph_node(&graph, "Gather", "gather", "", "s,first", "n");
    onnx_part node = onnx_node("Concat", "concat", "", "n,tail", "dims");
    onnx_node_add(&node, onnx_attribute_int("axis", 0));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_node(&graph, "Reshape", "reshape", "", "x,dims", "y");
    onnx_graph_output(&graph, "y", ONNX_F32, "N,12");
    save_graph(&graph, 13, "shape_chain");
}

static void write_constants(void) {
    static const float numbers[] = {1, 2};
    onnx_part graph = onnx_graph("constants");
    onnx_part tensor = onnx_tensor_raw("", ONNX_F32, "2", numbers, sizeof(numbers));
    onnx_part node = onnx_node("Constant", "c", "", "", "y");
    onnx_node_add(&node, onnx_attribute_tensor("value", &tensor));
    onnx_part_free(&tensor);
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    node = onnx_node("Cast", "cast", "", "y", "z");
    onnx_node_add(&node, onnx_attribute_int("to", ONNX_F16));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    node = onnx_node("ConstantOfShape", "fill", "", "size", "filled");
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_input(&graph, "size", ONNX_I64, "2");
    onnx_graph_output(&graph, "z", ONNX_F16, NULL);
    onnx_graph_output(&graph, "filled", ONNX_F32, NULL);
    save_graph(&graph, 13, "constants");
}

/* Every element type as an initializer, in raw bytes and in numbers. */
static void write_tensors(void) {
    onnx_part graph = onnx_graph("tensors");
    for (int type = ONNX_F32; type <= ONNX_BF16; type++) {
        char name[16];
        static const int bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2};
        if (bytes[type] == 0) continue;
        snprintf(name, sizeof(name), "t%d", type);
        onnx_part raw = onnx_tensor_raw(name, type, "2", "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0",
                                        (size_t)bytes[type] * 2);
        onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &raw);
    }
    onnx_part list = onnx_tensor("numbers", ONNX_I32, "3");
    onnx_part_bytes(&list, 5, "\1\2\3", 3);
    onnx_part_move(&graph, ONNX_GRAPH_INITIALIZER, &list);
    onnx_graph_output(&graph, "numbers", ONNX_I32, "3");
    save_graph(&graph, 21, "tensors");
}

static void write_function(void) {
    onnx_part graph = onnx_graph("calls");
    onnx_graph_input(&graph, "x", ONNX_F32, "2,3");
    onnx_part call = onnx_node("Leak", "call", "own", "x", "y");
    onnx_node_add(&call, onnx_attribute_float("slope", 0.5f));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &call);
    onnx_graph_node(&graph, "Leak", "again", "own", "y", "z");
    onnx_graph_output(&graph, "z", ONNX_F32, NULL);
    onnx_part model = onnx_model(&graph, "", 16);
    onnx_part function = onnx_function("own", "Leak", "a", "b");
    onnx_part fallback = onnx_attribute_float("slope", 0.1f), import = onnx_import("", 16);
    onnx_part_move(&function, ONNX_FUNCTION_DEFAULT, &fallback);
    onnx_part_move(&function, ONNX_FUNCTION_IMPORT, &import);
    onnx_part body = onnx_node("LeakyRelu", "leak", "", "a", "b");
    onnx_node_add(&body, onnx_attribute_reference("alpha", "slope", 1));
    onnx_part_move(&function, ONNX_FUNCTION_NODE, &body);
    onnx_part_move(&model, ONNX_MODEL_FUNCTION, &function);
    save(&model, "function");
}

/* The tiny operators that the target registers: all kinds of fields and ports. */
static void write_tiny(void) {
    static const int64_t list[] = {2, 3};
    onnx_part graph = onnx_graph("tiny");
    onnx_graph_input(&graph, "x", ONNX_F32, "2,3");
    add_i64s(&graph, "list", 2, list);
    onnx_graph_node(&graph, "NonZero", "indices", "tiny", "list", "indices");
    onnx_graph_node(&graph, "Shape", "shape", "tiny", "x", "shape");
    onnx_graph_node(&graph, "Join", "join", "tiny", "shape", "dims");
    onnx_graph_node(&graph, "Reshape", "reshape", "tiny", "x,dims", "v");
    onnx_part node = onnx_node("Fields", "fields", "tiny", "v,,list", "y,z");
    onnx_node_add(&node, onnx_attribute_ints("list", 2, list));
    onnx_node_add(&node, onnx_attribute_text("text", "abc", 3));
    onnx_node_add(&node, onnx_attribute_text("mode", "fast", 4));
    onnx_node_add(&node, onnx_attribute_int("to", ONNX_F16));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    onnx_part model = onnx_model(&graph, "tiny", 3);
    save(&model, "tiny");
}

/* A body that adds `k`, which is the outer graph's, to `v`; a loop's has a condition, too. */
static onnx_part body(int is_loop) {
    onnx_part graph = onnx_graph("body");
    if (is_loop) {
        onnx_graph_input(&graph, "i", ONNX_I64, "");
        onnx_graph_input(&graph, "go", ONNX_BOOL, "");
        onnx_graph_node(&graph, "Identity", "goes", "", "go", "go_out");
        onnx_graph_output(&graph, "go_out", ONNX_BOOL, NULL);
    }
    onnx_graph_input(&graph, "v", ONNX_F32, NULL);
    onnx_graph_input(&graph, "s", ONNX_F32, NULL);
    onnx_graph_node(&graph, "Add", "adds", "", "v,s", "sum");
    onnx_graph_node(&graph, "Add", "adds_k", "", "sum,k", "v_out");
    onnx_graph_output(&graph, "v_out", ONNX_F32, NULL);
    onnx_graph_output(&graph, is_loop ? "s" : "sum", ONNX_F32, NULL);
    onnx_graph_output(&graph, "sum", ONNX_F32, NULL);
    return graph;
}

static void save_outer(onnx_part *node, const char *name) {
    static const int64_t count[] = {3};
    onnx_part graph = onnx_graph("outer");
    onnx_graph_input(&graph, "x", ONNX_F32, "3,N");
    onnx_graph_input(&graph, "c", ONNX_BOOL, "");
    onnx_graph_input(&graph, "k", ONNX_F32, "");
    add_i64s(&graph, "n", 1, count);
    add_zeros(&graph, "w", "3", 3);
    onnx_part_move(&graph, ONNX_GRAPH_NODE, node);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    save_graph(&graph, 17, name);
}

static onnx_part branch(const char *op) {
    onnx_part graph = onnx_graph(op);
    onnx_graph_node(&graph, op, "branch", "", "x,k", "r");
    onnx_graph_output(&graph, "r", ONNX_F32, NULL);
    return graph;
}

/* Graphs in attributes, with what they capture, and one in another. */
static void write_bodies(void) {
    static const int64_t backward[] = {1}, axes[] = {1};
    onnx_part first = branch("Add"), second = branch("Mul");
    onnx_part node = onnx_node("If", "if", "", "c", "y");
    onnx_node_add(&node, onnx_attribute_graph("then_branch", &first));
    onnx_node_add(&node, onnx_attribute_graph("else_branch", &second));
    save_outer(&node, "if");
    onnx_part loop = body(1);
    node = onnx_node("Loop", "loop", "", "n,c,x,x", "y,z,stacked");
    onnx_node_add(&node, onnx_attribute_graph("body", &loop));
    save_outer(&node, "loop");
    onnx_part scan = body(0);
    node = onnx_node("Scan", "scan", "", "w,x", "y,stacked,sums");
    onnx_node_add(&node, onnx_attribute_graph("body", &scan));
    onnx_node_add(&node, onnx_attribute_int("num_scan_inputs", 1));
    onnx_node_add(&node, onnx_attribute_ints("scan_input_axes", 1, axes));
    onnx_node_add(&node, onnx_attribute_ints("scan_input_directions", 1, backward));
    save_outer(&node, "scan");
    onnx_part_free(&first);
    onnx_part_free(&second);
    onnx_part_free(&loop);
    onnx_part_free(&scan);
}

static void write_lists(void) {
    static const int64_t sizes[] = {1, 2}, last[] = {-1};
    onnx_part graph = onnx_graph("lists");
    onnx_graph_input(&graph, "x", ONNX_F32, "3,N");
    add_i64s(&graph, "sizes", 2, sizes);
    add_i64s(&graph, "last", 1, last);
    onnx_graph_node(&graph, "SplitToSequence", "split", "", "x,sizes", "s");
    onnx_graph_node(&graph, "SequenceAt", "at", "", "s,last", "a");
    onnx_graph_node(&graph, "SequenceInsert", "insert", "", "s,a", "t");
    onnx_part node = onnx_node("ConcatFromSequence", "concat", "", "t", "y");
    onnx_node_add(&node, onnx_attribute_int("axis", 0));
    onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    save_graph(&graph, 17, "lists");
}

/* Of the initializers, field 15 has the sparse ones: values, indices, extents. */
static void write_sparse(void) {
    static const float values[] = {2, 3};
    static const int64_t indices[] = {1, 4};
    onnx_part graph = onnx_graph("sparse");
    onnx_part sparse = {0};
    onnx_part part = onnx_tensor_raw("w", ONNX_F32, "2", values, sizeof(values));
    onnx_part_move(&sparse, 1, &part);
    part = onnx_tensor_raw("", ONNX_I64, "2", indices, sizeof(indices));
    onnx_part_move(&sparse, 2, &part);
    onnx_part_number(&sparse, 3, 2);
    onnx_part_number(&sparse, 3, 3);
    onnx_graph_input(&graph, "x", ONNX_F32, "2,3");
    onnx_part_move(&graph, 15, &sparse);
    onnx_graph_node(&graph, "Add", "add", "", "x,w", "y");
    onnx_graph_output(&graph, "y", ONNX_F32, NULL);
    save_graph(&graph, 13, "sparse");
}

int main(int argument_count, char **arguments) {
    if (argument_count != 2) {
        fprintf(stderr, "usage: make_onnx_corpus FOLDER\n");
        return 2;
    }
    folder = arguments[1];
    write_unary();
    write_binary();
    write_with_list();
    write_windows();
    write_shape_chain();
    write_constants();
    write_tensors();
    write_function();
    write_tiny();
    write_bodies();
    write_lists();
    write_sparse();
    printf("%d models in %s\n", made, folder);
    return 0;
}
