/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-directional broadcasting; see broadcast.h. */
#include "kit/math/element.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/infer.h>

static tn_status refuse_shapes(tn_call *call, uint32_t input, const int64_t *shape, uint32_t rank) {
    const tn_tensor *tensor = call->inputs[input];
    char text[TN_INFER_SHAPE_TEXT_BYTES], other[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' has the shape %s, which does not broadcast with %s",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(tensor->rank, tensor->shape, text, sizeof(text)),
                            tn_infer_shape_text(rank, shape, other, sizeof(other)));
}

tn_status tn_broadcast_infer(tn_call *call, uint32_t input_count) {
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t k = 0; k < input_count; k++) {
        TN_TRY(tn_infer_require_rank(call, k, 0, TN_MAX_RANK));
        const tn_tensor *tensor = call->inputs[k];
        if (tensor->rank > rank) {
            uint32_t more = tensor->rank - rank;
            memmove(shape + more, shape, rank * sizeof(*shape));
            for (uint32_t i = 0; i < more; i++)
                shape[i] = 1;
            rank = tensor->rank;
        }
        for (uint32_t i = 0; i < tensor->rank; i++) {
            int64_t *extent = &shape[rank - tensor->rank + i];
            if (*extent == 1)
                *extent = tensor->shape[i];
            else if (tensor->shape[i] != 1 && tensor->shape[i] != *extent)
                return refuse_shapes(call, k, shape, rank);
        }
    }
    return tn_infer_set_shape(call, 0, rank, shape);
}

tn_status tn_broadcast_infer_binary(tn_call *call) {
    return tn_broadcast_infer(call, 2);
}

void tn_broadcast_init(tn_broadcast_rows *rows, uint32_t rank, const int64_t *shape) {
    memset(rows, 0, sizeof(*rows));
    rows->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        rows->extents[i] = shape[i];
}

void tn_broadcast_add(tn_broadcast_rows *rows, uint32_t rank, const int64_t *shape) {
    int64_t *strides = rows->strides[rows->input_count++];
    uint64_t step = 1; /* unsigned: in an empty tensor it may not fit, and is not used */
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t axis = rank - 1 - i;
        if (i < rows->rank) strides[rows->rank - 1 - i] = shape[axis] == 1 ? 0 : (int64_t)step;
        step *= (uint64_t)shape[axis];
    }
}

/* Whether all inputs step from `axis` to axis + 1 as one longer axis would. */
static bool can_merge(const tn_broadcast_rows *rows, uint32_t axis) {
    for (uint32_t k = 0; k < rows->input_count; k++)
        if (rows->strides[k][axis] != rows->strides[k][axis + 1] * rows->extents[axis + 1])
            return false;
    return true;
}

static void remove_axis(tn_broadcast_rows *rows, uint32_t axis) {
    for (uint32_t i = axis; i + 1 < rows->rank; i++) {
        rows->extents[i] = rows->extents[i + 1];
        for (uint32_t k = 0; k < rows->input_count; k++)
            rows->strides[k][i] = rows->strides[k][i + 1];
    }
    rows->rank--;
}

bool tn_broadcast_begin(tn_broadcast_rows *rows) {
    for (uint32_t i = rows->rank; i-- > 0;) {
        if (rows->extents[i] == 0) return false;
        if (rows->extents[i] == 1) remove_axis(rows, i);
    }
    for (uint32_t i = rows->rank; i-- > 1;) {
        if (!can_merge(rows, i - 1)) continue;
        rows->extents[i] *= rows->extents[i - 1];
        remove_axis(rows, i - 1);
    }
    if (rows->rank == 0) rows->extents[rows->rank++] = 1; /* strides are zero there */
    rows->count = rows->extents[rows->rank - 1];
    for (uint32_t k = 0; k < rows->input_count; k++)
        rows->stride[k] = rows->strides[k][rows->rank - 1];
    return true;
}

bool tn_broadcast_next(tn_broadcast_rows *rows) {
    rows->output_offset += rows->count;
    for (uint32_t axis = rows->rank - 1; axis-- > 0;) {
        rows->index[axis]++;
        for (uint32_t k = 0; k < rows->input_count; k++)
            rows->offset[k] += rows->strides[k][axis];
        if (rows->index[axis] < rows->extents[axis]) return true;
        for (uint32_t k = 0; k < rows->input_count; k++)
            rows->offset[k] -= rows->strides[k][axis] * rows->extents[axis];
        rows->index[axis] = 0;
    }
    return false;
}

void tn_broadcast_seek(tn_broadcast_rows *rows, int64_t row) {
    rows->output_offset = row * rows->count;
    for (uint32_t k = 0; k < rows->input_count; k++)
        rows->offset[k] = 0;
    for (uint32_t axis = rows->rank - 1; axis-- > 0; row /= rows->extents[axis]) {
        rows->index[axis] = row % rows->extents[axis];
        for (uint32_t k = 0; k < rows->input_count; k++)
            rows->offset[k] += rows->strides[k][axis] * rows->index[axis];
    }
}

static void compute_row_f32(const tn_call *call, const tn_broadcast_binary *function,
                            const tn_broadcast_rows *rows) {
    const float *inputs[2] = {(const float *)call->inputs[0]->data + rows->offset[0],
                              (const float *)call->inputs[1]->data + rows->offset[1]};
    uint64_t strides[2] = {(uint64_t)rows->stride[0], (uint64_t)rows->stride[1]};
    function->row(call->params, (uint64_t)rows->count, inputs, strides,
                  (float *)call->outputs[0]->data + rows->output_offset);
}

static void compute_row(const tn_call *call, const tn_broadcast_binary *function,
                        const tn_broadcast_rows *rows) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const tn_tensor *y = call->outputs[0];
    bool is_real = tn_element_is_real(a->type) || tn_element_is_real(b->type);
    bool is_natural = a->type == TN_U64 && b->type == TN_U64 && function->natural;
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t at_a = rows->offset[0] + i * rows->stride[0];
        int64_t at_b = rows->offset[1] + i * rows->stride[1];
        int64_t at = rows->output_offset + i;
        if (is_real || (!is_natural && !function->whole)) {
            double value =
                function->real(call->params, tn_element_f64(a, at_a), tn_element_f64(b, at_b));
            tn_element_set_f64(y, at, value);
            continue;
        }
        int64_t left = tn_element_i64(a, at_a);
        int64_t right = tn_element_i64(b, at_b);
        int64_t value =
            is_natural ? (int64_t)function->natural(call->params, (uint64_t)left, (uint64_t)right)
                       : function->whole(call->params, left, right);
        tn_element_set_i64(y, at, value);
    }
}

tn_status tn_broadcast_compute_shaped(tn_call *call, const tn_broadcast_binary *function,
                                      uint32_t rank, const int64_t *second_shape) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    const tn_tensor *y = call->outputs[0];
    bool is_f32 = function->row && a->type == TN_F32 && b->type == TN_F32 && y->type == TN_F32;
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, y->rank, y->shape);
    tn_broadcast_add(&rows, a->rank, a->shape);
    tn_broadcast_add(&rows, rank, second_shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows)) {
        if (is_f32)
            compute_row_f32(call, function, &rows);
        else
            compute_row(call, function, &rows);
    }
    return TN_OK;
}

tn_status tn_broadcast_compute(tn_call *call, const tn_broadcast_binary *function) {
    return tn_broadcast_compute_shaped(call, function, call->inputs[1]->rank,
                                       call->inputs[1]->shape);
}
