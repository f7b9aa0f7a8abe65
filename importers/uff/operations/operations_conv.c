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

/* A kernel with its axes as an operator of ours takes them. `parts`: which of K (0), C (1) and
 * spatial axes (2 and on) comes at each place. */
typedef struct kernel {
    tn_import_tensor tensor;
    int64_t filters, channels;
    int64_t extents[TN_MAX_RANK]; /* spatial */
} kernel;

/* A depthwise kernel is written as [H, W, C, M] though it has C * M filters of one channel. */
static tn_status join_depthwise(tn_uff_reader *reader, const tn_uff_call *call,
                                const tn_uff_order *order, kernel *k) {
    tn_uff_value *w = call->inputs[1];
    tn_uff_order swapped = *order;
    int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
    swapped.axes[0] = order->axes[1];
    swapped.axes[1] = order->axes[0];
    tn_import_tensor tensor;
    TN_TRY(tn_uff_value_ordered(reader, w, &swapped, &tensor));
    for (uint32_t i = 0; i < w->rank; i++)
        from[i] = to[i] = w->extents[swapped.axes[i]];
    to[0] = tn_uff_product(reader, 2, from);
    to[1] = 1;
    k->filters = to[0];
    k->channels = 1;
    return tn_uff_emit_reshape(reader, tn_uff_side_name(reader, call->output->name, "kernel"),
                               tensor, w->rank, from, w->rank, to, &k->tensor);
}

static tn_status read_kernel(tn_uff_reader *reader, const tn_uff_call *call, int64_t groups,
                             int64_t channels, kernel *k) {
    tn_uff_value *w = call->inputs[1];
    tn_uff_order order;
    if (w->rank != call->inputs[0]->rank)
        return tn_fail(TN_ERROR_SHAPE,
                       "the kernel '%s' has rank %" PRIu32 ", the input '%s' %" PRIu32, w->name,
                       w->rank, call->inputs[0]->name, call->inputs[0]->rank);
    TN_TRY(tn_uff_order_read(reader, call->node, 1, w->rank, &order));
    k->filters = w->extents[order.axes[0]];
    k->channels = w->extents[order.axes[1]];
    for (uint32_t i = 2; i < w->rank; i++)
        k->extents[i - 2] = w->extents[order.axes[i]];
    if (groups > 1 && k->channels == groups && channels == groups)
        return join_depthwise(reader, call, &order, k);
    return tn_uff_value_ordered(reader, w, &order, &k->tensor);
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

static tn_status read_groups(const tn_uff_reader *reader, const tn_uff_call *call,
                             int64_t *out_groups) {
    TN_TRY(tn_uff_field_i64(reader, call->node, "number_groups", 1, out_groups));
    if (*out_groups >= 1 && *out_groups <= INT32_MAX) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT, "field 'number_groups' is %" PRId64, *out_groups);
}

static void copy_kernel(const kernel *k, tn_uff_window *w) {
    for (uint32_t i = 0; i < w->rank; i++) {
        const bool is_fit = k->extents[i] > 0 && k->extents[i] <= INT32_MAX;
        w->kernel[i] = is_fit ? k->extents[i] : 1;
    }
}

tn_status tn_uff_read_conv(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *y = call->output;
    tn_uff_window w = {0};
    kernel k = {0};
    int64_t groups;
    tn_uff_attributes attributes = {0};
    tn_import_tensor inputs[2];
    TN_TRY(tn_uff_window_order(reader, call, 3));
    w.rank = y->rank - 2;
    const int64_t channels = y->extents[y->storage.axes[1]];
    TN_TRY(read_groups(reader, call, &groups));
    TN_TRY(read_kernel(reader, call, groups, channels, &k));
    TN_TRY(check_kernel(call, &k, groups, channels));
    copy_kernel(&k, &w);
    TN_TRY(tn_uff_window_read(reader, call->node, &w));
    tn_uff_window_add(&w, &attributes);
    tn_uff_attribute_i64s(&attributes, "dilations", w.rank, w.dilations);
    tn_uff_attribute_i64(&attributes, "group", groups);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &y->storage, &inputs[0]));
    inputs[1] = k.tensor;
    y->extents[y->storage.axes[1]] = k.filters;
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        *extent = tn_uff_window_extent(reader, &w, i, *extent);
    }
    return tn_uff_emit(reader, "Conv", 0, y->name, &attributes, 2, inputs, &y->tensor);
}

