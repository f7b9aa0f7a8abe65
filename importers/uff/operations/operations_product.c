/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FullyConnected: a matrix product whose dimension orders say which axis of each matrix is summed.
 * After a flatten of data that lies as N, C, H, W, the weights' rows are put in that order here, so
 * that the data need not be moved at run time.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

/* The weights as [C, K]. */
static tn_uff_order weights_order(const tn_uff_order *order) {
    tn_uff_order swapped = tn_uff_order_plain();
    swapped.axes[0] = order->axes[1];
    swapped.axes[1] = order->axes[0];
    return swapped;
}

/* The weights with their rows in the order in which the elements of the flattened source lie. */
static tn_status order_rows(const tn_uff_call *call, const tn_uff_order *weights,
                            tn_import_tensor *out_tensor) {
    const tn_uff_value *source = call->inputs[0]->flattened, *w = call->inputs[1];
    const bool is_rows_first = weights->axes[0] == 0; /* the file has [C, K], not [K, C] */
    const uint32_t first = is_rows_first ? 0 : 1;     /* where the source's axes begin */
    const uint32_t filters = is_rows_first ? source->rank - 1 : 0;
    tn_uff_reader *reader = call->reader;
    tn_uff_value unfolded = *w;
    tn_uff_order order = tn_uff_order_plain();
    int64_t extents[TN_MAX_RANK];
    const void *data;
    unfolded.rank = source->rank;
    for (uint32_t i = 1; i < source->rank; i++) {
        unfolded.extents[first + i - 1] = source->extents[i];
        order.axes[i - 1] = (uint8_t)(first + source->storage.axes[i] - 1);
    }
    unfolded.extents[filters] = w->extents[weights->axes[1]];
    order.axes[source->rank - 1] = (uint8_t)filters;
    TN_TRY(tn_uff_constant_permute(reader, &unfolded, &order, &data, extents));
    const int64_t shape[] = {w->extents[weights->axes[0]], w->extents[weights->axes[1]]};
    const char *outer = tn_emit_enter(&reader->emit, w->name);
    *out_tensor = tn_emit_lent(&reader->emit, "rows", w->type, 2, shape, data);
    reader->emit.name = outer;
    return reader->emit.status;
}

/* The source as a matrix, its elements in memory order. */
static tn_import_tensor flatten_source(const tn_uff_call *call) {
    tn_uff_reader *reader = call->reader;
    const tn_uff_value *x = call->inputs[0];
    const tn_import_tensor input = tn_uff_stored(reader, x->flattened);
    const char *outer = tn_emit_enter(&reader->emit, x->name);
    const char *name = tn_emit_name(&reader->emit, "rows");
    reader->emit.name = outer;
    return tn_uff_emit_as(reader, name, "Flatten", TN_EMIT(tn_emit_i64("axis", 1)),
                          TN_TENSORS(input));
}

tn_status tn_uff_read_fully_connected(tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *w = call->inputs[1], *y = call->output;
    const tn_uff_order plain = tn_uff_order_plain();
    tn_uff_order data_order, order;
    tn_import_tensor data, weights;
    if (x->rank != 2 || w->rank != 2)
        return tn_fail(TN_ERROR_SHAPE,
                       "the inputs '%s' and '%s' have rank %" PRIu32 " and %" PRIu32
                       "; matrices are expected",
                       x->name, w->name, x->rank, w->rank);
    TN_TRY(tn_uff_order_read(call, 0, 2, &data_order));
    TN_TRY(tn_uff_order_read(call, 1, 2, &order));
    TN_TRY(tn_uff_field_require(call, "inputs_orders"));
    order = weights_order(&order);
    const int64_t summed = x->extents[data_order.axes[1]], rows = w->extents[order.axes[0]];
    if (!tn_uff_is_open(summed) && !tn_uff_is_open(rows) && summed != rows)
        return tn_fail(TN_ERROR_SHAPE,
                       "'%s' has %" PRId64 " columns, but the weights '%s' are for %" PRId64,
                       x->name, summed, w->name, rows);
    y->type = x->type;
    y->rank = 2;
    y->extents[0] = x->extents[data_order.axes[0]];
    y->extents[1] = w->extents[order.axes[1]];
    if (x->flattened && w->data && summed == rows && tn_uff_order_equal(&data_order, &plain, 2)) {
        data = flatten_source(call);
        TN_TRY(call->reader->emit.status);
        TN_TRY(order_rows(call, &order, &weights));
    } else {
        data = tn_uff_ordered(call->reader, x, &data_order);
        weights = tn_uff_ordered(call->reader, w, &order);
    }
    return tn_uff_emit(call, "MatMul", NULL, TN_TENSORS(data, weights));
}
