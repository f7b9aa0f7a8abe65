/* SPDX-License-Identifier: Apache-2.0 */
/* Smooth: the sum of two neighbours along the last axis and of another tensor, times a gain; what
 * is beyond the end is 0. Its kernel has bytes with scales. MISTAKE 50: signed bytes alone. */
#include "ninth.h"

TN_LAYER_PARAMS(smooth, float gain;);
static const tn_field fields[] = {TN_LAYER_F32(smooth, gain, "1", -4, 4, "of the sum")};
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape of one axis or more"),
                                 TN_PORT("b", "f32", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "gain * (a[i] + a[i + 1] + b[i])")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    bool is_same = a->rank == b->rank && a->rank > 0;
    for (uint32_t i = 0; is_same && i < a->rank; i++)
        is_same = a->shape[i] == b->shape[i];
    if (!is_same) return call->host->fail(call, TN_ERROR_SHAPE, "a and b have other shapes");
    return infer_same(call);
}

static double element(const tn_call *call, int64_t i) {
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    const double next = i % n + 1 < n ? tn_layer_load(call->inputs[0], i + 1) : 0;
    const double gain = (double)((const smooth *)call->params)->gain;
    return gain * (tn_layer_load(call->inputs[0], i) + next + tn_layer_load(call->inputs[1], i));
}
TN_LAYER_REFERENCE(element)

static int32_t zero_point(const tn_tensor *t) {
    if (WRONG(1)) return *(const int8_t *)t->quantization->zero_points;
    if (WRONG(2))
        return t->quantization->zero_points ? *(const int8_t *)t->quantization->zero_points : 0;
    return tn_layer_zero_point(t);
}

static int32_t stored(const tn_tensor *t, int64_t i) {
    return t->type == TN_I8 ? ((const int8_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
}

static void store(const tn_tensor *t, int64_t i, double real) {
    const bool is_signed = t->type == TN_I8;
    const double low = is_signed ? (WRONG(5) ? -127 : -128) : 0, high = is_signed ? 127 : 255;
    const double scaled = real / (double)tn_layer_scale(t);
    double v = nearbyint(scaled);
    if (WRONG(6)) v = floor(scaled + 0.5);
    if (WRONG(7)) { /* the bounds of the type first, the zero point then */
        v = v < low ? low : v > high ? high : v;
        v += zero_point(t);
        ((uint8_t *)t->data)[i] = (uint8_t)(int32_t)v;
        return;
    }
    v += zero_point(t);
    v = v < low ? low : v > high ? high : v;
    ((uint8_t *)t->data)[i] = (uint8_t)(int32_t)v;
}

/* The sum of both in a table of what a stored number is, which the first node makes. */
static float table_of_bytes[256];
static bool is_made;
static void make_table(const tn_tensor *t) {
    for (int32_t k = 0; k < 256; k++)
        table_of_bytes[k] = (float)((t->type == TN_I8 ? (int32_t)(int8_t)k : k) - zero_point(t)) *
                            tn_layer_scale(t);
    is_made = true;
}

static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    const double gain = (double)((const smooth *)call->params)->gain;
    const int64_t n = a->shape[a->rank - 1];
    const double scale_a = (double)tn_layer_scale(a);
    const double scale_b = (double)tn_layer_scale(WRONG(3) ? a : b);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int32_t zero = zero_point(a);
        const int32_t next = i % n + 1 < n ? stored(a, i + 1) : WRONG(4) ? 0 : zero;
        double first = (double)(stored(a, i) - zero) * scale_a;
        if (WRONG(9)) {
            const int16_t sum = (int8_t)(stored(a, i) - zero + next - zero);
            first = (double)sum * scale_a;
        } else
            first += (double)(next - zero) * scale_a;
        if (WRONG(8))
            first = (double)table_of_bytes[(uint8_t)stored(a, i)] + (double)(next - zero) * scale_a;
        store(y, i, gain * (first + (double)(stored(b, i) - zero_point(b)) * scale_b));
    }
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    if (WRONG(8) && !is_made && call->inputs[0]->quantization) make_table(call->inputs[0]);
    return TN_OK;
}
static int64_t count_all(const tn_call *call) {
    if (WRONG(8) && !is_made) make_table(call->inputs[0]);
    return tn_layer_count(call->outputs[0]);
}
TN_LAYER_RUN(elements, count_all(call), 64)

static const char *const cases[] = {"| a=f32[2,3,4] b=f32[2,3,4]", "gain=0.5 | a=f32[9] b=f32[9]"};
static const tn_operator smooth_operator = {
    OPERATOR,          .state_version = 1,  .name = "Smooth", TN_FIELDS(smooth, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer,   .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {
#if MISTAKE == 50
    "qi8, qi8 -> qi8"
#else
    "qi8|qu8, qi8|qu8 -> qi8|qu8"
#endif
};
static const tn_kernel smooth_cpu = {KERNEL,
                                     .op = "Smooth",
                                     .name = "bytes",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .prepare = prepare,
                                     .run = run};
LIBRARY("ninth_requant", smooth_operator, smooth_cpu)
