/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of means.h: shapes, references, tables. */
#include "pool/quantized/means.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * reading a node */

static const bool of_windows = false, of_planes = true; /* what `user` of the operators points at */

static bool is_global(const tn_call *call) {
    return *(const bool *)call->op->user;
}

static tn_status read_window(tn_call *call, tn_window *out_window) {
    if (!is_global(call)) return tn_pool_window(call, out_window);
    TN_TRY(tn_infer_require_rank(call, TN_MEANS_X, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[TN_MEANS_X];
    *out_window = (tn_window){.rank = x->rank - 2};
    for (uint32_t i = 0; i < out_window->rank; i++) {
        out_window->input[i] = out_window->kernel[i] = x->shape[2 + i];
        out_window->output[i] = out_window->stride[i] = out_window->dilation[i] = 1;
    }
    return TN_OK;
}

static tn_status check_numbers(tn_call *call) {
    for (uint32_t i = TN_MEANS_X_SCALE; i <= TN_MEANS_Y_ZERO; i++) {
        const tn_tensor *tensor = tn_infer_input(call, i);
        if (tensor && tn_element_count(tensor) != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one number",
                                    tn_infer_input_name(call, i));
    }
    return TN_OK;
}

static int32_t zero_of(const tn_call *call, uint32_t input) {
    const tn_tensor *zero = tn_infer_input(call, input);
    return zero ? (int32_t)tn_element_i64(zero, 0) : 0;
}

/* Whether scales and zero points have their numbers, as in a run. */
static bool are_known(const tn_call *call) {
    for (uint32_t i = TN_MEANS_X_SCALE; i <= TN_MEANS_Y_ZERO; i++) {
        const tn_tensor *tensor = tn_infer_input(call, i);
        if (tensor && !tensor->data) return false;
    }
    return true;
}

tn_status tn_means_read(tn_call *call, tn_means *out_means) {
    tn_means means = {.flip = call->inputs[TN_MEANS_X]->type == TN_I8 ? 0x80 : 0};
    TN_TRY(check_numbers(call));
    TN_TRY(read_window(call, &means.window));
    if (are_known(call)) {
        means.x_zero = zero_of(call, TN_MEANS_X_ZERO) + means.flip;
        means.y_zero = zero_of(call, TN_MEANS_Y_ZERO) + means.flip;
        means.x_scale = tn_element_f64(call->inputs[TN_MEANS_X_SCALE], 0);
        means.y_scale = tn_element_f64(call->inputs[TN_MEANS_Y_SCALE], 0);
    }
    *out_means = means;
    return TN_OK;
}

int64_t tn_means_divisor(const tn_call *call, const tn_window *window, const int64_t *position,
                         const tn_window_view *view) {
    const tn_pool_params *params = call->params;
    const bool counts_padding = !is_global(call) && params->count_include_pad;
    int64_t divisor = 1;
    for (uint32_t i = 0; i < window->rank; i++) {
        int64_t count = view->count[i];
        if (counts_padding) { /* what ceil_mode adds beyond the pads never counts */
            const int64_t begin = position[i] * window->stride[i] - window->pad_begin[i];
            const int64_t end = window->input[i] + window->pad_end[i];
            count = (end - begin - 1) / window->dilation[i] + 1;
            if (count > window->kernel[i]) count = window->kernel[i];
        }
        divisor *= count;
    }
    return divisor;
}

static tn_status means_infer(tn_call *call) {
    tn_window window;
    TN_TRY(check_numbers(call));
    TN_TRY(read_window(call, &window));
    const tn_tensor *x = call->inputs[TN_MEANS_X];
    int64_t shape[TN_MAX_RANK] = {x->shape[0], x->shape[1]};
    for (uint32_t i = 0; i < window.rank; i++)
        shape[2 + i] = window.output[i];
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

/* ----------------------------------------------------------------------------------------------
 * reference */

static void store_mean(const tn_call *call, const tn_means *means, int64_t plane,
                       const int64_t *position, int64_t at) {
    const tn_tensor *x = call->inputs[TN_MEANS_X], *y = call->outputs[0];
    const tn_window *window = &means->window;
    const uint32_t last = window->rank - 1;
    int64_t index[TN_WINDOW_MAX_RANK] = {0};
    tn_window_view view;
    double sum = 0, divisor = 1;
    if (tn_window_look(window, position, &view)) {
        divisor = (double)tn_means_divisor(call, window, position, &view);
        do {
            const int64_t row = plane + tn_window_offset(window, &view, index);
            for (int64_t i = 0; i < view.count[last]; i++)
                sum += (double)(tn_element_i64(x, row + i * window->dilation[last]) + means->flip -
                                means->x_zero);
        } while (tn_window_step(last, view.count, index));
    }
    const double steps = sum * means->x_scale / (divisor * means->y_scale);
    tn_element_set_f64(y, at, (isnan(steps) ? 0 : nearbyint(steps)) + means->y_zero - means->flip);
}

static tn_status means_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[TN_MEANS_X];
    tn_means means;
    TN_TRY(tn_means_read(call, &means));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    const int64_t planes = x->shape[0] * x->shape[1];
    const int64_t elements = tn_window_count(means.window.rank, means.window.input);
    for (int64_t plane = 0, at = 0; plane < planes; plane++) {
        int64_t position[TN_WINDOW_MAX_RANK] = {0};
        do
            store_mean(call, &means, plane * elements, position, at++);
        while (tn_window_step(means.window.rank, means.window.output, position));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_field average_fields[] = {
    TN_FIELD_CHOICE(tn_pool_params, auto_pad, TN_FIELD_ENUM, TN_OPTIONAL, "NOTSET",
                    TN_AUTO_PAD_CHOICES, "where padding comes from; NOTSET: from pads"),
    TN_FIELD(tn_pool_params, ceil_mode, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the output's extents are rounded up"),
    TN_FIELD(tn_pool_params, count_include_pad, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether padding counts as zeros"),
    TN_FIELD(tn_pool_params, kernel_shape, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "extents of the window"),
    TN_FIELD_STRIDES(tn_pool_params),
    TN_FIELD_DILATIONS(tn_pool_params),
    TN_FIELD_PADS(tn_pool_params),
};
static const tn_port means_inputs[] = {
    TN_PORT("X", "T:u8|i8", 0, "batch, channels, spatial axes"),
    TN_PORT("x_scale", "f32", 0, "one number"),
    TN_PORT("x_zero_point", "T", TN_PORT_OPTIONAL, "one number; absent: 0"),
    TN_PORT("y_scale", "f32", 0, "one number"),
    TN_PORT("y_zero_point", "T", TN_PORT_OPTIONAL, "one number; absent: 0"),
};
static const tn_port means_outputs[] = {TN_PORT("Y", "T", 0, "the means in steps of y_scale")};
#define SCALES_OF(type, x_zero, y_zero)                                                            \
    "x_scale=f32[]{0.03} x_zero_point=" type "[]{" x_zero "} y_scale=f32[1]{0.025} "               \
    "y_zero_point=" type "[1]{" y_zero "}"
static const char *const average_cases[] = {
    ("kernel_shape=[2] strides=[2] | X=u8[1,1,8]{1,2,2,3,0,3,255,254} x_scale=f32[]{1} "
     "y_scale=f32[]{1} | Y=u8[1,1,4]{2,2,2,254}"),
    ("kernel_shape=[2] strides=[2] | X=i8[1,1,4]{-128,-127,127,5} x_scale=f32[]{1} "
     "x_zero_point=i8[]{1} y_scale=f32[]{0.5} | Y=i8[1,1,2]{-128,127}"),
    "kernel_shape=[2,2] strides=[2,2] | X=u8[2,3,8,10] " SCALES_OF("u8", "120", "7"),
    "kernel_shape=[3,3] pads=[1,1,1,1] | X=i8[1,37,9,11] " SCALES_OF("i8", "-3", "5"),
    ("kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=1 | "
     "X=u8[1,5,15,17] " SCALES_OF("u8", "128", "128")),
    ("kernel_shape=[2,3] dilations=[2,3] ceil_mode=1 strides=[3,2] | X=i8[1,2,12,13] " SCALES_OF(
        "i8", "0", "-128")),
    ("kernel_shape=[4,4] auto_pad=SAME_LOWER strides=[2,3] | X=u8[1,2,9,11] " SCALES_OF("u8", "255",
                                                                                        "0")),
    ("kernel_shape=[3] pads=[1,1] ceil_mode=1 strides=[2] count_include_pad=1 | "
     "X=u8[2,2,18] " SCALES_OF("u8", "9", "90")),
    "kernel_shape=[2,2,2] strides=[2,2,2] | X=u8[1,2,5,5,5] " SCALES_OF("u8", "9", "90"),
    "kernel_shape=[2,2] | X=u8[0,3,8,8] x_scale=f32[]{1} y_scale=f32[]{1}",
    "kernel_shape=[3,3] pads=[1,1,1,1] | X=u8[1,600,14,14] " SCALES_OF("u8", "9", "90"),
};
static const char *const global_cases[] = {
    ("| X=u8[1,2,2,2]{1,2,3,4,0,0,0,2} x_scale=f32[]{1} x_zero_point=u8[]{0} y_scale=f32[]{1} "
     "y_zero_point=u8[]{3} | Y=u8[1,2,1,1]{5,3}"),
    "| X=u8[2,3,5,7] " SCALES_OF("u8", "120", "7"),
    "| X=i8[1,3,17] " SCALES_OF("i8", "-3", "5"),
    "| X=i8[1,2,3,4,5] " SCALES_OF("i8", "0", "-128"),
    "| X=u8[0,3,8,8] x_scale=f32[]{1} y_scale=f32[]{1}",
    "| X=u8[1,2,0] x_scale=f32[]{1} y_scale=f32[]{1} y_zero_point=u8[]{9} | Y=u8[1,2,1]{9,9}",
    "| X=u8[1,2048,7,7] " SCALES_OF("u8", "0", "0"),
};
#define MEANS(name_of, of_name, words, of_cases, ...)                                              \
    const tn_operator name_of = {TN_OPERATOR_BEGIN("Tenon", of_name, 1, words),                    \
                                 TN_INPUTS(means_inputs),                                          \
                                 TN_OUTPUTS(means_outputs),                                        \
                                 .infer = means_infer,                                             \
                                 .reference = means_reference,                                     \
                                 TN_CASES(of_cases),                                               \
                                 __VA_ARGS__}
MEANS(tn_quantized_average_pool_1, "QLinearAveragePool",
      "The mean of each window of 8-bit integers that stand for floating-point values.",
      average_cases, .user = (void *)(uintptr_t)&of_windows,
      TN_FIELDS(tn_pool_params, average_fields));
MEANS(tn_quantized_global_average_pool_1, "QLinearGlobalAveragePool",
      "The mean of each channel of 8-bit integers that stand for floating-point values.",
      global_cases, .user = (void *)(uintptr_t)&of_planes, TN_NO_FIELDS);
