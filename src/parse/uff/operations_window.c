/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations with a window over spatial axes, and others that name an axis of channels: Conv,
 * ConvTranspose, Pool, LRN, BatchNorm. The input is brought into N, C, spatial order by the node's
 * dimension orders; the output stays so.
 */
#include "base/status.h"
#include "parse/uff/uff.h"

#include <inttypes.h>
#include <string.h>

/* The fields that all windows have; lists count spatial axes in natural order. */
typedef struct window {
    uint32_t rank; /* of spatial axes */
    int64_t kernel[TN_MAX_RANK], strides[TN_MAX_RANK], dilations[TN_MAX_RANK];
    int64_t pads[2 * TN_MAX_RANK];
    bool is_same; /* padding so that out = ceil(in / stride), the odd one at the end */
} window;

static tn_status read_list(const tn_uff_reader *reader, const tn_uff_node *node, const char *name,
                           uint32_t rank, int64_t fallback, int64_t *out_items) {
    size_t count = 0;
    const int64_t *items;
    TN_TRY(tn_uff_field_i64s(reader, node, name, &count, &items));
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

/* The window's kernel is set by the caller. */
static tn_status read_window(tn_uff_reader *reader, const tn_uff_node *node, window *out_window) {
    const char *padding;
    window *w = out_window;
    TN_TRY(read_list(reader, node, "strides", w->rank, 1, w->strides));
    TN_TRY(read_list(reader, node, "dilation", w->rank, 1, w->dilations));
    TN_TRY(read_list(reader, node, "padding", w->rank, 0, w->pads));
    memcpy(&w->pads[w->rank], w->pads, w->rank * sizeof(int64_t));
    TN_TRY(tn_uff_field_text(reader, node, "implicit_padding", &padding));
    w->is_same = padding && strcmp(padding, "same") == 0;
    if (padding && !w->is_same)
        return tn_fail(TN_ERROR_UNSUPPORTED, "implicit padding '%s' is not known; there is 'same'",
                       padding);
    for (uint32_t i = 0; w->is_same && i < w->rank; i++)
        if (w->pads[i] != 0)
            return tn_fail(TN_ERROR_FORMAT, "padding is given both by numbers and as 'same'");
    return TN_OK;
}

static void add_window(const window *w, tn_uff_attributes *attributes) {
    tn_uff_attribute_i64s(attributes, "strides", w->rank, w->strides);
    if (w->is_same)
        tn_uff_attribute_text(attributes, "auto_pad", "SAME_UPPER");
    else
        tn_uff_attribute_i64s(attributes, "pads", 2 * (size_t)w->rank, w->pads);
}

/* The output's extent along a spatial axis. */
static int64_t window_extent(tn_uff_reader *reader, const window *w, uint32_t axis, int64_t in) {
    if (tn_uff_is_open(in)) return w->is_same && w->strides[axis] == 1 ? in : tn_uff_open(reader);
    if (w->is_same) return in / w->strides[axis] + (in % w->strides[axis] != 0);
    const int64_t reach = (w->kernel[axis] - 1) * w->dilations[axis] + 1;
    int64_t room;
    if (!tn_add_i64(in, 2 * w->pads[axis] - reach, &room) || room < 0) return tn_uff_open(reader);
    return room / w->strides[axis] + 1;
}

/* An input's axes by the node's orders; the output lies as the input is brought. */
static tn_status read_order(const tn_uff_reader *reader, tn_uff_call *call, uint32_t minimum_rank) {
    const tn_uff_value *x = call->inputs[0];
    if (x->rank < minimum_rank)
        return tn_fail(TN_ERROR_SHAPE,
                       "input '%s' has rank %" PRIu32 "; %" PRIu32 " and more is expected", x->name,
                       x->rank, minimum_rank);
    tn_uff_value_like(call->output, x);
    return tn_uff_order_read(reader, call->node, 0, x->rank, &call->output->storage);
}

/* ----------------------------------------------------------------------------------------------
 * Conv */

/* A kernel with its axes as an operator of ours takes them. `parts`: which of K (0), C (1) and
 * spatial axes (2 and on) comes at each place. */
typedef struct kernel {
    tn_tensor_id tensor;
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
    tn_tensor_id tensor;
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

static void copy_kernel(const kernel *k, window *w) {
    for (uint32_t i = 0; i < w->rank; i++) {
        const bool is_fit = k->extents[i] > 0 && k->extents[i] <= INT32_MAX;
        w->kernel[i] = is_fit ? k->extents[i] : 1;
    }
}

tn_status tn_uff_read_conv(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *y = call->output;
    window w = {0};
    kernel k = {0};
    int64_t groups;
    tn_uff_attributes attributes = {0};
    tn_tensor_id inputs[2];
    TN_TRY(read_order(reader, call, 3));
    w.rank = y->rank - 2;
    const int64_t channels = y->extents[y->storage.axes[1]];
    TN_TRY(read_groups(reader, call, &groups));
    TN_TRY(read_kernel(reader, call, groups, channels, &k));
    TN_TRY(check_kernel(call, &k, groups, channels));
    copy_kernel(&k, &w);
    TN_TRY(read_window(reader, call->node, &w));
    add_window(&w, &attributes);
    tn_uff_attribute_i64s(&attributes, "dilations", w.rank, w.dilations);
    tn_uff_attribute_i64(&attributes, "group", groups);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &y->storage, &inputs[0]));
    inputs[1] = k.tensor;
    y->extents[y->storage.axes[1]] = k.filters;
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        *extent = window_extent(reader, &w, i, *extent);
    }
    return tn_uff_emit(reader, "Conv", 0, y->name, &attributes, 2, inputs, &y->tensor);
}

