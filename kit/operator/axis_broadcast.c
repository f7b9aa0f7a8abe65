/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasting along given axes; see axis_broadcast.h. */
#include "kit/operator/axis_broadcast.h"
#include <tenon/kit/infer.h>

enum { AXIS_PRESENT = 1 };

const tn_field tn_axis_broadcast_fields[2] = {
    TN_FIELD(
        tn_axis_broadcast_params, axis, TN_FIELD_I64, TN_OPTIONAL, NULL,
        "first axis of the first input that the second is aligned with; absent: the last axes"),
    TN_FIELD(tn_axis_broadcast_params, broadcast, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the second input is broadcast"),
};

tn_status tn_axis_broadcast_shape(tn_call *call, uint32_t *out_rank, int64_t *out_shape) {
    const tn_axis_broadcast_params *params = call->params;
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    uint32_t begin = a->rank >= b->rank ? a->rank - b->rank : 0;
    if (params->broadcast && (params->present & AXIS_PRESENT))
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, a->rank ? a->rank : 1, &begin));
    bool fits = b->rank <= a->rank && begin <= a->rank - b->rank;
    for (uint32_t i = 0; fits && i < b->rank; i++)
        fits = b->shape[i] == a->shape[begin + i] || (params->broadcast && b->shape[i] == 1);
    if (fits && !params->broadcast) fits = a->rank == b->rank;
    if (!fits) {
        char left[TN_INFER_SHAPE_TEXT_BYTES], right[TN_INFER_SHAPE_TEXT_BYTES];
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "'%s' has the shape %s, which does not fit the %s of '%s' at axis "
                                "%u%s",
                                tn_infer_input_name(call, 1),
                                tn_infer_shape_text(b->rank, b->shape, right, sizeof(right)),
                                tn_infer_shape_text(a->rank, a->shape, left, sizeof(left)),
                                tn_infer_input_name(call, 0), begin,
                                params->broadcast ? "" : " (field 'broadcast' is 0)");
    }
    *out_rank = a->rank - begin;
    for (uint32_t i = 0; i < *out_rank; i++)
        out_shape[i] = i < b->rank ? b->shape[i] : 1;
    return TN_OK;
}

tn_status tn_axis_broadcast_infer(tn_call *call) {
    uint32_t rank;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, 1, 0, TN_MAX_RANK));
    TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    return tn_infer_copy_shape(call, 0, 0);
}

tn_status tn_axis_broadcast_compute(tn_call *call, const tn_broadcast_binary *function) {
    uint32_t rank;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    return tn_broadcast_compute_shaped(call, function, rank, shape);
}
