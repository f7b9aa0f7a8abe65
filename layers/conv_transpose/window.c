/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ConvTranspose: the output's extents and pads from the fields: pads give extents, or extents
 * (`output_shape`, SAME) give pads.
 */
#include "conv_transpose/conv_transpose.h"
#include <tenon/kit/infer.h>

/* No position may leave the range in which sums are safe. */
#define LIMIT (INT64_MAX / 8)

/* A list of one number a spatial axis, zero or more, or none. */
static tn_status check_list(tn_call *call, const char *name, tn_i64s list, uint32_t rank) {
    if (list.count != 0 && list.count != rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field '%s' has %llu numbers for %u spatial axes", name,
                                (unsigned long long)list.count, rank);
    for (uint64_t i = 0; i < list.count; i++)
        if (list.items[i] < 0 || list.items[i] > LIMIT)
            return call->host->fail(call, TN_ERROR_RANGE, "field '%s' holds %lld", name,
                                    (long long)list.items[i]);
    return TN_OK;
}

/* What one axis would have without pads. */
static tn_status find_full_extent(tn_call *call, const tn_window *window, uint32_t axis,
                                  int64_t *out_extent) {
    const tn_conv_transpose_params *params = call->params;
    int64_t more = params->output_padding.count ? params->output_padding.items[axis] : 0;
    int64_t stride = window->stride[axis], dilation = window->dilation[axis], span;
    if (more != 0 && more >= (stride > dilation ? stride : dilation))
        return call->host->fail(
            call, TN_ERROR_RANGE,
            "output_padding %lld of spatial axis %u is not below its stride or dilation",
            (long long)more, axis);
    if (window->input[axis] == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "spatial axis %u of X is empty", axis);
    if (!tn_infer_multiply(window->input[axis] - 1, stride, &span) || span > LIMIT)
        return call->host->fail(call, TN_ERROR_RANGE, "spatial axis %u of Y is too large", axis);
    *out_extent = span + tn_window_extent(window, axis) + more;
    return TN_OK;
}

/* The output's extent is wanted: pads take away what is too much. */
static void resolve_wanted(tn_window *window, uint32_t axis, int64_t full, int64_t wanted,
                           bool is_upper) {
    int64_t total = full > wanted ? full - wanted : 0;
    window->output[axis] = wanted;
    window->pad_begin[axis] = is_upper ? total / 2 : total - total / 2;
    window->pad_end[axis] = total - window->pad_begin[axis];
}

static tn_status resolve_axis(tn_call *call, tn_window *window, uint32_t axis) {
    const tn_conv_transpose_params *params = call->params;
    bool is_upper = params->auto_pad == TN_AUTO_PAD_SAME_UPPER;
    int64_t full = 0, wanted;
    TN_TRY(find_full_extent(call, window, axis, &full));
    if (params->output_shape.count) {
        resolve_wanted(window, axis, full, params->output_shape.items[axis], is_upper);
    } else if (is_upper || params->auto_pad == TN_AUTO_PAD_SAME_LOWER) {
        if (!tn_infer_multiply(window->input[axis], window->stride[axis], &wanted))
            wanted = INT64_MAX; /* refused with the shape */
        resolve_wanted(window, axis, full, wanted, is_upper);
    } else {
        window->output[axis] = full - window->pad_begin[axis] - window->pad_end[axis];
    }
    if (window->output[axis] < 0)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "the pads take more than the %lld elements of spatial axis %u",
                                (long long)full, axis);
    return TN_OK;
}

tn_status tn_conv_transpose_window(tn_call *call, tn_window *out_window) {
    const tn_conv_transpose_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, TN_CONV_TRANSPOSE_X, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[TN_CONV_TRANSPOSE_X];
    TN_TRY(tn_infer_require_rank(call, TN_CONV_TRANSPOSE_W, x->rank, x->rank));
    const tn_tensor *w = call->inputs[TN_CONV_TRANSPOSE_W];
    uint32_t rank = x->rank - 2;
    TN_TRY(check_list(call, "kernel_shape", params->kernel_shape, rank));
    TN_TRY(check_list(call, "output_padding", params->output_padding, rank));
    TN_TRY(check_list(call, "output_shape", params->output_shape, rank));
    for (uint32_t i = 0; i < rank && params->kernel_shape.count; i++)
        if (params->kernel_shape.items[i] != w->shape[2 + i])
            return call->host->fail(
                call, TN_ERROR_SHAPE, "field 'kernel_shape' says %lld where W has %lld",
                (long long)params->kernel_shape.items[i], (long long)w->shape[2 + i]);
    tn_window_fields fields = {.kernel = {rank, w->shape + 2},
                               .strides = params->strides,
                               .dilations = params->dilations,
                               .auto_pad = params->auto_pad};
    if (params->auto_pad == TN_AUTO_PAD_NOTSET && !params->output_shape.count)
        fields.pads = params->pads;
    TN_TRY(tn_window_read(call, &fields, rank, out_window));
    TN_TRY(tn_window_read_pads(call, &fields, out_window));
    for (uint32_t i = 0; i < rank; i++) {
        out_window->input[i] = x->shape[2 + i];
        TN_TRY(resolve_axis(call, out_window, i));
    }
    return TN_OK;
}