/* ----------------------------------------------------------------------------------------------
 * ConvTranspose */

/* The output's spatial extents from the third input: all axes as the data has them, or the spatial
 * ones alone. */
static tn_status read_output_extents(tn_uff_reader *reader, const tn_uff_call *call,
                                     const window *w, int64_t *out_extents) {
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
static tn_status resolve_axis(window *w, uint32_t axis, int64_t in, int64_t out,
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

tn_status tn_uff_read_conv_transpose(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *y = call->output, *kernel_value = call->inputs[1];
    window w = {0};
    int64_t groups, extents[TN_MAX_RANK] = {0}, output_padding[TN_MAX_RANK];
    tn_uff_attributes attributes = {0};
    tn_tensor_id inputs[2];
    tn_uff_order order;
    TN_TRY(read_order(reader, call, 3));
    w.rank = y->rank - 2;
    if (kernel_value->rank != y->rank)
        return tn_fail(TN_ERROR_SHAPE, "the kernel '%s' has rank %" PRIu32 ", the input %" PRIu32,
                       kernel_value->name, kernel_value->rank, y->rank);
    TN_TRY(tn_uff_order_read(reader, call->node, 1, y->rank, &order));
    for (uint32_t i = 0; i < w.rank; i++) {
        w.kernel[i] = kernel_value->extents[order.axes[i + 2]];
        if (w.kernel[i] < 1 || w.kernel[i] > INT32_MAX)
            return tn_fail(TN_ERROR_UNSUPPORTED, "the kernel's extents must be known");
    }
    TN_TRY(read_groups(reader, call, &groups));
    TN_TRY(read_window(reader, call->node, &w));
    TN_TRY(read_output_extents(reader, call, &w, extents));
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        TN_TRY(resolve_axis(&w, i, *extent, extents[i], &output_padding[i]));
        *extent = extents[i];
    }
    w.is_same = false; /* its numbers are in the pads now */
    add_window(&w, &attributes);
    tn_uff_attribute_i64s(&attributes, "dilations", w.rank, w.dilations);
    tn_uff_attribute_i64s(&attributes, "output_padding", w.rank, output_padding);
    tn_uff_attribute_i64(&attributes, "group", groups);
    int64_t *channels = &y->extents[y->storage.axes[1]];
    *channels =
        tn_uff_product(reader, 2, (const int64_t[]){kernel_value->extents[order.axes[0]], groups});
    const uint8_t filters_axis = order.axes[0]; /* the operator takes C, K, spatial */
    order.axes[0] = order.axes[1];
    order.axes[1] = filters_axis;
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &y->storage, &inputs[0]));
    TN_TRY(tn_uff_value_ordered(reader, kernel_value, &order, &inputs[1]));
    return tn_uff_emit(reader, "ConvTranspose", 0, y->name, &attributes, 2, inputs, &y->tensor);
}