/* ----------------------------------------------------------------------------------------------
 * ConvTranspose */

/* The output's spatial extents from the third input: all axes as the data has them, or the spatial
 * ones alone. */
static tn_status read_output_extents(tn_uff_reader *reader, const tn_uff_call *call,
                                     const tn_uff_window *w, int64_t *out_extents) {
    size_t count = 0;
    const int64_t *numbers = tn_uff_numbers(call->inputs[2], &count);
    const uint32_t rank = w->rank + 2;
    (void)reader;
    if (!numbers || (count != rank && count != w->rank))
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the output's shape ('%s') must be a constant of %" PRIu32 " integers",
                       call->inputs[2]->name, rank);
    for (uint32_t i = 0; i < w->rank; i++) {
        out_extents[i] = count == rank ? numbers[call->output->storage.axes[i + 2]] : numbers[i];
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
static tn_status read_kernel_order(tn_uff_reader *reader, const tn_uff_call *call, tn_uff_window *w,
                                   tn_uff_order *out_order) {
    const tn_uff_value *k = call->inputs[1];
    if (k->rank != call->output->rank)
        return tn_fail(TN_ERROR_SHAPE, "the kernel '%s' has rank %" PRIu32 ", the input %" PRIu32,
                       k->name, k->rank, call->output->rank);
    TN_TRY(tn_uff_order_read(reader, call->node, 1, k->rank, out_order));
    for (uint32_t i = 0; i < w->rank; i++) {
        w->kernel[i] = k->extents[out_order->axes[i + 2]];
        if (w->kernel[i] < 1 || w->kernel[i] > INT32_MAX)
            return tn_fail(TN_ERROR_UNSUPPORTED, "the kernel's extents must be known");
    }
    return TN_OK;
}

/* Padding from the wanted extents, which become the output's. */
static tn_status resolve_window(tn_uff_reader *reader, const tn_uff_call *call, tn_uff_window *w,
                                int64_t *out_padding) {
    tn_uff_value *y = call->output;
    int64_t extents[TN_MAX_RANK] = {0};
    TN_TRY(read_output_extents(reader, call, w, extents));
    for (uint32_t i = 0; i < w->rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        TN_TRY(resolve_axis(w, i, *extent, extents[i], &out_padding[i]));
        *extent = extents[i];
    }
    w->is_same = false; /* its numbers are in the pads now */
    return TN_OK;
}

tn_status tn_uff_read_conv_transpose(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *y = call->output, *k = call->inputs[1];
    tn_uff_window w = {0};
    int64_t groups, output_padding[TN_MAX_RANK];
    tn_uff_attributes attributes = {0};
    tn_import_tensor inputs[2];
    tn_uff_order order;
    TN_TRY(tn_uff_window_order(reader, call, 3));
    w.rank = y->rank - 2;
    TN_TRY(read_kernel_order(reader, call, &w, &order));
    TN_TRY(read_groups(reader, call, &groups));
    TN_TRY(tn_uff_window_read(reader, call->node, &w));
    TN_TRY(resolve_window(reader, call, &w, output_padding));
    tn_uff_window_add(&w, &attributes);
    tn_uff_attribute_i64s(&attributes, "dilations", w.rank, w.dilations);
    tn_uff_attribute_i64s(&attributes, "output_padding", w.rank, output_padding);
    tn_uff_attribute_i64(&attributes, "group", groups);
    y->extents[y->storage.axes[1]] =
        tn_uff_product(reader, 2, (const int64_t[]){k->extents[order.axes[0]], groups});
    const uint8_t filters_axis = order.axes[0]; /* the operator takes C, K, spatial */
    order.axes[0] = order.axes[1];
    order.axes[1] = filters_axis;
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &y->storage, &inputs[0]));
    TN_TRY(tn_uff_value_ordered(reader, k, &order, &inputs[1]));
    return tn_uff_emit(reader, "ConvTranspose", 0, y->name, &attributes, 2, inputs, &y->tensor);
}
