/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of fields among the inputs': where a cut, a bound or a divisor meets its like. */
#ifndef TN_CONFORMANCE_WORKER_PLANTED_H
#define TN_CONFORMANCE_WORKER_PLANTED_H

#include "cases/case.h"

/* Puts what the node's fields hold (given, or by default) in place of every other element of an
 * input, as far as they go; among integers the neighbours too, and the ends of the type. */
void tn_planted_put(const tn_operator *op, const tn_case *c, uint32_t index);
/* The greatest magnitude of these values, below 10^6; 0: there are none. */
double tn_planted_largest(const tn_operator *op, const tn_case *c);

#endif
