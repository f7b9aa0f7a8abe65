/* SPDX-License-Identifier: Apache-2.0 */
/* AveragePool: the mean of each window. */
#include "average_pool/average_pool.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include "kit/window/byte_pool.h"

static const tn_field average_pool_fields[] = {
    TN_FIELD_CHOICE(tn_average_pool_params, auto_pad, TN_FIELD_ENUM, TN_OPTIONAL, "NOTSET",
                    TN_AUTO_PAD_CHOICES, "where padding comes from; NOTSET: from pads"),
    TN_FIELD(tn_average_pool_params, ceil_mode, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the output's extents are rounded up"),
    TN_FIELD(tn_average_pool_params, count_include_pad, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether padding counts as zeros"),
    TN_FIELD(tn_average_pool_params, kernel_shape, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "extents of the window"),
    TN_FIELD(tn_average_pool_params, strides, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "step of the window along each spatial axis; absent: 1"),
    TN_FIELD(tn_average_pool_params, dilations, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "distance of the window's elements along each spatial axis; absent: 1"),
    TN_FIELD(tn_average_pool_params, pads, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "padding before each spatial axis, then after each; absent: 0"),
};

tn_status tn_average_pool_window(tn_call *call, tn_window *out_window) {
    const tn_average_pool_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    tn_window_fields fields = {.kernel = params->kernel_shape,
                               .strides = params->strides,
                               .dilations = params->dilations,
                               .pads = params->pads,
                               .auto_pad = params->auto_pad,
                               .ceil_mode = params->ceil_mode};
    if (fields.kernel.count == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "field 'kernel_shape' is empty");
    return tn_window_resolve(call, &fields, x->rank - 2, x->shape + 2, out_window);
}

static tn_status average_pool_infer(tn_call *call) {
    tn_window window;
    TN_TRY(tn_average_pool_window(call, &window));
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK] = {x->shape[0], x->shape[1]};
    for (uint32_t i = 0; i < window.rank; i++)
        shape[2 + i] = window.output[i];
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

/* What the sum of a window is divided by: its elements inside the input or, where the field says
 * so, inside the input and its pads (what ceil_mode adds beyond them never counts). */
static double divisor_of(const tn_average_pool_params *params, const tn_window *window,
                         const int64_t *position, const tn_window_view *view) {
    double divisor = 1;
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t count = view->count[i];
        if (params->count_include_pad) {
            int64_t begin = position[i] * window->stride[i] - window->pad_begin[i];
            int64_t end = window->input[i] + window->pad_end[i];
            count = (end - begin - 1) / window->dilation[i] + 1;
            if (count > window->kernel[i]) count = window->kernel[i];
        }
        divisor *= (double)count;
    }
    return divisor;
}

/* The mean of one window; zero where it sees padding alone. */
static double average(const tn_call *call, const tn_window *window, int64_t plane,
                      const int64_t *position) {
    const tn_tensor *x = call->inputs[0];
    int64_t index[TN_WINDOW_MAX_RANK] = {0};
    uint32_t last = window->rank - 1;
    tn_window_view view;
    double sum = 0;
    if (!tn_window_look(window, position, &view)) return 0;
    do {
        int64_t row = plane + tn_window_offset(window, &view, index);
        for (int64_t i = 0; i < view.count[last]; i++)
            sum += tn_element_load_f64(x->data, x->type, row + i * window->dilation[last]);
    } while (tn_window_step(last, view.count, index));
    return sum / divisor_of(call->params, window, position, &view);
}

static tn_status average_pool_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_window window;
    TN_TRY(tn_average_pool_window(call, &window));
    if (tn_element_count(y) == 0) return TN_OK;
    int64_t planes = x->shape[0] * x->shape[1], at = 0;
    int64_t plane_elements = tn_window_count(window.rank, window.input);
    for (int64_t plane = 0; plane < planes; plane++) {
        int64_t position[TN_WINDOW_MAX_RANK] = {0};
        do {
            double mean = average(call, &window, plane * plane_elements, position);
            tn_element_store_f64(y->data, y->type, at++, mean);
        } while (tn_window_step(window.rank, window.output, position));
    }
    return TN_OK;
}

static const tn_port average_pool_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes")};
static const tn_port average_pool_outputs[] = {TN_PORT("Y", "T", 0, "the means")};
static const char *const average_pool_cases[] = {
    "kernel_shape=[1,1] | X=f32[1,1,1,1]",
    "kernel_shape=[2,2] strides=[2,2] | X=f32[2,3,8,10]",
    "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] | X=f32[1,5,15,17]",
    "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=1 | X=f32[1,5,15,17]",
    "kernel_shape=[2,3] dilations=[2,3] ceil_mode=1 strides=[3,2] | X=f32[1,2,12,13]",
    "kernel_shape=[4,4] auto_pad=SAME_LOWER strides=[2,3] | X=f64[1,2,9,11]",
    "kernel_shape=[3] pads=[1,1] ceil_mode=1 strides=[2] count_include_pad=1 | X=f32[2,2,18]",
    "kernel_shape=[2,2,2] strides=[2,2,2] | X=f16[1,2,5,5,5]",
    "kernel_shape=[2,2] | X=f32[0,3,8,8]",
    "kernel_shape=[3,3] pads=[1,1,1,1] | X=f32[1,64,35,35]",
};

TN_OPERATOR(average_pool, "", "AveragePool", 1, "The mean of each window.",
            TN_FIELDS(tn_average_pool_params, average_pool_fields));

static bool read_bytes(const tn_call *call, tn_byte_pool *out_pool) {
    const tn_average_pool_params *params = call->params;
    tn_call probe = *call;
    tn_window window;
    if (tn_average_pool_window(&probe, &window) != TN_OK ||
        !tn_byte_pool_of_window(call, &window, out_pool))
        return false;
    out_pool->is_mean = true;
    out_pool->counts_padding = params->count_include_pad;
    return true;
}

TN_BYTE_POOL_KERNELS("AveragePool", read_bytes);
TN_LAYER(average_pool, TN_OPERATORS(&average_pool_1),
         TN_KERNELS(&bytes_avx512vnni, &bytes_avx2, &bytes_baseline));
