/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators of one input: the shape rule, and how they describe themselves to kernels.
 */
#ifndef TN_KIT_ELEMENTWISE_UNARY_H
#define TN_KIT_ELEMENTWISE_UNARY_H

#include <tenon/kit/known_steps.h>

/* Output 0 has the shape of input 0. */
tn_status tn_unary_infer(tn_call *call) TN_NOEXCEPT;

/* Describes the node as an activation (`function`: TN_ACTIVATION_...) where that is asked for. */
tn_status tn_unary_facet(const tn_call *call, const char *name, uint32_t function, float alpha,
                         float beta, tn_facet *out_facet);

/* How a kernel learns it: what its node's operator describes the node as. False: as no activation,
 * or not before values are known. */
bool tn_unary_activation(tn_call *call, tn_facet_activation *out_activation);

#endif
