/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of integer.h: shapes, references, tables. */
#include "conv/geometry.h"
#include "conv/integer/integer.h"
#include "conv/kernels.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

#include <math.h>

#define NOTHING_ADDED                                                                              \
    TN_CONV_NO_INPUT, TN_CONV_NO_INPUT, TN_CONV_NO_INPUT, TN_CONV_NO_INPUT, TN_CONV_NO_INPUT
static const tn_conv_inputs conv_integer_inputs = {1,
                                                   2,
                                                   3,
                                                   TN_CONV_NO_INPUT,
                                                   TN_CONV_NO_INPUT,
                                                   TN_CONV_NO_INPUT,
                                                   TN_CONV_NO_INPUT,
                                                   TN_CONV_NO_INPUT,
                                                   NOTHING_ADDED};
static const tn_conv_inputs q_linear_conv_inputs = {3, 2, 5, 1, 4, 6, 7, 8, NOTHING_ADDED};
static const tn_conv_inputs q_linear_conv_add_inputs = {3, 2, 5, 1, 4, 6, 7, 8, 9, 10, 11, 12, 13};

/* ----------------------------------------------------------------------------------------------
 * shapes */

/* One number, or one for each filter where there may be several. */
static tn_status check_parameter(tn_call *call, uint32_t input, int64_t filters) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    if (!tensor || tn_element_count(tensor) == 1) return TN_OK;
    if (filters > 1 && tensor->rank == 1 && tensor->shape[0] == filters) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            filters > 1 ? "input '%s' must be one number, or one for each filter"
                                        : "input '%s' must be one number",
                            tn_infer_input_name(call, input));
}

tn_status tn_conv_integer_read(tn_call *call, tn_window *out_window) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    TN_TRY(tn_infer_require_rank(call, TN_CONV_X, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[TN_CONV_X];
    TN_TRY(tn_infer_require_rank(call, inputs->w, x->rank, x->rank));
    const tn_tensor *w = call->inputs[inputs->w];
    tn_open_stand_in stand_in;
    const tn_tensor *const three[3] = {tn_conv_open_x(call, w, &stand_in), w,
                                       tn_infer_input(call, inputs->bias)};
    tn_call probe = *call;
    probe.inputs = three;
    probe.input_count = 3;
    TN_TRY(tn_conv_window(&probe, out_window));
    TN_TRY(check_parameter(call, inputs->x_zero, 1));
    TN_TRY(check_parameter(call, inputs->x_scale, 1));
    TN_TRY(check_parameter(call, inputs->y_zero, 1));
    TN_TRY(check_parameter(call, inputs->y_scale, 1));
    TN_TRY(check_parameter(call, inputs->added_scale, 1));
    TN_TRY(check_parameter(call, inputs->added_zero, 1));
    TN_TRY(check_parameter(call, inputs->sum_scale, 1));
    TN_TRY(check_parameter(call, inputs->sum_zero, 1));
    TN_TRY(check_parameter(call, inputs->w_zero, w->shape[0]));
    return check_parameter(call, inputs->w_scale, w->shape[0]);
}

static tn_status integer_infer(tn_call *call) {
    tn_window window;
    TN_TRY(tn_conv_integer_read(call, &window));
    int64_t shape[TN_MAX_RANK] = {call->inputs[TN_CONV_X]->shape[0],
                                  call->inputs[tn_conv_inputs_of(call)->w]->shape[0]};
    for (uint32_t i = 0; i < window.rank; i++)
        shape[2 + i] = window.output[i];
    const tn_tensor *added = tn_infer_input(call, tn_conv_inputs_of(call)->added);
    bool fits = !added || added->rank == window.rank + 2;
    for (uint32_t i = 0; added && fits && i < added->rank; i++)
        fits = added->shape[i] == shape[i];
    if (!fits)
        return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must have the output's shape",
                                tn_infer_input_name(call, tn_conv_inputs_of(call)->added));
    return tn_infer_set_shape(call, 0, window.rank + 2, shape);
}

/* ----------------------------------------------------------------------------------------------
 * scales and zero points */

