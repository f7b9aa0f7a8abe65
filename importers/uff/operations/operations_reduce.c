/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduce, ArgMax and ArgMin: axes are the file's and mapped to where they lie; axes that go are
 * taken out of the value's order.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *function, *op;
} reductions[] = {{"sum", "ReduceSum"},
                  {"prod", "ReduceProd"},
                  {"max", "ReduceMax"},
                  {"min", "ReduceMin"},
                  {"mean", "ReduceMean"}};

static tn_status find_reduction(tn_uff_reader *reader, const tn_uff_node *node,
                                const char **out_op) {
    const char *function;
    TN_TRY(tn_uff_field_require(reader, node, "func"));
    TN_TRY(tn_uff_field_text(reader, node, "func", &function));
    for (size_t i = 0; i < TN_COUNT(reductions); i++) {
        if (strcmp(reductions[i].function, function) != 0) continue;
        *out_op = reductions[i].op;
        return TN_OK;
    }
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "function '%s' is not known; there are sum prod max min mean", function);
}

/* Axes as bits. */
static tn_status read_axes(const tn_uff_reader *reader, const tn_uff_call *call,
                           uint32_t *out_axes) {
    size_t count = 0;
    const int64_t *items;
    uint32_t axis;
    TN_TRY(tn_uff_field_require(reader, call->node, "axes"));
    TN_TRY(tn_uff_field_i64s(reader, call->node, "axes", &count, &items));
    *out_axes = 0;
    for (size_t i = 0; i < count; i++) {
        TN_TRY(tn_uff_axis(items[i], call->inputs[0]->rank, &axis));
        *out_axes |= 1u << axis;
    }
    return TN_OK;
}

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
static tn_status reduce_numbers(tn_uff_reader *reader, const tn_uff_call *call, const char *op,
                                bool is_kept) {
    size_t count = 0;
    const int64_t *numbers = tn_uff_numbers(call->inputs[0], &count);
    if (!numbers || call->inputs[0]->rank != 1 || strcmp(op, "ReduceProd") != 0 ||
        count > TN_MAX_RANK)
        return TN_OK;
    const int64_t product = tn_uff_product(reader, (uint32_t)count, numbers);
    call->output->type = call->inputs[0]->type;
    return tn_uff_numbers_set(reader, call->output, is_kept ? 1 : 0, 1, &product);
}

tn_status tn_uff_read_reduce(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    const char *op;
    uint32_t axes;
    int64_t is_kept, places[TN_MAX_RANK];
    size_t count = 0;
    tn_uff_attributes attributes = {0};
    tn_import_tensor input;
    TN_TRY(find_reduction(reader, call->node, &op));
    TN_TRY(read_axes(reader, call, &axes));
    TN_TRY(tn_uff_field_i64(reader, call->node, "keepdims", 0, &is_kept));
    if (axes == 0) { /* over no axis: the same tensor */
        call->output = x;
        return TN_OK;
    }
    TN_TRY(reduce_numbers(reader, call, op, is_kept != 0));
    if (y->data) return TN_OK;
    shrink(x, axes, is_kept != 0, y);
    for (uint32_t i = 0; i < x->rank; i++)
        if (axes >> x->storage.axes[i] & 1) places[count++] = i;
    TN_TRY(tn_uff_value_stored(reader, x, &input));
    tn_uff_attribute_i64s(&attributes, "axes", count, places);
    tn_uff_attribute_i64(&attributes, "keepdims", is_kept != 0);
    return tn_uff_emit(reader, op, 0, y->name, &attributes, 1, &input, &y->tensor);
}

tn_status tn_uff_read_arg(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    int64_t field;
    uint32_t axis;
    tn_uff_attributes attributes = {0};
    tn_import_tensor input;
    TN_TRY(tn_uff_field_require(reader, call->node, "axis"));
    TN_TRY(tn_uff_field_i64(reader, call->node, "axis", 0, &field));
    TN_TRY(tn_uff_axis(field, x->rank, &axis));
    shrink(x, 1u << axis, false, y);
    y->type = TN_I64;
    TN_TRY(tn_uff_value_stored(reader, x, &input));
    tn_uff_attribute_i64(&attributes, "axis", tn_uff_order_place(&x->storage, axis));
    tn_uff_attribute_i64(&attributes, "keepdims", 0);
    return tn_uff_emit(reader, call->node->operation, 0, y->name, &attributes, 1, &input,
                       &y->tensor);
}
