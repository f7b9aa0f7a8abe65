/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose only field is an axis. */
#ifndef TN_KIT_OPERATOR_AXIS_H
#define TN_KIT_OPERATOR_AXIS_H

#include <tenon/kit/infer.h>

typedef struct tn_axis_params {
    uint64_t present;
    int64_t axis;
} tn_axis_params;

/* The field; `flags` and `fallback` as in TN_FIELD. */
#define TN_AXIS_FIELD(flags, fallback, words)                                                      \
    TN_FIELD(tn_axis_params, axis, TN_FIELD_I64, flags, fallback, words)

/* The node's axis of a tensor of `rank`: negative ones count from the end. TN_ERROR_RANGE. */
static inline tn_status tn_axis_read(tn_call *call, uint32_t rank, uint32_t *out_axis) {
    const tn_axis_params *params = call->params;
    return tn_infer_axis(call, "field 'axis'", params->axis, rank, out_axis);
}

#endif