static int64_t place_of(const tn_tensor *tensor, int64_t filter) {
    return tn_element_count(tensor) == 1 ? 0 : filter;
}

int32_t tn_conv_integer_zero(const tn_call *call, uint32_t input, int64_t filter) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    return tensor ? (int32_t)tn_element_i64(tensor, place_of(tensor, filter)) : 0;
}

static float scale_of(const tn_call *call, uint32_t input, int64_t filter) {
    const tn_tensor *tensor = call->inputs[input];
    return (float)tn_element_f64(tensor, place_of(tensor, filter));
}

void tn_conv_integer_factors(const tn_call *call, int64_t first, int64_t count,
                             float *out_factors) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    const tn_tensor *w = call->inputs[inputs->w_scale];
    const float x_scale = scale_of(call, inputs->x_scale, 0);
    const float y_scale = scale_of(call, inputs->y_scale, 0);
    for (int64_t i = 0; i < count; i++)
        out_factors[i] = x_scale * ((const float *)w->data)[place_of(w, first + i)] / y_scale;
}

float tn_conv_integer_factor(const tn_call *call, int64_t filter) {
    float factor;
    tn_conv_integer_factors(call, filter, 1, &factor);
    return factor;
}

int32_t tn_conv_integer_bias(const tn_call *call, int64_t filter) {
    const tn_tensor *bias = tn_infer_input(call, tn_conv_inputs_of(call)->bias);
    return bias ? ((const int32_t *)bias->data)[filter] : 0;
}

/* ----------------------------------------------------------------------------------------------
 * references */

typedef struct output_at {
    int64_t image, filter;
    int64_t position[TN_WINDOW_MAX_RANK];
} output_at;

/* The element of a plane that a tap sees, or -1 where that is padding. */
static int64_t find_input(const tn_window *window, const int64_t *position, const int64_t *tap) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < window->rank; i++) {
        const int64_t at =
            position[i] * window->stride[i] - window->pad_begin[i] + tap[i] * window->dilation[i];
        if (at < 0 || at >= window->input[i]) return -1;
        offset = offset * window->input[i] + at;
    }
    return offset;
}

static inline int32_t byte_at(const tn_tensor *tensor, int64_t at) {
    return tensor->type == TN_U8 ? ((const uint8_t *)tensor->data)[at]
                                 : ((const int8_t *)tensor->data)[at];
}

static int64_t sum_element(const tn_call *call, const tn_window *window, const output_at *at) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    const tn_conv_params *params = call->params;
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[inputs->w];
    const int64_t channels = w->shape[1], filters = w->shape[0] / params->group;
    const int64_t plane = tn_window_count(window->rank, window->input);
    const int64_t taps = tn_window_count(window->rank, window->kernel);
    const int64_t first = at->image * x->shape[1] + at->filter / filters * channels;
    const int32_t x_zero = tn_conv_integer_zero(call, inputs->x_zero, 0);
    const int32_t w_zero = tn_conv_integer_zero(call, inputs->w_zero, at->filter);
    int64_t sum = 0, tap[TN_WINDOW_MAX_RANK] = {0};
    for (int64_t t = 0; t < taps; t++) {
        const int64_t offset = find_input(window, at->position, tap);
        for (int64_t c = 0; c < channels && offset >= 0; c++)
            sum += (byte_at(x, (first + c) * plane + offset) - x_zero) *
                   (byte_at(w, (at->filter * channels + c) * taps + t) - w_zero);
        tn_window_step(window->rank, window->kernel, tap);
    }
    return sum;
}

/* To what is stored at `to`, which is replaced. */
static void add_element(const tn_call *call, int64_t to) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    const float sum_scale = scale_of(call, inputs->sum_scale, 0);
    const int64_t y = tn_element_i64(call->outputs[0], to),
                  z = tn_element_i64(call->inputs[inputs->added], to);
    const float value = (float)(y - tn_conv_integer_zero(call, inputs->y_zero, 0)) *
                            (scale_of(call, inputs->y_scale, 0) / sum_scale) +
                        (float)(z - tn_conv_integer_zero(call, inputs->added_zero, 0)) *
                            (scale_of(call, inputs->added_scale, 0) / sum_scale);
    tn_element_set_f64(call->outputs[0], to,
                       (isnan(value) ? 0 : nearbyint((double)value)) +
                           tn_conv_integer_zero(call, inputs->sum_zero, 0));
}

