/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators of one input: the shape rule, and the reference made from one scalar
 * function. Operators of two inputs: broadcast.h.
 */
#ifndef TN_KIT_ELEMENTWISE_UNARY_H
#define TN_KIT_ELEMENTWISE_UNARY_H

#include "kit/operator/known_steps.h"

/* Output 0 has the shape of input 0. */
tn_status tn_unary_infer(tn_call *call) TN_NOEXCEPT;

/* A function of one number; `params` are the node's. `row` serves where both tensors are f32 (give
 * it only where it equals `real` rounded once), `whole` where the input is not real, else `real`. A
 * null `whole` falls to `real`. Integers are stored with wrap. */
typedef struct tn_unary_function {
    double (*real)(const void *params, double x);
    int64_t (*whole)(const void *params, int64_t x);
    tn_row_function row;
} tn_unary_function;
tn_status tn_unary_compute(tn_call *call, const tn_unary_function *function);

/* Describes the node as an activation (`function`: TN_ACTIVATION_...) where that is asked for. */
tn_status tn_unary_facet(const tn_call *call, const char *name, uint32_t function, float alpha,
                         float beta, tn_facet *out_facet);

#endif
