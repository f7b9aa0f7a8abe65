/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions that one function of rows.h computes whole: faster than their steps, and with more
 * digits where steps lose some. */
#ifndef TN_KIT_ELEMENTWISE_ROW_PATTERN_H
#define TN_KIT_ELEMENTWISE_ROW_PATTERN_H

#include "src/expression/expression.h"

typedef struct tn_row_pattern {
    bool is_combine; /* of x and b; else a map of x */
    uint32_t function;
    uint32_t x, alpha, beta, b; /* steps that are these names; UINT32_MAX: it has none */
} tn_row_pattern;

/* Steps are compared one by one. Names may be any, as long as equal ones stand for equal ones: for
 * tensors where the pattern has x or b, for numbers where it has alpha or beta. `is_number` says
 * for each step that is a name which it is. */
bool tn_row_pattern_find(const tn_expression *expression, const bool *is_number,
                         tn_row_pattern *out_pattern);

#endif
