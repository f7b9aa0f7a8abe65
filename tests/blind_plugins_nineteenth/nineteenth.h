/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of this folder have in common. A source is compiled with -DMISTAKE=n. */
#ifndef NINETEENTH_H
#define NINETEENTH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>
#include <tenon/plugin/try.h>

#define WRONG(n) (MISTAKE == (n))
#define OPERATOR                                                                                   \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Nineteenth"
#define KERNEL .size = sizeof(tn_kernel), .revision = 1, .domain = "Nineteenth", .device = "cpu"
#define LIBRARY(name, op, kernel)                                                                  \
    static const tn_operator *const library_operators[] = {&op};                                   \
    static const tn_kernel *const library_kernels[] = {&kernel};                                   \
    TN_LIBRARY(name, "1.0", library_operators, library_kernels)

/* The shape rule of most: output 0 is as input 0. */
static inline tn_status infer_same(tn_call *call) {
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

/* a * b, and a failure where that is no extent. */
static inline tn_status multiply(tn_call *call, int64_t a, int64_t b, int64_t *out_product) {
    return __builtin_mul_overflow(a, b, out_product)
               ? call->host->fail(call, TN_ERROR_SHAPE, "%lld times %lld elements are too many",
                                  (long long)a, (long long)b)
               : TN_OK;
}

/* An axis that may count from the end, -1 and a reason where there is none. */
static inline int64_t axis_of(tn_call *call, int64_t axis, uint32_t rank) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < (int64_t)rank) return at;
    call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld for a tensor of rank %u",
                     (long long)axis, rank);
    return -1;
}

#endif
