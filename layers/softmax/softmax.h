/* SPDX-License-Identifier: Apache-2.0 */
/* What the operator Softmax and its kernels share: the field, and the lanes it means. */
#ifndef TN_LAYERS_SOFTMAX_SOFTMAX_H
#define TN_LAYERS_SOFTMAX_SOFTMAX_H

#include <tenon/plugin.h>

typedef struct tn_softmax_params {
    uint64_t present;
    int64_t axis;
} tn_softmax_params;

/* outer x count x inner elements; each lane of `count`, `inner` apart, sums to one. */
typedef struct tn_softmax_lanes {
    int64_t outer, count, inner;
} tn_softmax_lanes;

/* Checks the axis of a Softmax node. Before opset 13 a lane is all axes from `axis` on. */
tn_status tn_softmax_read(tn_call *call, tn_softmax_lanes *out_lanes);

#endif
