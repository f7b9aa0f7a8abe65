/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over spatial axes (window.h), and the operations without weights that have one or name an
 * axis of channels: Pool, LRN, BatchNorm. The input is converted into N, C, spatial order by the
 * node's dimension orders; the output stays so. Conv and ConvTranspose are operations_conv.c.
 */
#include "base/status.h"
#include "importers/uff/operations/window.h"

#include <inttypes.h>
#include <string.h>

tn_status tn_uff_window_list(const tn_uff_call *call, const char *name, uint32_t rank,
                             int64_t fallback, int64_t *out_items) {
    size_t count = 0;
    const int64_t *items;
    TN_TRY(tn_uff_field_i64s(call, name, &count, &items));
    if (count != 0 && count != rank)
        return tn_fail(TN_ERROR_FORMAT, "field '%s' has %zu numbers for %" PRIu32 " spatial axes",
                       name, count, rank);
    for (uint32_t i = 0; i < rank; i++) {
        out_items[i] = count ? items[i] : fallback;
        if (out_items[i] < fallback || out_items[i] > INT32_MAX)
            return tn_fail(TN_ERROR_FORMAT, "field '%s' holds %" PRId64, name, out_items[i]);
    }
    return TN_OK;
}

tn_status tn_uff_window_read(const tn_uff_call *call, tn_uff_window *out_window) {
    const char *padding;
    tn_uff_window *w = out_window;
    TN_TRY(tn_uff_window_list(call, "strides", w->rank, 1, w->strides));
    TN_TRY(tn_uff_window_list(call, "dilation", w->rank, 1, w->dilations));
    TN_TRY(tn_uff_window_list(call, "padding", w->rank, 0, w->pads));
    memcpy(&w->pads[w->rank], w->pads, w->rank * sizeof(int64_t));
    TN_TRY(tn_uff_field_text(call, "implicit_padding", &padding));
    w->is_same = padding && strcmp(padding, "same") == 0;
    if (padding && !w->is_same)
        return tn_fail(TN_ERROR_UNSUPPORTED, "implicit padding '%s' is not known; there is 'same'",
                       padding);
    for (uint32_t i = 0; w->is_same && i < w->rank; i++)
        if (w->pads[i] != 0)
            return tn_fail(TN_ERROR_FORMAT, "padding is given both by numbers and as 'same'");
    return TN_OK;
}

tn_emit_fields tn_uff_window_fields(const tn_uff_window *w) {
    return (tn_emit_fields){
        .items = {[1] = tn_emit_i64s("strides", w->rank, w->strides),
                  [2] = w->is_same ? tn_emit_text("auto_pad", "SAME_UPPER")
                                   : tn_emit_i64s("pads", 2 * (size_t)w->rank, w->pads)}};
}

/* The output's extent along a spatial axis. */
static int64_t window_extent(tn_uff_reader *reader, const tn_uff_window *w, uint32_t axis,
                             int64_t in) {
    if (tn_uff_is_open(in)) return w->is_same && w->strides[axis] == 1 ? in : tn_uff_open(reader);
    if (w->is_same) return in / w->strides[axis] + (in % w->strides[axis] != 0);
    const int64_t reach = (w->kernel[axis] - 1) * w->dilations[axis] + 1;
    int64_t range;
    if (!tn_add_i64(in, 2 * w->pads[axis] - reach, &range) || range < 0) return tn_uff_open(reader);
    return range / w->strides[axis] + 1;
}

void tn_uff_window_shape(tn_uff_call *call, const tn_uff_window *w) {
    tn_uff_value *y = call->output;
    for (uint32_t i = 0; i < w->rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        *extent = window_extent(call->reader, w, i, *extent);
    }
}

tn_status tn_uff_window_order(tn_uff_call *call, uint32_t minimum_rank) {
    const tn_uff_value *x = call->inputs[0];
    if (x->rank < minimum_rank)
        return tn_fail(TN_ERROR_SHAPE,
                       "input '%s' has rank %" PRIu32 "; %" PRIu32 " and more is expected", x->name,
                       x->rank, minimum_rank);
    tn_uff_value_like(call->output, x);
    return tn_uff_order_read(call, 0, x->rank, &call->output->storage);
}

/* ----------------------------------------------------------------------------------------------
 * Pool, LRN, BatchNorm */

/* The input as the output lies. */
static tn_import_tensor ordered_input(const tn_uff_call *call) {
    return tn_uff_ordered(call->reader, call->inputs[0], &call->output->storage);
}

tn_status tn_uff_read_pool(tn_uff_call *call) {
    const char *function;
    tn_uff_window w = {0};
    TN_TRY(tn_uff_window_order(call, 3));
    w.rank = call->output->rank - 2;
    TN_TRY(tn_uff_field_text(call, "func", &function));
    const bool is_max = function && strcmp(function, "max") == 0;
    if (!is_max && (!function || strcmp(function, "avg") != 0))
        return tn_fail(function ? TN_ERROR_UNSUPPORTED : TN_ERROR_FORMAT,
                       "field 'func' is '%s': expected max or avg", function ? function : "");
    TN_TRY(tn_uff_window_list(call, "kernel", w.rank, 1, w.kernel));
    TN_TRY(tn_uff_window_read(call, &w));
    tn_uff_window_shape(call, &w);
    tn_emit_fields fields = tn_uff_window_fields(&w);
    fields.items[0] = tn_emit_i64s("kernel_shape", w.rank, w.kernel);
    return tn_uff_emit(call, is_max ? "MaxPool" : "AveragePool", &fields,
                       TN_TENSORS(ordered_input(call)));
}

/* UFF keeps the framework's numbers: alpha is not divided by the window's size, and the window is
 * given by its radius. */
tn_status tn_uff_read_lrn(tn_uff_call *call) {
    int64_t radius;
    double alpha, beta, bias;
    TN_TRY(tn_uff_window_order(call, 2));
    TN_TRY(tn_uff_field_i64(call, "window_size", 5, &radius));
    TN_TRY(tn_uff_field_f64(call, "alpha", 1, &alpha));
    TN_TRY(tn_uff_field_f64(call, "beta", 0.5, &beta));
    TN_TRY(tn_uff_field_f64(call, "k", 1, &bias));
    if (radius < 0 || radius > 65536)
        return tn_fail(TN_ERROR_FORMAT, "field 'window_size' is %" PRId64, radius);
    const int64_t size = 2 * radius + 1;
    return tn_uff_emit(call, "LRN",
                       TN_EMIT(tn_emit_i64("size", size),
                               tn_emit_f64("alpha", alpha * (double)size),
                               tn_emit_f64("beta", beta), tn_emit_f64("bias", bias)),
                       TN_TENSORS(ordered_input(call)));
}

tn_status tn_uff_read_batch_norm(tn_uff_call *call) {
    double epsilon;
    tn_import_tensor inputs[5];
    TN_TRY(tn_uff_window_order(call, 2));
    TN_TRY(tn_uff_field_require(call, "epsilon"));
    TN_TRY(tn_uff_field_f64(call, "epsilon", 0, &epsilon));
    inputs[0] = ordered_input(call);
    for (uint32_t i = 1; i < 5; i++)
        inputs[i] = tn_uff_plain(call->reader, call->inputs[i]);
    return tn_uff_emit(call, "BatchNormalization", TN_EMIT(tn_emit_f64("epsilon", epsilon)),
                       (tn_emit_tensors){5, inputs});
}
