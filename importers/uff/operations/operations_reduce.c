/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduce, ArgMax and ArgMin: axes are the file's and mapped to where they lie; axes that go are
 * taken out of the value's order.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <string.h>

static const tn_uff_function reductions[] = {{"sum", "ReduceSum"},
                                             {"prod", "ReduceProd"},
                                             {"max", "ReduceMax"},
                                             {"min", "ReduceMin"},
                                             {"mean", "ReduceMean"}};

static void shrink(const tn_uff_value *x, uint32_t axes, bool is_kept, tn_uff_value *y) {
    if (!is_kept) {
        tn_uff_value_drop_axes(x, axes, y);
        return;
    }
    tn_uff_value_like(y, x);
    for (uint32_t i = 0; i < x->rank; i++)
        if (axes >> i & 1) y->extents[i] = 1;
}

/* The product of a shape's numbers, and the like, is known at once. */
static tn_status reduce_integers(const tn_uff_call *call, const char *op, bool is_kept) {
    const tn_uff_value *x = call->inputs[0];
    size_t count = 0;
    const int64_t *values = tn_uff_integers(x, &count);
    if (!values || x->rank != 1 || strcmp(op, "ReduceProd") != 0 || count > TN_MAX_RANK)
        return TN_OK;
    const int64_t product = tn_uff_product(call->reader, (uint32_t)count, values);
    call->output->type = x->type;
    return tn_uff_integers_set(call->reader, call->output, is_kept ? 1 : 0, 1, &product);
}

tn_status tn_uff_read_reduce(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0];
    const tn_uff_function *row;
    uint32_t axes;
    int64_t is_kept, positions[TN_MAX_RANK];
    size_t count = 0;
    TN_TRY(tn_uff_field_function(call, TN_COUNT(reductions), reductions, &row));
    TN_TRY(tn_uff_field_require(call, "axes"));
    TN_TRY(tn_uff_field_axes(call, &count, &axes));
    TN_TRY(tn_uff_field_i64(call, "keepdims", 0, &is_kept));
    if (axes == 0) { /* over no axis: the same tensor */
        call->output = x;
        return TN_OK;
    }
    TN_TRY(reduce_integers(call, row->op, is_kept != 0));
    if (call->output->data) return TN_OK;
    shrink(x, axes, is_kept != 0, call->output);
    count = tn_uff_value_positions(x, axes, positions);
    return tn_uff_emit(
        call, row->op,
        TN_EMIT(tn_emit_i64s("axes", count, positions), tn_emit_i64("keepdims", is_kept != 0)),
        TN_TENSORS(tn_uff_stored(call->reader, x)));
}

tn_status tn_uff_read_arg(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0];
    uint32_t axis;
    TN_TRY(tn_uff_field_axis(call, true, x->rank, &axis));
    shrink(x, 1u << axis, false, call->output);
    call->output->type = TN_I64;
    return tn_uff_emit(call, call->node->operation,
                       TN_EMIT(tn_emit_i64("axis", tn_uff_order_find(&x->storage, axis)),
                               tn_emit_i64("keepdims", 0)),
                       TN_TENSORS(tn_uff_stored(call->reader, x)));
}
