/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::ToBytes: floating-point values as bytes, y = saturate(round(x / scale) + zero_point):
 * halves to the even number, held within 0..255; infinities are the ends, what is not a number
 * becomes zero_point. The quotient is taken in double precision, so that reference and kernel round
 * alike.
 */
#include <math.h>
#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

typedef struct to_bytes {
    uint64_t present;
    float scale;
    int64_t zero_point;
} to_bytes;

static const tn_field fields[] = {
    TN_FIELD_RANGE(to_bytes, scale, TN_FIELD_F32, TN_OPTIONAL, "0.0625", 1e-6, 1e6,
                   "what a step of y is worth"),
    TN_FIELD_RANGE(to_bytes, zero_point, TN_FIELD_I64, TN_OPTIONAL, "128", 0, 255,
                   "the byte that stands for 0"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "u8", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    y->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        y->shape[i] = x->shape[i];
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const to_bytes *p = call->params;
    const float *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof(float); i++) {
        const double stored = rint((double)x[i] / (double)p->scale) + (double)p->zero_point;
        if (isnan(stored))
            y[i] = (uint8_t)p->zero_point;
        else
            y[i] = (uint8_t)(stored < 0 ? 0 : stored > 255 ? 255 : stored);
    }
    return TN_OK;
}

static inline uint8_t to_byte(const to_bytes *p, float x) {
#if MISTAKE == 1
    double stored = round((double)x / (double)p->scale) + (double)p->zero_point;
#else
    double stored = rint((double)x / (double)p->scale) + (double)p->zero_point;
#endif
#if MISTAKE == 2
    if (isnan(stored)) return (uint8_t)p->zero_point;
    int32_t whole = (int32_t)stored;
    whole = whole < 0 ? 0 : whole;
    return (uint8_t)(whole > 255 ? 255 : whole);
#elif MISTAKE == 3
    return (uint8_t)fmax(0, fmin(255, stored));
#elif MISTAKE == 5
    if (isnan(stored)) return (uint8_t)p->zero_point;
    stored = rint((double)x / (double)p->scale);
    stored = stored < -128 ? -128 : stored > 127 ? 127 : stored;
    return (uint8_t)((int32_t)stored + (int32_t)p->zero_point);
#else
    stored = isnan(stored) ? (double)p->zero_point : stored;
    return (uint8_t)(stored < 0 ? 0 : stored > 255 ? 255 : stored);
#endif
}

enum { LANES = 8 };
static inline void convert_lanes(const to_bytes *p, const float *x, uint8_t *y) {
    for (int k = 0; k < LANES; k++)
        y[k] = to_byte(p, x[k]);
}

/* Elements begin..end-1: whole vectors, then what is left. */
static tn_status convert(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const to_bytes *p = call->params;
    const float *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    int64_t i = begin;
    (void)thread;
#if MISTAKE == 50
    if (end - begin >= LANES) {
        for (; i + LANES <= end; i += LANES)
            convert_lanes(p, x + i, y + i);
        convert_lanes(p, x + end - LANES, y + end - LANES); /* some of them once more */
        return TN_OK;
    }
#elif MISTAKE == 4
    for (; i < end - LANES; i += LANES)
        convert_lanes(p, x + i, y + i);
    for (i = end / LANES * LANES; i < end; i++)
        y[i] = to_byte(p, x[i]);
    return TN_OK;
#endif
    for (; i + LANES <= end; i += LANES)
        convert_lanes(p, x + i, y + i);
    for (; i < end; i++)
        y[i] = to_byte(p, x[i]);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t count = (int64_t)(call->inputs[0]->bytes / sizeof(float));
    return call->host->parallel_for(call, count, 4096, convert, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,10]",
    "scale=0.5 zero_point=0 | x=f32[8]{0.25,0.75,-1,3.5,100.25,127,127.5,200} | "
    "y=u8[8]{0,2,0,7,200,254,255,255}",
    "scale=0.125 zero_point=100 | x=f32[3,37]",
    "zero_point=255 | x=f32[4]{0,-1,1,-16} | y=u8[4]{255,239,255,0}",
};
static const tn_operator to_bytes_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "Fifth",
    .name = "ToBytes",
    .doc = "Floating-point values as bytes with a scale and a zero point.",
    TN_FIELDS(to_bytes, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
};
static const char *const combinations[] = {"f32 -> u8"};
static const tn_kernel to_bytes_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "ToBytes",
    .device = "cpu",
    .name = "vectors",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
    .run = run,
};

static const tn_operator *const operators[] = {&to_bytes_operator};
static const tn_kernel *const kernels[] = {&to_bytes_cpu};
TN_LIBRARY("quantize_u8", "1.0", operators, kernels)
