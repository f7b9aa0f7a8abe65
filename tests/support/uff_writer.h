/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UFF files for tests, written without any library, on the wire format of onnx_writer.h. Writes
 * whatever it is told, sound or not. The reader under test is importers/uff.
 *
 *     uff_net net = {0};
 *     uff_input(&net, "x", "1,28,28");
 *     onnx_part node = uff_node("y", "Activation", "x");
 *     uff_field_text(&node, "func", "relu");
 *     uff_add(&net, &node);
 *     uff_mark(&net, "y");
 *     onnx_part file = uff_file(&net);
 */
#ifndef TN_TESTS_UFF_WRITER_H
#define TN_TESTS_UFF_WRITER_H

#include <stdbool.h>

#include "onnx_writer.h"

enum {
    UFF_I8 = 0x10008,
    UFF_I32 = 0x10020,
    UFF_I64 = 0x10040,
    UFF_F16 = 0x20010,
    UFF_F32 = 0x20020
};

/* A network in the making: its graph, and the data that nodes refer to. */
typedef struct uff_net {
    onnx_part graph, shared;
} uff_net;

/* A node to which fields are added; inputs are joined by ','. */
onnx_part uff_node(const char *id, const char *operation, const char *inputs);
void uff_field(onnx_part *node, const char *name, const onnx_part *data); /* data as it is */
void uff_field_int(onnx_part *node, const char *name, int64_t value);
void uff_field_real(onnx_part *node, const char *name, double value);
void uff_field_bool(onnx_part *node, const char *name, bool value);
void uff_field_text(onnx_part *node, const char *name, const char *value);
void uff_field_ints(onnx_part *node, const char *name, const char *values); /* "1,2,3" */
void uff_field_type(onnx_part *node, const char *name, int64_t type);
void uff_field_reference(onnx_part *node, const char *name, const char *key);
void uff_add(uff_net *net, onnx_part *node); /* and frees it */

/* Entries of the shared data. */
void uff_shared(uff_net *net, const char *key, const onnx_part *data);
/* Dimension orders by name, joined by '_' as in the key: "N+C_+CK". Refers to them in the node. */
void uff_field_orders(uff_net *net, onnx_part *node, const char *names);

void uff_input(uff_net *net, const char *id, const char *shape);
void uff_const(uff_net *net, const char *id, int64_t type, const char *shape, const void *data,
               size_t bytes);
void uff_mark(uff_net *net, const char *names);
/* The file, version 1; frees the network. */
onnx_part uff_file(uff_net *net);

#endif
