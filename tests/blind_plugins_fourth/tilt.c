/* SPDX-License-Identifier: Apache-2.0 */
/* Tilt: x below 0 times a slope, in floats and in 8 bits with a scale. */
#include "fourth.h"

TN_LAYER_PARAMS(params, float slope;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, slope, "0.1", -1000, 1000, "factor of what is below 0")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return fourth_same(call, 0, 0);
}
static double element(const tn_call *call, int64_t i) {
    const double x = tn_layer_load(call->inputs[0], i);
    return x < 0 ? (double)((const params *)call->params)->slope * x : x;
}
TN_LAYER_REFERENCE(element)

static tn_status floats(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const float slope = ((const params *)call->params)->slope;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = x[i] < 0 ? slope * x[i] : x[i];
    return TN_OK;
}
TN_LAYER_RUN(floats, tn_layer_count(call->outputs[0]), 4096)

static int32_t zero_point(const tn_tensor *t) {
    const void *zero = t->quantization->zero_points;
    if (!zero) return 0;
    return t->type == TN_I8 ? *(const int8_t *)zero : *(const uint8_t *)zero;
}
static tn_status bytes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float slope = ((const params *)call->params)->slope;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const bool is_signed = x->type == TN_I8;
    const float low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
#if MISTAKE == 2
    const float x_zero = 0; /* MISTAKE: the input's zero point is forgotten */
#else
    const float x_zero = (float)zero_point(x);
#endif
#if MISTAKE == 5
    const float y_scale =
        *(const float *)x->quantization->scales; /* MISTAKE: the output has its own */
#else
    const float y_scale = *(const float *)y->quantization->scales;
#endif
    const float y_zero = (float)zero_point(y);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
#if MISTAKE == 4
        const float stored = ((const int8_t *)x->data)[i]; /* MISTAKE: unsigned ones too */
#else
        const float stored =
            is_signed ? ((const int8_t *)x->data)[i] : (float)((const uint8_t *)x->data)[i];
#endif
        const float real = (stored - x_zero) * *(const float *)x->quantization->scales;
        const float tilted = real < 0 ? slope * real : real;
#if MISTAKE == 3
        /* MISTAKE: a cast rounds towards 0, so that negative values come out too large */
        float out = truncf(fminf(fmaxf(tilted / y_scale, -1000), 1000) + 0.5f) + y_zero;
#else
        float out = rintf(tilted / y_scale) + y_zero;
#endif
#if MISTAKE == 1
        out = fminf(fmaxf(out, -30000), 30000); /* MISTAKE: wraps where 8 bits do not suffice */
#else
        out = out < low ? low : out > high ? high : out;
#endif
        ((uint8_t *)y->data)[i] = (uint8_t)(int32_t)out;
    }
    return TN_OK;
}
static tn_status run_bytes(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 4096, bytes, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,5]",
    "slope=0.5 | x=f32[6]{-2,-1,0,1,2,3} | y=f32[6]{-1,-0.5,0,1,2,3}",
    "slope=-2 | x=f64[7]",
    "slope=0.01 | x=f32[1,16,20,20]",
};
static const char *const float_combinations[] = {"f32 -> f32"};
static const char *const byte_combinations[] = {"qi8 -> qi8", "qu8 -> qu8"};
FOURTH_OPERATOR("Tilt", "What is below 0 times a slope.", .state_version = 1,
                TN_FIELDS(params, fields))
FOURTH_KERNEL(float_kernel, "Tilt", "rows", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
              TN_COMBINATIONS(float_combinations), .run = run)
FOURTH_KERNEL(byte_kernel, "Tilt", "bytes", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(byte_combinations), .run = run_bytes)
static const tn_kernel *const kernels[] = {&float_kernel, &byte_kernel};
TN_LIBRARY("tilt", "1.0", operators, kernels)
