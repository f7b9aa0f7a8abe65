/* SPDX-License-Identifier: Apache-2.0 */
/* Windows from a kernel's own fields; see window_fields.h. */
#include "onednn/window_fields.h"

#define FIELD(member, type, fallback, doc)                                                         \
    TN_FIELD(tn_dnnl_window_params, member, type, TN_OPTIONAL, fallback, doc)
#define LIST(member, flags, doc)                                                                   \
    TN_FIELD(tn_dnnl_window_params, member, TN_FIELD_I64S, flags, NULL, doc)
const tn_field tn_dnnl_window_fields[TN_DNNL_WINDOW_FIELDS] = {
    TN_FIELD_CHOICE(tn_dnnl_window_params, auto_pad, TN_FIELD_ENUM, TN_REQUIRED, "NOTSET",
                    TN_AUTO_PAD_CHOICES, "where padding comes from; NOTSET: from pads"),
    FIELD(ceil_mode, TN_FIELD_BOOL, "0", "whether the output's extents are rounded up"),
    FIELD(count_include_pad, TN_FIELD_BOOL, "0", "whether padding counts as zeros"),
    FIELD(group, TN_FIELD_I64, "1", "number of groups of channels and filters"),
    LIST(kernel_shape, TN_REQUIRED, "extents of the window"),
    LIST(strides, TN_REQUIRED, "step of the window along each spatial axis"),
    LIST(dilations, TN_REQUIRED, "distance of the window's elements along each spatial axis"),
    LIST(pads, TN_REQUIRED, "padding before each spatial axis, then after each"),
    LIST(output_padding, TN_OPTIONAL, "elements added at the end of each spatial axis"),
    LIST(output_shape, TN_OPTIONAL, "the output's spatial extents"),
};

static tn_window_fields fields_of(const tn_dnnl_window_params *params, tn_i64s kernel) {
    return (tn_window_fields){.kernel = kernel,
                              .strides = params->strides,
                              .dilations = params->dilations,
                              .pads = params->pads,
                              .auto_pad = params->auto_pad,
                              .ceil_mode = params->ceil_mode};
}

static tn_status check_rank(tn_call *call) {
    if (call->inputs[0]->rank == 4) return TN_OK;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "only two spatial axes are done here");
}

static tn_status resolve_conv(tn_call *call, const tn_tensor *weights, tn_window *out_window) {
    const tn_status status = check_rank(call);
    if (status != TN_OK) return status;
    const tn_window_fields fields =
        fields_of(call->kernel_params, (tn_i64s){2, weights->shape + 2});
    return tn_window_resolve(call, &fields, 2, call->inputs[0]->shape + 2, out_window);
}

tn_status tn_dnnl_conv_window(tn_call *call, tn_window *out_window) {
    return resolve_conv(call, call->inputs[1], out_window);
}

tn_status tn_dnnl_integer_conv_window(tn_call *call, tn_window *out_window) {
    return resolve_conv(call, call->inputs[3], out_window);
}

/* The output's extents are known: where they were wanted, the pads take away what is too much. */
static void resolve_wanted(const tn_dnnl_window_params *params, tn_window *window, uint32_t axis) {
    const int64_t more = params->output_padding.count ? params->output_padding.items[axis] : 0;
    const int64_t full =
        (window->input[axis] - 1) * window->stride[axis] + tn_window_extent(window, axis) + more;
    const int64_t total = full > window->output[axis] ? full - window->output[axis] : 0;
    const bool is_upper = params->auto_pad == TN_AUTO_PAD_SAME_UPPER;
    window->pad_begin[axis] = is_upper ? total / 2 : total - total / 2;
    window->pad_end[axis] = total - window->pad_begin[axis];
}

tn_status tn_dnnl_conv_transpose_window(tn_call *call, tn_window *out_window) {
    const tn_dnnl_window_params *params = call->kernel_params;
    tn_status status = check_rank(call);
    if (status != TN_OK) return status;
    tn_window_fields fields = fields_of(params, (tn_i64s){2, call->inputs[1]->shape + 2});
    const bool is_wanted = params->output_shape.count ||
                           params->auto_pad == TN_AUTO_PAD_SAME_UPPER ||
                           params->auto_pad == TN_AUTO_PAD_SAME_LOWER;
    if (is_wanted || params->auto_pad != TN_AUTO_PAD_NOTSET) fields.pads = (tn_i64s){0, NULL};
    status = tn_window_read(call, &fields, 2, out_window);
    if (status == TN_OK) status = tn_window_read_pads(call, &fields, out_window);
    for (uint32_t i = 0; status == TN_OK && i < 2; i++) {
        out_window->input[i] = call->inputs[0]->shape[2 + i];
        out_window->output[i] = call->outputs[0]->shape[2 + i];
        if (is_wanted) resolve_wanted(params, out_window, i);
    }
    return status;
}

tn_status tn_dnnl_pool_window(tn_call *call, tn_window *out_window) {
    const tn_dnnl_window_params *params = call->kernel_params;
    const tn_status status = check_rank(call);
    if (status != TN_OK) return status;
    const tn_window_fields fields = fields_of(params, params->kernel_shape);
    return tn_window_resolve(call, &fields, 2, call->inputs[0]->shape + 2, out_window);
}
