/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of an operator as numbers, for the names in its expression (expression.h). */
#ifndef TN_LAYERS_EXPRESSION_FIELD_H
#define TN_LAYERS_EXPRESSION_FIELD_H

#include <tenon/plugin.h>

/* The number in a field of a parameter struct; false: it holds none. */
bool tn_expression_field(const tn_field *field, const void *params, double *out_number);

#endif
