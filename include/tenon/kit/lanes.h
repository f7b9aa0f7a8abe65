/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a tensor along some adjacent axes: what operators along an axis traverse. */
#ifndef TENON_KIT_LANES_H
#define TENON_KIT_LANES_H

#include <tenon/kit/infer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* outer x count x inner elements: lane (o, i) is the elements o * count * inner + k * inner + i for
 * k below `count`. */
typedef struct tn_lanes {
    int64_t outer, count, inner;
} tn_lanes;

/* Along the axes begin..end-1. */
static inline tn_lanes tn_lanes_along(const tn_tensor *tensor, uint32_t begin, uint32_t end) {
    const tn_lanes lanes = {tn_infer_product(tensor->shape, 0, begin),
                            tn_infer_product(tensor->shape, begin, end),
                            tn_infer_product(tensor->shape, end, tensor->rank)};
    return lanes;
}

/* The first element of lane number `lane`, of outer * inner. */
static inline int64_t tn_lanes_first(const tn_lanes *lanes, int64_t lane) {
    return lane / lanes->inner * lanes->count * lanes->inner + lane % lanes->inner;
}

#ifdef __cplusplus
}
#endif

#endif
