/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows; see window.h. */
#include "kit/window/window.h"
#include <tenon/kit/infer.h>

static tn_status read_list(tn_call *call, const char *name, tn_i64s list, uint32_t rank,
                           int64_t *out_values) {
    if (list.count != 0 && list.count != rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field '%s' has %llu numbers for %u spatial axes", name,
                                (unsigned long long)list.count, rank);
    for (uint32_t i = 0; i < rank; i++) {
        out_values[i] = list.count ? list.items[i] : 1;
        if (out_values[i] < 1)
            return call->host->fail(call, TN_ERROR_RANGE, "field '%s' holds %lld, at least 1", name,
                                    (long long)out_values[i]);
    }
    return TN_OK;
}

tn_status tn_window_read(tn_call *call, const tn_window_fields *fields, uint32_t rank,
                         tn_window *out_window) {
    out_window->rank = rank;
    TN_TRY(read_list(call, "kernel_shape", fields->kernel, rank, out_window->kernel));
    TN_TRY(read_list(call, "strides", fields->strides, rank, out_window->stride));
    TN_TRY(read_list(call, "dilations", fields->dilations, rank, out_window->dilation));
    for (uint32_t i = 0; i < rank; i++) {
        int64_t span;
        if (!tn_infer_multiply(out_window->kernel[i] - 1, out_window->dilation[i], &span) ||
            span > INT64_MAX / 8)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "the window of spatial axis %u is too large", i);
    }
    return TN_OK;
}

tn_status tn_window_read_pads(tn_call *call, const tn_window_fields *fields, tn_window *window) {
    tn_i64s pads = fields->pads;
    if (pads.count != 0 && pads.count != 2 * (uint64_t)window->rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field 'pads' has %llu numbers for %u spatial axes, expected %u",
                                (unsigned long long)pads.count, window->rank, 2 * window->rank);
    for (uint64_t i = 0; i < pads.count; i++)
        if (pads.items[i] < 0 || pads.items[i] > INT64_MAX / 8)
            return call->host->fail(call, TN_ERROR_RANGE, "field 'pads' holds %lld",
                                    (long long)pads.items[i]);
    for (uint32_t i = 0; i < window->rank; i++) {
        window->pad_begin[i] = pads.count ? pads.items[i] : 0;
        window->pad_end[i] = pads.count ? pads.items[window->rank + i] : 0;
    }
    return TN_OK;
}

/* SAME: the output's extent is given by input and stride, the padding follows. */
static void resolve_same(tn_window *window, uint32_t axis, bool is_upper) {
    int64_t input = window->input[axis], stride = window->stride[axis];
    int64_t output = input / stride + (input % stride != 0);
    int64_t total = (output - 1) * stride + tn_window_extent(window, axis) - input;
    if (output == 0 || total < 0) total = 0;
    window->output[axis] = output;
    window->pad_begin[axis] = is_upper ? total / 2 : total - total / 2;
    window->pad_end[axis] = total - window->pad_begin[axis];
}

static tn_status resolve_padded(tn_call *call, tn_window *window, uint32_t axis, bool ceil_mode) {
    int64_t stride = window->stride[axis], begin = window->pad_begin[axis];
    int64_t extent = tn_window_extent(window, axis), padded;
    if (!tn_infer_add(window->input[axis], begin + window->pad_end[axis], &padded) ||
        padded > INT64_MAX / 2)
        return call->host->fail(call, TN_ERROR_RANGE, "spatial axis %u is too large with its pads",
                                axis);
    if (extent > padded)
        return call->host->fail(
            call, TN_ERROR_SHAPE,
            "the window covers %lld elements of spatial axis %u, which has %lld with its pads",
            (long long)extent, axis, (long long)padded);
    int64_t steps = (padded - extent) / stride;
    /* One window more for the rest, where it begins inside the input or the padding before it. */
    if (ceil_mode && (padded - extent) % stride != 0 &&
        stride <= (window->input[axis] + begin - 1 - steps * stride))
        steps++;
    window->output[axis] = steps + 1;
    return TN_OK;
}

tn_status tn_window_resolve(tn_call *call, const tn_window_fields *fields, uint32_t rank,
                            const int64_t *input, tn_window *out_window) {
    TN_TRY(tn_window_read(call, fields, rank, out_window));
    for (uint32_t i = 0; i < rank; i++) {
        out_window->input[i] = input[i];
        out_window->pad_begin[i] = out_window->pad_end[i] = 0;
    }
    if (fields->auto_pad == TN_AUTO_PAD_NOTSET)
        TN_TRY(tn_window_read_pads(call, fields, out_window));
    for (uint32_t i = 0; i < rank; i++) {
        if (fields->auto_pad == TN_AUTO_PAD_SAME_UPPER ||
            fields->auto_pad == TN_AUTO_PAD_SAME_LOWER)
            resolve_same(out_window, i, fields->auto_pad == TN_AUTO_PAD_SAME_UPPER);
        else
            TN_TRY(resolve_padded(call, out_window, i, fields->ceil_mode));
    }
    return TN_OK;
}

bool tn_window_look(const tn_window *window, const int64_t *position, tn_window_view *out_view) {
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t step = window->dilation[i];
        int64_t begin = position[i] * window->stride[i] - window->pad_begin[i];
        int64_t skipped = begin < 0 ? (-begin + step - 1) / step : 0;
        begin += skipped * step;
        if (skipped >= window->kernel[i] || begin >= window->input[i]) return false;
        int64_t inside = (window->input[i] - begin - 1) / step + 1;
        int64_t left = window->kernel[i] - skipped;
        out_view->begin[i] = begin;
        out_view->count[i] = inside < left ? inside : left;
    }
    return true;
}

int64_t tn_window_offset(const tn_window *window, const tn_window_view *view,
                         const int64_t *index) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < window->rank; i++)
        offset = offset * window->input[i] + view->begin[i] + index[i] * window->dilation[i];
    return offset;
}

int64_t tn_window_count(uint32_t rank, const int64_t *extents) {
    return tn_infer_product(extents, 0, rank);
}

bool tn_window_step(uint32_t rank, const int64_t *extents, int64_t *index) {
    for (uint32_t axis = rank; axis-- > 0;) {
        if (++index[axis] < extents[axis]) return true;
        index[axis] = 0;
    }
    return false;
}
