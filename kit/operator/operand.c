/* SPDX-License-Identifier: Apache-2.0 */
/* Binary operators as epilogues; see operand.h. */
#include "kit/operator/operand.h"
#include "kit/operator/axis_broadcast.h"
#include "kit/operator/infer.h"

static bool has_shape_of(const tn_tensor *a, const tn_tensor *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

/* The one axis of `y` along which a tensor of this shape (aligned at the end) varies. */
static bool find_channel_axis(const tn_tensor *y, uint32_t rank, const int64_t *shape,
                              int32_t *out_axis) {
    bool is_found = false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 1) continue;
        if (is_found) return false;
        is_found = true;
        *out_axis = (int32_t)(y->rank - rank + i);
    }
    return is_found && rank <= y->rank;
}

tn_status tn_operand_epilogue(const tn_call *call, uint32_t input, uint32_t rank,
                              const int64_t *shape, uint32_t vector_kind, uint32_t whole_kind,
                              tn_epilogue *out_epilogue) {
    if (input > 1) return TN_ERROR_UNSUPPORTED;
    const tn_tensor *x = tn_infer_input(call, input), *operand = tn_infer_input(call, 1 - input);
    const tn_tensor *y = tn_infer_output(call, 0);
    int32_t axis = 0;
    if (!x || !operand || !y || !has_shape_of(x, y)) return TN_ERROR_UNSUPPORTED;
    if (whole_kind && has_shape_of(operand, y)) {
        out_epilogue->kind = whole_kind;
    } else if (vector_kind && operand->data && find_channel_axis(y, rank, shape, &axis)) {
        out_epilogue->kind = vector_kind;
        out_epilogue->axis = axis;
    } else {
        return TN_ERROR_UNSUPPORTED;
    }
    out_epilogue->operand = 1 - input;
    out_epilogue->type = y->type;
    return TN_OK;
}

tn_status tn_operand_epilogue_plain(const tn_call *call, uint32_t input, uint32_t vector_kind,
                                    uint32_t whole_kind, tn_epilogue *out_epilogue) {
    const tn_tensor *operand = input < 2 ? tn_infer_input(call, 1 - input) : NULL;
    if (!operand) return TN_ERROR_UNSUPPORTED;
    return tn_operand_epilogue(call, input, operand->rank, operand->shape, vector_kind, whole_kind,
                               out_epilogue);
}

tn_status tn_operand_epilogue_axis(tn_call *call, uint32_t input, uint32_t vector_kind,
                                   uint32_t whole_kind, tn_epilogue *out_epilogue) {
    uint32_t rank = 0;
    int64_t shape[TN_MAX_RANK];
    if (input != 0) return TN_ERROR_UNSUPPORTED;
    TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    return tn_operand_epilogue(call, input, rank, shape, vector_kind, whole_kind, out_epilogue);
}
