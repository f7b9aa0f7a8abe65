/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv and ConvTranspose: kernels are put in the operators' order while the file is read, those of
 * depthwise convolutions joined; the padding of a ConvTranspose follows from its output's extents.
 */
#include "base/status.h"
#include "importers/uff/operations/window.h"

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * Conv */

/* A kernel with its axes as an operator of ours takes them. `order` gives K, C, spatial axes. */
typedef struct kernel {
    tn_uff_order order;
    int64_t filters, channels;
} kernel;

static tn_status read_kernel(const tn_uff_call *call, kernel *k) {
    const tn_uff_value *x = call->inputs[0], *w = call->inputs[1];
    if (w->rank != x->rank)
        return tn_fail(TN_ERROR_SHAPE,
                       "the kernel '%s' has rank %" PRIu32 ", the input '%s' %" PRIu32, w->name,
                       w->rank, x->name, x->rank);
    TN_TRY(tn_uff_order_read(call, 1, w->rank, &k->order));
    k->filters = w->extents[k->order.axes[0]];
    k->channels = w->extents[k->order.axes[1]];
    return TN_OK;
}

/* A depthwise kernel is written as [H, W, C, M] though it has C * M filters of one channel. */
static tn_import_tensor join_depthwise(const tn_uff_call *call, const kernel *k, int64_t filters) {
    tn_uff_reader *reader = call->reader;
    tn_uff_value *w = call->inputs[1];
    tn_uff_order swapped = k->order;
    int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
    swapped.axes[0] = k->order.axes[1];
    swapped.axes[1] = k->order.axes[0];
    const tn_import_tensor tensor = tn_uff_ordered(reader, w, &swapped);
    for (uint32_t i = 0; i < w->rank; i++)
        from[i] = to[i] = w->extents[swapped.axes[i]];
    to[0] = filters;
    to[1] = 1;
    return tn_uff_emit_reshape(reader, tn_emit_name(&reader->emit, "kernel"), tensor, w->rank, from,
                               w->rank, to);
}

static tn_status check_kernel(const tn_uff_call *call, const kernel *k, int64_t groups,
                              int64_t channels) {
    const bool is_known = !tn_uff_is_open(k->channels) && !tn_uff_is_open(channels);
    if (is_known && (channels % groups != 0 || channels / groups != k->channels))
        return tn_fail(TN_ERROR_SHAPE,
                       "input '%s' has %" PRId64 " channels, but the kernel '%s' is for %" PRId64
                       " in each of %" PRId64 " groups",
                       call->inputs[0]->name, channels, call->inputs[1]->name, k->channels, groups);
    return TN_OK;
}

static tn_status read_groups(const tn_uff_call *call, int64_t *out_groups) {
    TN_TRY(tn_uff_field_i64(call, "number_groups", 1, out_groups));
    if (*out_groups >= 1 && *out_groups <= INT32_MAX) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT, "field 'number_groups' is %" PRId64, *out_groups);
}

static void copy_kernel(const tn_uff_call *call, const kernel *k, tn_uff_window *w) {
    for (uint32_t i = 0; i < w->rank; i++) {
        const int64_t extent = call->inputs[1]->extents[k->order.axes[i + 2]];
        w->kernel[i] = extent > 0 && extent <= INT32_MAX ? extent : 1;
    }
}

tn_status tn_uff_read_conv(tn_uff_call *call) {
    tn_uff_value *y = call->output;
    tn_uff_window w = {0};
    kernel k = {0};
    int64_t groups;
    TN_TRY(tn_uff_window_order(call, 3));
    w.rank = y->rank - 2;
    const int64_t channels = y->extents[y->storage.axes[1]];
    TN_TRY(read_groups(call, &groups));
    TN_TRY(read_kernel(call, &k));
    const bool is_depthwise = groups > 1 && k.channels == groups && channels == groups;
    if (is_depthwise) {
        k.filters = tn_uff_product(call->reader, 2, (const int64_t[]){k.channels, k.filters});
        k.channels = 1;
    }
    TN_TRY(check_kernel(call, &k, groups, channels));
    copy_kernel(call, &k, &w);
    TN_TRY(tn_uff_window_read(call, &w));
    y->extents[y->storage.axes[1]] = k.filters;
    tn_uff_window_shape(call, &w);
    const tn_import_tensor weights = is_depthwise
                                         ? join_depthwise(call, &k, k.filters)
                                         : tn_uff_ordered(call->reader, call->inputs[1], &k.order);
    const tn_import_tensor input = tn_uff_ordered(call->reader, call->inputs[0], &y->storage);
    tn_emit_fields fields = tn_uff_window_fields(&w);
    fields.items[3] = tn_emit_i64s("dilations", w.rank, w.dilations);
    fields.items[4] = tn_emit_i64("group", groups);
    return tn_uff_emit(call, "Conv", &fields, TN_TENSORS(input, weights));
}

/* ----------------------------------------------------------------------------------------------
 * ConvTranspose */

/* The output's spatial extents from the third input: all axes as the data has them, or the spatial
 * ones alone. */
