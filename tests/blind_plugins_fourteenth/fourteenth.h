/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of this folder have in common. A source is compiled with -DMISTAKE=n. */
#ifndef FOURTEENTH_H
#define FOURTEENTH_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/layer.h>

#define WRONG(number) (MISTAKE == (number))
#define OPERATOR                                                                                   \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Fourteenth"
#define KERNEL                                                                                     \
    .size = sizeof(tn_kernel), .revision = 1, .domain = "Fourteenth", .device = "cpu",             \
    .name = "plain"
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

/* The rule of operators whose output has the shape of input 0. */
static inline tn_status infer_same(tn_call *call) {
    same_shape(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static inline uint64_t element_bytes(tn_type type) {
    switch (type) {
    case TN_F64:
    case TN_I64:
    case TN_U64:
        return 8;
    case TN_F32:
    case TN_I32:
    case TN_U32:
        return 4;
    case TN_F16:
    case TN_BF16:
    case TN_I16:
    case TN_U16:
        return 2;
    default:
        return 1;
    }
}

#endif
