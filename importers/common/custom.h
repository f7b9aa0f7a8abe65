/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of networks that name no domains and no versions (UFF, Caffe): the operator is looked for
 * in all libraries, the node's fields are fitted to the operator's table, and the outputs' shapes
 * are asked of the operator while the file is read. ONNX names all that and needs none of this; the
 * message for a missing operator is the same for all.
 */
#ifndef TN_IMPORTERS_COMMON_CUSTOM_H
#define TN_IMPORTERS_COMMON_CUSTOM_H

#include "importers/common/import.h"

/* A field as the file has it. An element type is an attribute of type TN_FIELD_TYPE with the
 * tn_type in `i` (0: one that Tenon has not). */
typedef struct tn_custom_field {
    tn_attribute value;
    bool may_be_dropped; /* where the operator has no such field, this one says nothing that it
                            needs to know (the element type of a port, the layout of the data) */
} tn_custom_field;

/* The operator that a node is of, and its fields as the operator takes them. */
typedef struct tn_custom_node {
    const tn_operator *op;
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
} tn_custom_node;

/* Finds the operator and fits the fields: names as they are; numbers, lists, texts and types as the
 * table's types ask. TN_ERROR_UNSUPPORTED: no library has it, or two have; fields that do not fit
 * are found when the node is added. Results lie in `arena`. */
tn_status tn_custom_find(tn_import *import, tn_arena *arena, const char *name, size_t field_count,
                         const tn_custom_field *fields, tn_custom_node *out_node);

/* An input of a node whose outputs' shapes are asked for. */
typedef struct tn_custom_input {
    const char *name;
    tn_type type;
    tn_shape shape;   /* -1: open until run time */
    const void *data; /* of constants: linear elements; else null */
} tn_custom_input;
/* What stands for an open extent while the operator is asked, once and once more: what differs
 * between the two answers depends on it. */
int64_t tn_custom_stand_in(uint32_t axis, bool is_second);
/* Asks the operator for types and shapes of `output_count` outputs. The node `name` is made for
 * this alone. `arena` is for what the question takes. */
tn_status tn_custom_infer(tn_import *import, tn_arena *arena, const char *name,
                          const tn_custom_node *node, bool is_second, uint32_t input_count,
                          const tn_custom_input *inputs, uint32_t output_count, tn_type *out_types,
                          tn_shape *out_shapes);

#endif
