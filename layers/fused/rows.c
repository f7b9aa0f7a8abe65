/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel in 32-bit floats: accepting, and traversing tensors whose shapes are broadcast; see
 * fused.h. */
#include "fused/fused.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/epilogue.h>
#include <tenon/kit/infer.h>
#include "kit/operator/physical.h"

/* ----------------------------------------------------------------------------------------------
 * shapes */

/* The extents of tensor `index`, of `count`, with all axes of the output; the vector of a bias or a
 * scale lies along an axis. */
static bool find_extents(const tn_call *call, const tn_tensor *tensor, uint32_t index,
                         uint32_t count, int64_t *out_shape) {
    const uint32_t rank = call->outputs[0]->rank, input_count = count - call->operand_count;
    uint32_t axis = 0;
    if (tensor->rank > rank) return false;
    for (uint32_t k = 0; k < rank; k++)
        out_shape[k] = k + tensor->rank < rank ? 1 : tensor->shape[k + tensor->rank - rank];
    if (index < input_count || !tn_epilogue_vector_axis(call, index - input_count, &axis))
        return true;
    for (uint32_t k = 0; k < rank; k++)
        out_shape[k] = k == axis ? tn_infer_product(tensor->shape, 0, tensor->rank) : 1;
    return axis < rank;
}

/* Whether a tensor can be traversed in the output's format. Of others than the whole, only what
 * lies alike in all formats is. */
static bool fits_format(const tn_tensor *tensor, const tn_tensor *y, const int64_t *shape) {
    if (y->format == TN_LINEAR) return tensor->format == TN_LINEAR;
    if (tensor->format == y->format && tensor->rank == y->rank && tensor->shape[1] == y->shape[1])
        return true;
    if (tn_physical_block(y->format) != 0 || tn_physical_block(tensor->format) != 0) return false;
    for (uint32_t k = 0; k < y->rank; k++)
        if (k != 1 && shape[k] != 1) return false;
    return true;
}

static bool is_walkable(const tn_call *call) {
    const tn_tensor *tensors[TN_BROADCAST_MAX_INPUTS], *y = call->outputs[0];
    uint32_t count = 0;
    int64_t shape[TN_MAX_RANK];
    if (!y || !tn_epilogue_tensors(call, TN_BROADCAST_MAX_INPUTS, tensors, &count)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (tensors[i]->type != TN_F32 || !find_extents(call, tensors[i], i, count, shape) ||
            !fits_format(tensors[i], y, shape))
            return false;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * callbacks */

tn_status tn_fused_rows_accepts(tn_call *call) {
    tn_row_program program;
    if (!is_walkable(call) ||
        !tn_row_program_make(call, TN_ROW_START_EXPRESSION, 0, &program, NULL, 0) ||
        tn_fused_is_idle(call, &program) ||
        (tn_physical_is_padded(call->outputs[0]) && !tn_row_program_keeps_zero(&program)))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status tn_fused_rows_prepare(tn_call *call) {
    return tn_row_program_prepare(call, TN_ROW_START_EXPRESSION, 0);
}

tn_status tn_fused_rows_reshape(tn_call *call) {
    return is_walkable(call) ? TN_OK
                             : call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                                "inputs of more axes than the output");
}

tn_status tn_fused_rows_run(tn_call *call) {
    const tn_tensor *tensors[TN_BROADCAST_MAX_INPUTS], *y = call->outputs[0];
    const float *data[TN_BROADCAST_MAX_INPUTS];
    uint32_t count = 0;
    int64_t shape[TN_MAX_RANK];
    tn_physical physical;
    tn_broadcast_rows rows;
    (void)tn_epilogue_tensors(call, TN_BROADCAST_MAX_INPUTS, tensors, &count); /* reshape looked */
    tn_physical_init(&physical, y->format, y->rank, y->shape);
    tn_broadcast_init(&rows, physical.rank, physical.shape);
    const int64_t elements = tn_infer_product(physical.shape, 0, physical.rank);
    for (uint32_t i = 0; i < count; i++) {
        (void)find_extents(call, tensors[i], i, count, shape);
        tn_physical_init(&physical, y->format, y->rank, shape);
        tn_broadcast_add(&rows, physical.rank, physical.shape);
        data[i] = tensors[i]->data;
    }
    if (!tn_broadcast_begin(&rows)) return TN_OK;
    return tn_row_program_run_broadcast(call, call->state, call->user, &rows, data, elements);
}
