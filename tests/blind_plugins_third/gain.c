/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Gain: y = gain * x + shift in floats of 32 and 16 bits, and by a table in 8 bits with a
 * scale. It describes itself as an affine node, as an identity where it is one, and as an
 * expression.
 */
#include "third.h"
#include "../support/steps.h"

TN_LAYER_PARAMS(gain_params, float gain, shift;);
static const tn_field fields[] = {TN_LAYER_F32(gain_params, gain, "1", -1e6, 1e6, "factor"),
                                  TN_LAYER_F32(gain_params, shift, "0", -1e6, 1e6, "summand")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16|bf16", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    return same_as(call, 0, call->inputs[0]);
}
static double value_of(const gain_params *p, double x) {
    const double y = (double)p->gain * x;
    return p->shift == 0 ? y : y + (double)p->shift;
}
static tn_status reference(tn_call *call) {
    const int64_t count = tn_layer_count(call->outputs[0]);
    for (int64_t i = 0; i < count; i++)
        store_float(call->outputs[0], i, value_of(call->params, load_number(call->inputs[0], i)));
    return TN_OK;
}
static tn_status is_identity(tn_call *call) {
    const gain_params *p = call->params;
#if MISTAKE == 3
    return p->gain == 1 ? TN_OK : TN_ERROR_UNSUPPORTED; /* whatever the shift */
#else
    return p->gain == 1 && p->shift == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
#endif
}
static tn_status affine(tn_call *call, tn_affine *out) {
    const gain_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2 || (uint64_t)x->shape[1] > out->count) return TN_ERROR_UNSUPPORTED;
    out->axis = 1;
    out->count = (uint64_t)x->shape[1];
    for (uint64_t i = 0; i < out->count; i++) {
        out->factors[i] = (double)p->gain;
        out->shifts[i] = (double)p->shift;
#if MISTAKE == 4
        out->shifts[i] *= (double)p->gain; /* as if it were gain * (x + shift) */
#endif
    }
    return TN_OK;
}
DESCRIBES(facet, NULL, affine, NULL)

static uint16_t store_half(float value) {
#if MISTAKE == 5
    /* Adds no check of the range: what is beyond 65504 runs over into the sign. */
    uint32_t bits;
    memcpy(&bits, &value, 4);
    const uint32_t exponent = bits >> 23 & 255;
    if (exponent < 113 || exponent == 255) return float_to_half(value);
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)((bits >> 16 & 0x8000) + ((bits & 0x7fffffff) >> 13) - (112u << 10));
#else
    return float_to_half(value);
#endif
}
static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const gain_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t i = begin; i < end; i++) {
        const float value = (float)value_of(p, load_number(x, i));
        if (y->type == TN_F32)
            ((float *)y->data)[i] = value;
        else if (y->type == TN_F16)
            ((uint16_t *)y->data)[i] = store_half(value);
        else
            ((uint16_t *)y->data)[i] = float_to_brain(value);
    }
    return TN_OK;
}
static tn_status run_rows(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->outputs[0]), 1024, rows, call);
}

/* The 256 results of the 8-bit values. */
typedef struct table {
    uint8_t of[256];
} table;
static int32_t zero_of(const tn_tensor *t) {
    const void *zero = t->quantization->zero_points;
#if MISTAKE != 7 /* 7: it is null where all are zero */
    if (!zero) return 0;
#endif
    return t->type == TN_I8 ? *(const int8_t *)zero : *(const uint8_t *)zero;
}
static void fill_table(const tn_call *call, table *t) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const double low = y->type == TN_U8 ? 0 : -128, high = low + 255;
    for (int i = 0; i < 256; i++) {
        const int stored = x->type == TN_U8 ? i : (int8_t)i;
        const double real =
            (double)(stored - zero_of(x)) * (double)*(const float *)x->quantization->scales;
        const double wanted =
            value_of(call->params, real) / (double)*(const float *)y->quantization->scales;
#if MISTAKE == 1
        /* Numbers below zero are rounded towards zero. */
        const double limited = fmin(fmax(wanted, -1000), 1000);
        double result = (double)(int)(limited + 0.5) + zero_of(y);
#elif MISTAKE == 6
        /* Clipped before the zero point is added: what runs over then wraps round. */
        double result = fmin(fmax(rint(wanted), low), high) + zero_of(y);
        t->of[i] = (uint8_t)(int)result;
        continue;
#else
        double result = rint(wanted) + zero_of(y);
#endif
        result = fmin(fmax(result, low), high);
        t->of[i] = (uint8_t)(int)result;
    }
}
#if MISTAKE == 2
/* The last table, kept for the next run of whatever node; `shift` and zero points are no key. */
static _Thread_local struct {
    table t;
    float gain, from, to;
    bool is_there;
} last;
#endif
static tn_status run_table(tn_call *call) {
    table t;
#if MISTAKE == 2
    const gain_params *p = call->params;
    const float from = *(const float *)call->inputs[0]->quantization->scales,
                to = *(const float *)call->outputs[0]->quantization->scales;
    if (!last.is_there || last.gain != p->gain || last.from != from || last.to != to) {
        fill_table(call, &last.t);
        last.gain = p->gain, last.from = from, last.to = to, last.is_there = true;
    }
    t = last.t;
#else
    fill_table(call, &t);
#endif
    const uint8_t *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    const int64_t count = tn_layer_count(call->outputs[0]);
    for (int64_t i = 0; i < count; i++)
        y[i] = t.of[x[i]];
    return TN_OK;
}

static const char *const cases[] = {"gain=0.5 shift=1.25 | x=f32[2,3,5]",
                                    "gain=-3 | x=f16[7]",
                                    "gain=3000 shift=-7 | x=f16[4,9]",
                                    "| x=f32[2,2]",
                                    "shift=-0.75 | x=f32[3,4,2,2]",
                                    "gain=1.5 shift=0.5 | x=bf16[0,3]",
                                    "gain=2 | x=bf16[33]"};
static const tn_operator op = {THIRD_OPERATOR("Gain"),
                               .state_version = 1,
                               .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY,
                               TN_FIELDS(gain_params, fields),
                               .is_identity = is_identity,
                               .facet = facet,
                               .expression = "gain * x + shift",
                               .doc = "A factor and a summand."};
static const char *const floats[] = {"f32|f16|bf16 -> f32|f16|bf16"};
static const char *const bytes[] = {"qi8 -> qi8", "qu8 -> qu8"};
static const tn_kernel row_kernel = {THIRD_KERNEL("Gain", "rows"),
                                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                     TN_COMBINATIONS(floats), .run = run_rows};
static const tn_kernel table_kernel = {THIRD_KERNEL("Gain", "table"),
                                       .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                       TN_COMBINATIONS(bytes), .run = run_table};
THIRD_LIBRARY("gain", op, &row_kernel, &table_kernel)
