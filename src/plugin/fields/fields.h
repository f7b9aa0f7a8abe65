/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields: from attributes to a node's parameter struct by the operator's table, and back: checking,
 * defaults, saving, hashing. The only code that reads and writes parameter structs.
 */
#ifndef TN_PLUGIN_FIELDS_FIELDS_H
#define TN_PLUGIN_FIELDS_FIELDS_H

#include "base/hash.h"
#include "base/text.h"
#include "tensor/shape.h"

/* Checks the table itself when an operator is registered: offsets, sizes, defaults, choices.
 * TN_ERROR_PLUGIN. */
tn_status tn_fields_check_table(const tn_operator *op);
/* Makes the parameter struct (in `arena`, 16-byte aligned, at least 8 bytes) from attributes.
 * Unknown names are refused with the nearest field's name, missing required ones by name, values by
 * range and type (TN_ERROR_ARGUMENT, TN_ERROR_RANGE, TN_ERROR_TYPE); an integer serves where a
 * float is asked for, a single number where a list is. Enums come as text or as numbers.
 * TN_FIELD_TYPE takes a tn_type as a name ("f32"). Strings and lists are copied into `arena`;
 * tensors are not. */
tn_status tn_fields_parse(tn_arena *arena, const tn_operator *op, uint64_t count,
                          const tn_attribute *const *attributes, void **out_params);
/* The given fields of a parameter struct as attributes (for saving; absent and defaulted ones are
 * left out). Everything points into the parameters or `arena`. */
tn_status tn_fields_to_attributes(tn_arena *arena, const tn_operator *op, const void *params,
                                  uint64_t *out_count, const tn_attribute *const **out_attributes);
/* A hash of all values, defaults included: the timing key's part. */
uint64_t tn_fields_hash(const tn_operator *op, const void *params);
/* Whether the same fields were given and all values are the same: numbers by their bits, lists,
 * texts and tensors by content. Graphs are the same only when they are one. */
bool tn_fields_equal(const tn_operator *op, const void *a, const void *b);
/* "kernel=[2, 2] mode=cubic", for reports. */
void tn_fields_print(const tn_operator *op, const void *params, tn_text *out_text);
const tn_field *tn_fields_at(const tn_operator *op, uint32_t index); /* null past the end */

#endif
