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

/* Output 0 as the fold of any number of inputs, from the first to the last, by `text`: a function
 * of `a`, what is so far, and `b`, the next, such as "max(a, b)". Values are rounded to the
 * output's type once. `is_mean`, of floating-point tensors: the result is divided by the number of
 * inputs. */
tn_status tn_elementwise_fold(tn_call *call, const char *text, bool is_mean);

#endif