static tn_status read_output_extents(const tn_uff_call *call, const tn_uff_window *w,
                                     int64_t *out_extents) {
    size_t count = 0;
    const int64_t *values = tn_uff_integers(call->inputs[2], &count);
    const uint32_t rank = w->rank + 2;
    if (!values || (count != rank && count != w->rank))
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the output's shape ('%s') must be a constant of %" PRIu32 " integers",
                       call->inputs[2]->name, rank);
    for (uint32_t i = 0; i < w->rank; i++) {
        out_extents[i] = count == rank ? values[call->output->storage.axes[i + 2]] : values[i];
        if (out_extents[i] < 1 || out_extents[i] > INT32_MAX)
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "the output's spatial extents must be known; give the input's shape "
                           "(--shape NAME=1x3x224x224)");
    }
    return TN_OK;
}

/* The padding that takes the output to its extents. What a convolution with this window and 'same'
 * padding would have padded is cut off; where the output is to be larger still, it is filled. */
static tn_status resolve_axis(tn_uff_window *w, uint32_t axis, int64_t in, int64_t out,
                              int64_t *out_padding) {
    const int64_t reach = (w->kernel[axis] - 1) * w->dilations[axis] + 1;
    if (tn_uff_is_open(in) || in < 1 || in > INT32_MAX)
        return tn_fail(TN_ERROR_UNSUPPORTED, "the input's spatial extents must be known; give the "
                                             "input's shape (--shape NAME=1x3x224x224)");
    const int64_t full = (in - 1) * w->strides[axis] + reach;
    if (w->is_same) {
        const int64_t total = full > out ? full - out : 0;
        w->pads[axis] = total / 2;
        w->pads[w->rank + axis] = total - total / 2;
    }
    *out_padding = out - (full - w->pads[axis] - w->pads[w->rank + axis]);
    if (*out_padding >= 0 && *out_padding < w->strides[axis] + w->dilations[axis]) return TN_OK;
    return tn_fail(TN_ERROR_SHAPE,
                   "the output's extent %" PRId64 " does not follow from the input's %" PRId64
                   " with this window",
                   out, in);
}

/* The kernel's order of axes as the file has it, and its spatial extents. */
static tn_status read_kernel_order(const tn_uff_call *call, tn_uff_window *w,
                                   tn_uff_order *out_order) {
    const tn_uff_value *k = call->inputs[1];
    if (k->rank != call->output->rank)
        return tn_fail(TN_ERROR_SHAPE, "the kernel '%s' has rank %" PRIu32 ", the input %" PRIu32,
                       k->name, k->rank, call->output->rank);
    TN_TRY(tn_uff_order_read(call, 1, k->rank, out_order));
    for (uint32_t i = 0; i < w->rank; i++) {
        w->kernel[i] = k->extents[out_order->axes[i + 2]];
        if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX)
            return tn_fail(TN_ERROR_UNSUPPORTED, "the kernel's extents must be known");
    }
    return TN_OK;
}

/* Padding from the wanted extents, which become the output's. */
static tn_status resolve_window(const tn_uff_call *call, tn_uff_window *w, int64_t *out_padding) {
    tn_uff_value *y = call->output;
    int64_t extents[TN_MAX_RANK] = {0};
    TN_TRY(read_output_extents(call, w, extents));
    for (uint32_t i = 0; i < w->rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        TN_TRY(resolve_axis(w, i, *extent, extents[i], &out_padding[i]));
        *extent = extents[i];
    }
    w->is_same = false; /* its numbers are in the pads now */
    return TN_OK;
}

tn_status tn_uff_read_conv_transpose(tn_uff_call *call) {
    tn_uff_reader *reader = call->reader;
    tn_uff_value *y = call->output, *k = call->inputs[1];
    tn_uff_window w = {0};
    int64_t groups, output_padding[TN_MAX_RANK];
    tn_uff_order order;
    TN_TRY(tn_uff_window_order(call, 3));
    w.rank = y->rank - 2;
    TN_TRY(read_kernel_order(call, &w, &order));
    TN_TRY(read_groups(call, &groups));
    TN_TRY(tn_uff_window_read(call, &w));
    TN_TRY(resolve_window(call, &w, output_padding));
    y->extents[y->storage.axes[1]] =
        tn_uff_product(reader, 2, (const int64_t[]){k->extents[order.axes[0]], groups});
    const uint8_t filters_axis = order.axes[0]; /* the operator takes C, K, spatial */
    order.axes[0] = order.axes[1];
    order.axes[1] = filters_axis;
    const tn_import_tensor input = tn_uff_ordered(reader, call->inputs[0], &y->storage);
    const tn_import_tensor weights = tn_uff_ordered(reader, k, &order);
    tn_emit_fields fields = tn_uff_window_fields(&w);
    fields.items[3] = tn_emit_i64s("dilations", w.rank, w.dilations);
    fields.items[4] = tn_emit_i64s("output_padding", w.rank, output_padding);
    fields.items[5] = tn_emit_i64("group", groups);
    return tn_uff_emit(call, "ConvTranspose", &fields, TN_TENSORS(input, weights));
}
