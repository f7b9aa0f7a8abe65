/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of this folder have in common. A source is compiled with -DMISTAKE=n. */
#ifndef NINTH_H
#define NINTH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>

#define WRONG(number) (MISTAKE == (number))
#define OPERATOR      .size = sizeof(tn_operator), .since_version = 1, .domain = "Ninth"
#define KERNEL        .size = sizeof(tn_kernel), .revision = 1, .domain = "Ninth", .device = "cpu"
#define LIBRARY(name, of_operator, of_kernel)                                                      \
    static const tn_operator *const operators[] = {&(of_operator)};                                \
    static const tn_kernel *const kernels[] = {&(of_kernel)};                                      \
    TN_LIBRARY(name, "1.0", operators, kernels)

static inline int64_t product(const int64_t *extents, int64_t begin, int64_t end) {
    int64_t count = 1;
    for (int64_t i = begin; i < end; i++)
        count *= extents[i];
    return count;
}

static inline void same_shape(const tn_tensor *from, tn_tensor *to) {
    to->rank = from->rank;
    for (uint32_t i = 0; i < from->rank; i++)
        to->shape[i] = from->shape[i];
}

/* The rule of elementwise operators of one input. */
static inline tn_status infer_same(tn_call *call) {
    same_shape(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

#endif
