/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broadcasting of binary operators before opset 7: the second input is broadcast only where the
 * field `broadcast` says so, and may be aligned at an axis of the first. From opset 7 on:
 * broadcast.h.
 */
#ifndef TN_KIT_OPERATOR_AXIS_BROADCAST_H
#define TN_KIT_OPERATOR_AXIS_BROADCAST_H

#include <tenon/kit/broadcast.h>

typedef struct tn_axis_broadcast_params {
    uint64_t present;
    int64_t axis;
    bool broadcast;
} tn_axis_broadcast_params;

extern const tn_field tn_axis_broadcast_fields[2];

/* The second input's shape with ones put after it, so that its first axis meets the first input's
 * `axis`; it then broadcasts as in broadcast.h. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_axis_broadcast_shape(tn_call *call, uint32_t *out_rank, int64_t *out_shape);
/* The shape rule: output 0 has the first input's shape. */
tn_status tn_axis_broadcast_infer(tn_call *call) TN_NOEXCEPT;
tn_status tn_axis_broadcast_compute(tn_call *call, const tn_broadcast_binary *function);

#endif
