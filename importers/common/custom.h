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

/* Finds the operator and fits the fields: names as they are; numbers, lists, texts and types as the
 * table's types ask. TN_ERROR_UNSUPPORTED: no library has it, or two have; fields that do not fit
 * are found when the node is added. Results lie in `arena`. */
tn_status tn_custom_find(tn_import *import, tn_arena *arena, const char *name, size_t field_count,
                         const tn_custom_field *fields, const tn_operator **out_op,
                         uint64_t *out_attribute_count, const tn_attribute *const **out_attributes);

/* An input of a node whose outputs' shapes are asked for. */
typedef struct tn_custom_input {
    const char *name;
    tn_type type;
    tn_shape shape;   /* all extents known */
    const void *data; /* of constants: linear elements; else null */
} tn_custom_input;
/* Asks the operator for types and shapes of `output_count` outputs. The node is made for this
 * alone. `arena` is for what the question takes. */
tn_status tn_custom_infer(tn_import *import, tn_arena *arena, const char *name,
                          const tn_operator *op, uint64_t attribute_count,
                          const tn_attribute *const *attributes, uint32_t input_count,
                          const tn_custom_input *inputs, uint32_t output_count, tn_type *out_types,
                          tn_shape *out_shapes);

#endif
