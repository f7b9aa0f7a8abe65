/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations: the text of a kernel's table, parsed, and matched against a node's types. Grammar:
 * tenon/plugin.h. */
#ifndef TN_PLUGIN_FIELDS_COMBINATION_H
#define TN_PLUGIN_FIELDS_COMBINATION_H

#include "tensor/shape.h"

/* Types of ports as combinations name them: element types, and these two for 8-bit integers with
 * scales, which stand for floating-point values. Beyond all numbers of element types that there
 * will be. */
enum { TN_STORED_QI8 = 62, TN_STORED_QU8 = 63 };

typedef struct tn_combination_port {
    tn_type_set types;
    tn_format format;
    bool is_optional;
    bool is_every;   /* '*': the group any, perhaps strings, none of those two */
    bool is_strided; /* its rows may lie apart */
    bool is_counted; /* it may have a count */
} tn_combination_port;
typedef struct tn_combination {
    const char *text; /* lent */
    uint32_t input_count, output_count;
    bool inputs_repeat, outputs_repeat; /* the last port repeats */
    const tn_combination_port *inputs, *outputs;
} tn_combination;
/* That of a kernel without a table: linear, all types of the group any, so no strings. */
#define TN_COMBINATION_ANY "*?... -> *?..."
/* The texts with lists of formats (f32:linear|nhwc) written out, one format a port; in `arena`
 * where there are such, else the same. TN_ERROR_PLUGIN: more than `most`. */
tn_status tn_combination_expand(tn_arena *arena, const char *const *texts, uint32_t count,
                                uint32_t most, const char *const **out_texts, uint32_t *out_count);
/* Parses one; arrays in `arena`; groups and '*' as in the minor version `minor` of the plugin ABI.
 * TN_ERROR_PLUGIN with the column. */
tn_status tn_combination_parse(tn_arena *arena, const char *text, uint32_t minor,
                               tn_combination *out_combination);
/* Whether it fits a node: `types[i]` TN_NONE for an absent port, TN_STORED_... for quantised
 * floats. */
bool tn_combination_matches(const tn_combination *combination, uint32_t input_count,
                            const tn_type *input_types, uint32_t output_count,
                            const tn_type *output_types);
const tn_combination_port *tn_combination_input(const tn_combination *combination,
                                                uint32_t index); /* null past the end */
const tn_combination_port *tn_combination_output(const tn_combination *combination, uint32_t index);

#endif