static void store_element(const tn_call *call, const output_at *at, int64_t to, int64_t sum) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    if (inputs->y_scale == TN_CONV_NO_INPUT) {
        tn_element_set_i64(call->outputs[0], to, sum);
        return;
    }
    const uint32_t whole = (uint32_t)sum + (uint32_t)tn_conv_integer_bias(call, at->filter);
    const float value = (float)(int32_t)whole * tn_conv_integer_factor(call, at->filter);
    tn_element_set_f64(call->outputs[0], to,
                       (isnan(value) ? 0 : nearbyint((double)value)) +
                           tn_conv_integer_zero(call, inputs->y_zero, 0));
    if (inputs->added != TN_CONV_NO_INPUT) add_element(call, to);
}

static tn_status integer_reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    tn_window window;
    TN_TRY(tn_conv_integer_read(call, &window));
    if (tn_element_count(y) == 0) return TN_OK;
    const int64_t positions = tn_window_count(window.rank, window.output);
    output_at at = {0};
    for (int64_t to = 0, end = tn_element_count(y); to < end; to++) {
        at.filter = to / positions % y->shape[1];
        at.image = to / positions / y->shape[1];
        store_element(call, &at, to, sum_element(call, &window, &at));
        tn_window_step(window.rank, window.output, at.position);
    }
    return TN_OK;
}

