/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX files for tests, written without any library: protocol buffers' wire format, and on top of
 * it the few messages of ONNX that tests need. Writes whatever it is told, sound or not. Ends the
 * program when there is no memory. The reader under test is importers/onnx.
 *
 *     onnx_part graph = onnx_graph("g");
 *     onnx_part node = onnx_node("Relu", "relu", "", "x", "y");
 *     onnx_part_move(&graph, ONNX_GRAPH_NODE, &node);
 *     ...
 *     onnx_part model = onnx_model(&graph, "", 21);
 */
#ifndef TN_TESTS_ONNX_WRITER_H
#define TN_TESTS_ONNX_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* A message in the making: its bytes. */
typedef struct onnx_part {
    unsigned char *data;
    size_t bytes, capacity;
} onnx_part;

/* Field numbers that the functions below do not hide. */
enum {
    ONNX_MODEL_IMPORT = 8,
    ONNX_MODEL_GRAPH = 7,
    ONNX_MODEL_FUNCTION = 25,
    ONNX_GRAPH_NODE = 1,
    ONNX_GRAPH_INITIALIZER = 5,
    ONNX_GRAPH_INPUT = 11,
    ONNX_GRAPH_OUTPUT = 12,
    ONNX_GRAPH_VALUE_INFO = 13,
    ONNX_NODE_ATTRIBUTE = 5,
    ONNX_FUNCTION_ATTRIBUTE = 6,
    ONNX_FUNCTION_NODE = 7,
    ONNX_FUNCTION_IMPORT = 9,
    ONNX_FUNCTION_DEFAULT = 11
};
/* Element types in ONNX's numbering. */
enum {
    ONNX_F32 = 1,
    ONNX_U8 = 2,
    ONNX_I8 = 3,
    ONNX_U16 = 4,
    ONNX_I16 = 5,
    ONNX_I32 = 6,
    ONNX_I64 = 7,
    ONNX_STRING = 8,
    ONNX_BOOL = 9,
    ONNX_F16 = 10,
    ONNX_F64 = 11,
    ONNX_U32 = 12,
    ONNX_U64 = 13,
    ONNX_COMPLEX64 = 14,
    ONNX_BF16 = 16
};

/* --- the wire --- */
void onnx_part_free(onnx_part *part);
void onnx_part_raw(onnx_part *part, const void *data, size_t bytes); /* bytes as they are */
void onnx_part_varint(onnx_part *part, uint64_t value);              /* without a tag */
void onnx_part_number(onnx_part *part, uint32_t field, int64_t value);
void onnx_part_float(onnx_part *part, uint32_t field, float value);
void onnx_part_bytes(onnx_part *part, uint32_t field, const void *data, size_t bytes);
void onnx_part_text(onnx_part *part, uint32_t field, const char *text);
void onnx_part_message(onnx_part *part, uint32_t field, const onnx_part *message);
void onnx_part_move(onnx_part *part, uint32_t field, onnx_part *message); /* and frees it */

/* --- messages; lists of names are joined by ',' --- */
onnx_part onnx_node(const char *op, const char *name, const char *domain, const char *inputs,
                    const char *outputs);
onnx_part onnx_attribute_int(const char *name, int64_t value);
onnx_part onnx_attribute_ints(const char *name, size_t count, const int64_t *values);
onnx_part onnx_attribute_float(const char *name, float value);
onnx_part onnx_attribute_floats(const char *name, size_t count, const float *values);
onnx_part onnx_attribute_text(const char *name, const void *data, size_t bytes);
onnx_part onnx_attribute_tensor(const char *name, const onnx_part *tensor);
onnx_part onnx_attribute_graph(const char *name, const onnx_part *graph);
/* In a function: the value of the function's attribute `wanted`. */
onnx_part onnx_attribute_reference(const char *name, const char *wanted, int type);
/* Adds an attribute to a node (or a default to a function) and frees it. */
void onnx_node_add(onnx_part *node, onnx_part attribute);

/* A tensor's type and shape ("2,3", "" for a scalar), to which data is added. */
onnx_part onnx_tensor(const char *name, int type, const char *shape);
onnx_part onnx_tensor_raw(const char *name, int type, const char *shape, const void *data,
                          size_t bytes);
/* Data in a file; `offset` and `length` may be null. */
onnx_part onnx_tensor_external(const char *name, int type, const char *shape, const char *location,
                               const char *offset, const char *length);
/* An input or output; `shape` like "N,3,?,7,=-1" (name, number, unknown, number, the name "-1");
 * null: no shape. */
onnx_part onnx_value(const char *name, int type, const char *shape);
onnx_part onnx_graph(const char *name);
onnx_part onnx_import(const char *domain, int64_t version);
onnx_part onnx_function(const char *domain, const char *name, const char *inputs,
                        const char *outputs);
/* A model with one import; frees the graph. */
onnx_part onnx_model(onnx_part *graph, const char *domain, int64_t version);

/* Adds a node, an input or output, or an initializer to a graph (a node also to a function). */
void onnx_graph_node(onnx_part *graph, const char *op, const char *name, const char *domain,
                     const char *inputs, const char *outputs);
void onnx_graph_input(onnx_part *graph, const char *name, int type, const char *shape);
void onnx_graph_output(onnx_part *graph, const char *name, int type, const char *shape);

/* Writes bytes to a file; ends the program when that fails. */
void onnx_write_file(const char *path, const void *data, size_t bytes);

#endif
