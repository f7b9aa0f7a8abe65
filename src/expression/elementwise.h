/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks of elementwise operators that are their expression (expression.h): the shape rule and
 * the reference. What else such an operator lacks is filled in when it is registered
 * (src/plugin/fields/elementwise_tables.h).
 */
#ifndef TN_EXPRESSION_ELEMENTWISE_H
#define TN_EXPRESSION_ELEMENTWISE_H

#include <tenon/plugin.h>

/* Output 0 has the shape of all inputs broadcast with each other. */
tn_status tn_elementwise_infer(tn_call *call) TN_NOEXCEPT;

/* Output 0 by call->op->expression. */
tn_status tn_elementwise_reference(tn_call *call) TN_NOEXCEPT;

/* The same by `text`, over the names of the operator's ports and fields. */
typedef struct tn_elementwise_view {
    const char *text;
    uint32_t rank;        /* input 1 in another shape of as many elements */
    const int64_t *shape; /* null: in its own */
} tn_elementwise_view;
tn_status tn_elementwise_compute(tn_call *call, const tn_elementwise_view *view);

#endif
