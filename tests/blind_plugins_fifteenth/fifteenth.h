/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of this folder have in common. A source is compiled with -DMISTAKE=n. */
#ifndef FIFTEENTH_H
#define FIFTEENTH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>
#include <tenon/plugin/try.h>

#define WRONG(number) (MISTAKE == (number))
#define OPERATOR                                                                                   \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Fifteenth"
#define KERNEL .size = sizeof(tn_kernel), .revision = 1, .domain = "Fifteenth", .device = "cpu"
#define LIBRARY(name, of_operator, of_kernel)                                                      \
    static const tn_operator *const operators[] = {&(of_operator)};                                \
    static const tn_kernel *const kernels[] = {&(of_kernel)};                                      \
    TN_LIBRARY(name, "1.0", operators, kernels)

/* The elements along axes begin..end-1. */
static inline int64_t extent(const tn_tensor *tensor, uint32_t begin, uint32_t end) {
    uint64_t count = 1;
    for (uint32_t i = begin; i < end; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}

static inline tn_status infer_same(tn_call *call) {
    return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);
}

#endif
