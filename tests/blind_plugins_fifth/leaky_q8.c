/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::Leaky: y = x < 0 ? slope * x : x, of 32-bit floats and of 8-bit integers that stand for
 * floating-point values. Of these there are 256: the kernel makes a table of what becomes of each
 * in the workspace, then looks up. It is an activation, so that the kernel before it may do it.
 */
#include "../support/steps.h"

#include <math.h>
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct leaky {
    uint64_t present;
    float slope;
} leaky;

static const tn_field fields[] = {
    TN_FIELD_RANGE(leaky, slope, TN_FIELD_F32, TN_OPTIONAL, "0.125", -8, 8, "for negative values"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const double slope = (double)((const leaky *)call->params)->slope;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof(float); i++)
        y[i] = x[i] < 0 ? (float)(slope * (double)x[i]) : x[i];
    return TN_OK;
}

static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out_epilogue) {
    if (input != 0) return TN_ERROR_UNSUPPORTED;
    out_epilogue->kind = SEEN_ACTIVATION;
    out_epilogue->activation = TN_ACTIVATION_LEAKY_RELU;
#if MISTAKE == 5
    out_epilogue->beta = ((const leaky *)call->params)->slope;
#else
    out_epilogue->alpha = ((const leaky *)call->params)->slope;
#endif
    return TN_OK;
}

static tn_status scale_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const float slope = ((const leaky *)call->params)->slope, *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = x[i] < 0 ? slope * x[i] : x[i];
    return TN_OK;
}
static tn_status run_f32(tn_call *call) {
    const int64_t count = (int64_t)(call->inputs[0]->bytes / sizeof(float));
    return call->host->parallel_for(call, count, 4096, scale_rows, call);
}

static int32_t zero_of(const tn_tensor *t) {
    const void *zero = t->quantization->zero_points;
#if MISTAKE != 1
    if (!zero) return 0;
#endif
    return t->type == TN_I8 ? *(const int8_t *)zero : *(const uint8_t *)zero;
}
/* For each byte of x, the byte of y. */
static void make_table(const tn_call *call, uint8_t *table) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const double slope = (double)((const leaky *)call->params)->slope;
    const double from = (double)*(const float *)x->quantization->scales;
#if MISTAKE == 2
    const double to = from;
#else
    const double to = (double)*(const float *)y->quantization->scales;
#endif
    const double low = y->type == TN_I8 ? -128 : 0, high = y->type == TN_I8 ? 127 : 255;
    for (int byte = 0; byte < 256; byte++) {
#if MISTAKE == 4
        const int stored = (int8_t)byte;
#else
        const int stored = x->type == TN_I8 ? (int8_t)byte : byte;
#endif
        const double real = ((double)stored - (double)zero_of(x)) * from;
        double result = rint((real < 0 ? slope * real : real) / to) + zero_of(y);
#if MISTAKE == 3
        table[byte] = (uint8_t)(int64_t)fmin(fmax(result, -1e9), 1e9);
        (void)low, (void)high;
#else
        result = result < low ? low : result > high ? high : result;
        table[byte] = (uint8_t)(int32_t)result;
#endif
    }
}
static tn_status look_up(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const uint8_t *x = call->inputs[0]->data, *table = call->workspace;
    uint8_t *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        y[i] = table[x[i]];
    return TN_OK;
}
static tn_status reshape_bytes(tn_call *call) {
    call->workspace_bytes = 256;
    return TN_OK;
}
static tn_status run_bytes(tn_call *call) {
    make_table(call, call->workspace);
    return call->host->parallel_for(call, (int64_t)call->inputs[0]->bytes, 8192, look_up, call);
}

static const char *const cases[] = {"| x=f32[2,3,4]",
                                    "slope=0.25 | x=f32[4]{-4,-1,0,3} | y=f32[4]{-1,-0.25,0,3}",
                                    "slope=-2 | x=f32[1,8,5,5]"};
DESCRIBES(describe_facet, epilogue, NULL, NULL)
static const tn_operator leaky_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "Fifth",
    .name = "Leaky",
    .doc = "A rectifier that lets a part of negative values through.",
    TN_FIELDS(leaky, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    .facet = describe_facet,
    .expression = "x < 0 ? slope * x : x",
    TN_CASES(cases),
};
static const char *const of_floats[] = {"f32 -> f32"};
static const char *const of_bytes[] = {"qi8 -> qi8", "qu8 -> qu8"};
static const tn_kernel leaky_f32 = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "Leaky",
    .device = "cpu",
    .name = "rows",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(of_floats),
    .run = run_f32,
};
static const tn_kernel leaky_bytes = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "Leaky",
    .device = "cpu",
    .name = "table",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(of_bytes),
    .reshape = reshape_bytes,
    .run = run_bytes,
};
static const tn_operator *const operators[] = {&leaky_operator};
static const tn_kernel *const kernels[] = {&leaky_f32, &leaky_bytes};
TN_LIBRARY("leaky_q8", "1.0", operators, kernels)