/* Each output takes a filter's taps, each a multiplication and an addition. */
static tn_status integer_operations(tn_call *call, double *out_operations) {
    const tn_tensor *w = call->inputs[tn_conv_inputs_of(call)->w], *y = call->outputs[0];
    double operations = 2;
    for (uint32_t axis = 0; axis < y->rank; axis++)
        operations *= (double)y->shape[axis];
    for (uint32_t axis = 1; axis < w->rank; axis++)
        operations *= (double)w->shape[axis];
    *out_operations = operations;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

#define X_WORDS "batch, channels, spatial axes"
#define W_WORDS "filters, channels of a group, kernel's extents"
static const tn_port conv_integer_ports[] = {
    TN_PORT("x", "T1:u8|i8", 0, X_WORDS),
    TN_PORT("w", "T2:u8|i8", 0, W_WORDS),
    TN_PORT("x_zero_point", "T1", TN_PORT_OPTIONAL, "one number; absent: 0"),
    TN_PORT("w_zero_point", "T2", TN_PORT_OPTIONAL,
            "one number, or one for each filter; absent: 0"),
};
static const tn_port conv_integer_outputs[] = {
    TN_PORT("y", "i32", 0, "batch, filters, spatial axes; beyond 32 bits sums wrap")};
static const char *const conv_integer_cases[] = {
    ("| x=u8[1,1,3,3]{2,3,4,5,6,7,8,9,10} w=u8[1,1,2,2]{1,1,1,1} x_zero_point=u8[]{1} "
     "| y=i32[1,1,2,2]{12,16,24,28}"),
    ("pads=[1,1,1,1] | x=u8[1,1,3,3]{2,3,4,5,6,7,8,9,10} w=u8[1,1,2,2]{1,1,1,1} "
     "x_zero_point=u8[]{1} | y=i32[1,1,4,4]{1,3,5,3,5,12,16,9,11,24,28,15,7,15,17,9}"),
    "| x=i8[2,3,7,9] w=i8[5,3,3,3]",
    ("pads=[1,0,0,1] | x=u8[1,2,3,3] w=i8[2,2,2,2]{64,64,-64,-64,1,2,3,4,-1,-2,-3,-4,60,-60,7,-7} "
     "x_zero_point=u8[]{7} w_zero_point=i8[2]{0,-3}"),
    ("pads=[2,0,1,3] dilations=[2,3] | x=u8[1,2,11,13] w=i8[3,2,3,2] x_zero_point=u8[]{130} "
     "w_zero_point=i8[3]{-7,0,9}"),
    ("group=4 pads=[1,1,1,1] strides=[2,1] | x=u8[2,4,9,9] w=u8[8,1,3,3] x_zero_point=u8[]{3} "
     "w_zero_point=u8[]{128}"),
    "group=3 | x=i8[1,6,31] w=u8[9,2,5] w_zero_point=u8[9]",
    "pads=[1,1,1,1,1,1] | x=u8[1,2,5,6,7] w=i8[3,2,3,3,3] x_zero_point=u8[]{100}",
    "auto_pad=SAME_LOWER strides=[3,2] | x=u8[1,2,10,10] w=u8[2,2,4,4]",
    "| x=u8[0,3,8,8] w=i8[2,3,3,3]",
    "pads=[1,1,1,1] | x=u8[1,24,14,14] w=i8[40,24,3,3] x_zero_point=u8[]{128}",
};
/* `known`: flags of all ports but the first. */
#define Q_LINEAR_PORTS(known)                                                                      \
    TN_PORT("x", "T1:i8|u8", 0, X_WORDS), TN_PORT("x_scale", "f32", known, "one number"),          \
        TN_PORT("x_zero_point", "T1", known, "one number"),                                        \
        TN_PORT("w", "T2:i8|u8", known, W_WORDS),                                                  \
        TN_PORT("w_scale", "f32", known, "one number, or one for each filter"),                    \
        TN_PORT("w_zero_point", "T2", known, "one number, or one for each filter"),                \
        TN_PORT("y_scale", "f32", known, "one number"),                                            \
        TN_PORT("y_zero_point", "T3:i8|u8", known, "one number"),                                  \
        TN_PORT("B", "i32", TN_PORT_OPTIONAL | (known),                                            \
                "a bias a filter, in steps of x_scale * w_scale")
static const tn_port q_linear_conv_ports[] = {Q_LINEAR_PORTS(0)};
#define KNOWN TN_PORT_VALUE_NEEDED
static const tn_port q_linear_conv_add_ports[] = {
    Q_LINEAR_PORTS(KNOWN),
    TN_PORT("z", "T3", 0, "what is added, of the output's shape"),
    TN_PORT("z_scale", "f32", KNOWN, "one number"),
    TN_PORT("z_zero_point", "T3", TN_PORT_OPTIONAL | KNOWN, "one number; absent: 0"),
    TN_PORT("s_scale", "f32", KNOWN, "the sum's; one number"),
    TN_PORT("s_zero_point", "T3", TN_PORT_OPTIONAL | KNOWN, "the sum's; one number, absent: 0"),
};
static const tn_port q_linear_conv_outputs[] = {
    TN_PORT("y", "T3", 0, "batch, filters, spatial axes")};
/* Weights, scales and zero points are constants where there is such a node. */
#define WEIGHTS_2                                                                                  \
    "w=i8[4,2,1,1]{1,-2,3,4,-50,6,70,8} w_scale=f32[4]{0.011,0.02,0.03,0.017} "                    \
    "w_zero_point=i8[]{0} y_scale=f32[]{1.7} "
#define X_OF(type, zero)                                                                           \
    "| x=" type "[2,4,3,5] x_scale=f32[]{0.9} x_zero_point=" type "[]{" zero "} "
#define SUMS "B=i32[4]{100,-900,3,4000}"
static const char *const q_linear_conv_cases[] = {
    ("| x=u8[1,1,2,3]{255,174,162,25,203,168} x_scale=f32[]{0.00369} x_zero_point=u8[]{132} "
     "w=u8[1,1,1,1]{0} w_scale=f32[1]{0.00173} w_zero_point=u8[1]{255} y_scale=f32[]{0.00162} "
     "y_zero_point=u8[]{123} | y=u8[1,1,2,3]{0,81,93,231,52,87}"),
    ("pads=[1,1,1,1] strides=[2,2] | x=u8[1,3,15,17] x_scale=f32[]{0.02} x_zero_point=u8[]{120} "
     "w=i8[8,3,3,3] w_scale=f32[8]{0.1,0.2,0.05,0.01,0.3,0.02,0.03,0.04} w_zero_point=i8[8] "
     "y_scale=f32[]{3} y_zero_point=i8[]{-4} B=i32[8]{0,100,-100,5000,-5000,7,8,9}"),
    ("group=5 pads=[1,2,0,1] | x=i8[2,5,9,11] x_scale=f32[]{0.02} x_zero_point=i8[]{3} "
     "w=u8[5,1,3,3] w_scale=f32[]{0.1} w_zero_point=u8[]{128} y_scale=f32[]{1} "
     "y_zero_point=u8[]{100}"),
    ("strides=[2] | x=i8[2,3,31] x_scale=f32[]{0.5} x_zero_point=i8[]{0} w=i8[4,3,5] "
     "w_scale=f32[]{0.5} w_zero_point=i8[]{0} y_scale=f32[]{250} y_zero_point=i8[]{0} B=i32[4]"),
    ("| x=u8[1,1,1,2]{1,3} x_scale=f32[]{1} x_zero_point=u8[]{0} w=u8[1,1,1,1]{1} "
     "w_scale=f32[]{1} w_zero_point=u8[]{0} y_scale=f32[]{2} y_zero_point=u8[]{1} "
     "| y=u8[1,1,1,2]{1,3}"),
    ("pads=[1,1,1,1] | x=u8[1,24,14,14] x_scale=f32[]{0.02} x_zero_point=u8[]{128} "
     "w=i8[40,24,3,3] w_scale=f32[]{0.01} w_zero_point=i8[]{0} y_scale=f32[]{3} "
     "y_zero_point=u8[]{128} B=i32[40]"),
    ("pads=[1,1,1,1] | x=i8[1,8,7,7] x_scale=f32[]{0.02} x_zero_point=i8[]{3} w=i8[40,8,3,3] "
     "w_scale=f32[]{0.01} w_zero_point=i8[]{0} y_scale=f32[]{2} y_zero_point=i8[]{0} B=i32[40]"),
    ("pads=[1,1,1,1] | x=u8[2,4,5,6] x_scale=f32[]{0.02} x_zero_point=u8[]{0} w=i8[32,4,3,3] "
     "w_scale=f32[]{0.01} w_zero_point=i8[]{0} y_scale=f32[]{2} y_zero_point=u8[]{9} B=i32[32]"),
    ("pads=[3,3,3,3] strides=[2,2] | x=i8[1,3,15,31] x_scale=f32[]{0.02} x_zero_point=i8[]{-5} "
     "w=i8[34,3,7,7] w_scale=f32[]{0.01} w_zero_point=i8[]{0} y_scale=f32[]{2} "
     "y_zero_point=i8[]{1} B=i32[34]"),
    ("pads=[0,1,0,1] | x=u8[1,5,4,4] x_scale=f32[]{0.02} x_zero_point=u8[]{7} w=i8[33,5,2,3] "
     "w_scale=f32[]{0.01} w_zero_point=i8[]{0} y_scale=f32[]{2} y_zero_point=u8[]{0} B=i32[33]"),
    /* With groups, which tiles have not: others' kernels are tried on every processor. */
    "group=2 " X_OF("u8", "0") WEIGHTS_2 "y_zero_point=u8[]{131} " SUMS,
    "group=2 " X_OF("u8", "120") WEIGHTS_2 "y_zero_point=i8[]{-3} " SUMS,
    "group=2 " X_OF("i8", "0") WEIGHTS_2 "y_zero_point=u8[]{100} " SUMS,
    "group=2 " X_OF("i8", "-5") WEIGHTS_2 "y_zero_point=i8[]{0} " SUMS,
};

static const tn_port q_linear_conv_add_outputs[] = {
    TN_PORT("s", "T3", 0, "the sums in steps of s_scale")};
#define WEIGHTS_4                                                                                  \
    "w=i8[4,4,1,1]{1,-2,3,4,-50,6,70,8,9,10,-110,12,13,127,-15,16} "                               \
    "w_scale=f32[4]{0.011,0.02,0.03,0.017} w_zero_point=i8[]{0} y_scale=f32[]{1.7} "
#define ADDED(type)                                                                                \
    SUMS " z=" type "[2,4,3,5] z_scale=f32[]{1.3} z_zero_point=" type "[]{7} s_scale=f32[]{1.9}"
static const char *const q_linear_conv_add_cases[] = {
    ("| x=u8[1,1,1,2]{1,3} x_scale=f32[]{1} x_zero_point=u8[]{0} w=i8[1,1,1,1]{4} "
     "w_scale=f32[]{1} w_zero_point=i8[]{0} y_scale=f32[]{2} y_zero_point=u8[]{1} "
     "z=u8[1,1,1,2]{10,250} z_scale=f32[]{1} s_scale=f32[]{1} | s=u8[1,1,1,2]{14,255}"),
    X_OF("u8", "0") WEIGHTS_4 "y_zero_point=u8[]{131} " ADDED("u8"),
    X_OF("u8", "120") WEIGHTS_4 "y_zero_point=i8[]{-3} " ADDED("i8"),
    X_OF("i8", "0") WEIGHTS_4 "y_zero_point=u8[]{100} " ADDED("u8"),
    X_OF("i8", "-5") WEIGHTS_4 "y_zero_point=i8[]{0} " ADDED("i8"),
    X_OF("u8", "0") WEIGHTS_4 "y_zero_point=u8[]{131} " ADDED("u8") " s_zero_point=u8[]{3}",
    "group=2 " X_OF("u8", "0") WEIGHTS_2 "y_zero_point=u8[]{131} " ADDED("u8"),
    "group=2 " X_OF("u8", "120") WEIGHTS_2 "y_zero_point=i8[]{-3} " ADDED("i8"),
    "group=2 " X_OF("i8", "0") WEIGHTS_2 "y_zero_point=u8[]{100} " ADDED("u8"),
    "group=2 " X_OF("i8", "-5") WEIGHTS_2 "y_zero_point=i8[]{0} " ADDED("i8"),
    ("| x=u8[2,3,7] x_scale=f32[]{0.02} x_zero_point=u8[]{128} w=i8[1,3,1]{1,2,3} "
     "w_scale=f32[]{0.01} w_zero_point=i8[]{0} y_scale=f32[]{3} y_zero_point=i8[]{0} "
     "z=i8[2,1,7] z_scale=f32[]{0.4} s_scale=f32[]{0.5} s_zero_point=i8[]{3}"),
};

#define INTEGER(prefix, of_name, words, roles) INTEGER_OF("", prefix, of_name, 10, words, roles)
#define INTEGER_OF(of_domain, prefix, of_name, version, words, roles)                              \
    const tn_operator tn_##prefix##_##version = {                                                  \
        TN_OPERATOR_BEGIN(of_domain, of_name, version, words),                                     \
        .params_bytes = sizeof(tn_conv_params),                                                    \
        .field_size = sizeof(tn_field),                                                            \
        .field_count = TN_CONV_FIELDS,                                                             \
        .fields = tn_conv_fields,                                                                  \
        TN_INPUTS(prefix##_ports),                                                                 \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = integer_infer,                                                                    \
        .reference = integer_reference,                                                            \
        .user = (void *)(uintptr_t) & (roles),                                                     \
        TN_CASES(prefix##_cases),                                                                  \
        .operations = integer_operations}
INTEGER(conv_integer, "ConvInteger", "Convolution of 8-bit integers less their zero points.",
        conv_integer_inputs);
INTEGER(q_linear_conv, "QLinearConv",
        "Convolution of 8-bit integers that stand for floating-point values.",
        q_linear_conv_inputs);
INTEGER_OF("Tenon", q_linear_conv_add, "QLinearConvAdd", 1,
           "QLinearConv, and another tensor of 8-bit integers added to what it stores.",
           q_linear_conv_add_inputs);
