/* SPDX-License-Identifier: Apache-2.0 */
/* What the names in an operator's expression (expression.h) stand for: its inputs, and its fields
 * as numbers. */
#ifndef TN_KIT_EXPRESSION_EXPRESSION_FIELD_H
#define TN_KIT_EXPRESSION_EXPRESSION_FIELD_H

#include "src/expression/expression.h"

#include <tenon/plugin.h>

/* The number in a field of a parameter struct; false: it holds none. */
bool tn_expression_field(const tn_field *field, const void *params, double *out_number);

/* The input port, or the field, whose name a step has; false, or null: there is none. */
bool tn_expression_find_input(const tn_expression *expression, uint32_t step, const tn_operator *op,
                              uint32_t *out_input);
const tn_field *tn_expression_find_field(const tn_expression *expression, uint32_t step,
                                         const tn_operator *op);

#endif