/* ----------------------------------------------------------------------------------------------
 * Pool, LRN, BatchNorm */

tn_status tn_uff_read_pool(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *y = call->output;
    const char *function;
    window w = {0};
    tn_uff_attributes attributes = {0};
    tn_tensor_id input;
    TN_TRY(read_order(reader, call, 3));
    w.rank = y->rank - 2;
    TN_TRY(tn_uff_field_text(reader, call->node, "func", &function));
    const bool is_max = function && strcmp(function, "max") == 0;
    if (!is_max && (!function || strcmp(function, "avg") != 0))
        return tn_fail(function ? TN_ERROR_UNSUPPORTED : TN_ERROR_FORMAT,
                       "field 'func' is '%s': expected max or avg", function ? function : "");
    TN_TRY(read_list(reader, call->node, "kernel", w.rank, 1, w.kernel));
    TN_TRY(read_window(reader, call->node, &w));
    tn_uff_attribute_i64s(&attributes, "kernel_shape", w.rank, w.kernel);
    add_window(&w, &attributes);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &y->storage, &input));
    for (uint32_t i = 0; i < w.rank; i++) {
        int64_t *extent = &y->extents[y->storage.axes[i + 2]];
        *extent = window_extent(reader, &w, i, *extent);
    }
    return tn_uff_emit(reader, is_max ? "MaxPool" : "AveragePool", 0, y->name, &attributes, 1,
                       &input, &y->tensor);
}

/* UFF keeps the framework's numbers: alpha is not divided by the window's size, and the window is
 * given by its radius. */
tn_status tn_uff_read_lrn(tn_uff_reader *reader, tn_uff_call *call) {
    int64_t radius;
    double alpha, beta, bias;
    tn_uff_attributes attributes = {0};
    tn_tensor_id input;
    TN_TRY(read_order(reader, call, 2));
    TN_TRY(tn_uff_field_i64(reader, call->node, "window_size", 5, &radius));
    TN_TRY(tn_uff_field_f64(reader, call->node, "alpha", 1, &alpha));
    TN_TRY(tn_uff_field_f64(reader, call->node, "beta", 0.5, &beta));
    TN_TRY(tn_uff_field_f64(reader, call->node, "k", 1, &bias));
    if (radius < 0 || radius > 65536)
        return tn_fail(TN_ERROR_FORMAT, "field 'window_size' is %" PRId64, radius);
    const int64_t size = 2 * radius + 1;
    tn_uff_attribute_i64(&attributes, "size", size);
    tn_uff_attribute_f64(&attributes, "alpha", alpha * (double)size);
    tn_uff_attribute_f64(&attributes, "beta", beta);
    tn_uff_attribute_f64(&attributes, "bias", bias);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &call->output->storage, &input));
    return tn_uff_emit(reader, "LRN", 0, call->output->name, &attributes, 1, &input,
                       &call->output->tensor);
}

tn_status tn_uff_read_batch_norm(tn_uff_reader *reader, tn_uff_call *call) {
    double epsilon;
    tn_uff_attributes attributes = {0};
    tn_tensor_id inputs[5];
    TN_TRY(read_order(reader, call, 2));
    TN_TRY(tn_uff_field_require(reader, call->node, "epsilon"));
    TN_TRY(tn_uff_field_f64(reader, call->node, "epsilon", 0, &epsilon));
    tn_uff_attribute_f64(&attributes, "epsilon", epsilon);
    TN_TRY(tn_uff_value_ordered(reader, call->inputs[0], &call->output->storage, &inputs[0]));
    for (uint32_t i = 1; i < 5; i++)
        TN_TRY(tn_uff_value_plain(reader, call->inputs[i], &inputs[i]));
    return tn_uff_emit(reader, "BatchNormalization", 0, call->output->name, &attributes, 5, inputs,
                       &call->output->tensor);
}
