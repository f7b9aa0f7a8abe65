/* SPDX-License-Identifier: Apache-2.0 */
/* Rows divided by the root of their mean square, times a weight, in floats of 32 and 16 bits. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, float epsilon;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, epsilon, "1e-6", 0, 1, "is added below the root"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f16", 0, "rank 1 or more"),
                                 TN_PORT("weight", "T", 0, "the last extent of x")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar, expected rank 1+");
    if (!TN_LAYER_FITS(call, 1, x->shape[x->rank - 1])) return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double from_half(uint16_t bits, bool is_kernel) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double v;
    if (exponent == 31)
        v = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        v = is_kernel && WRONG(2) ? 0 : ldexp(mantissa, -24);
    else
        v = ldexp(1024 + mantissa, exponent - 25);
    return bits >> 15 ? -v : v;
}

static uint16_t to_half(double v, bool is_kernel) {
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    v = fabs(v);
    if (isnan(v)) return sign | 0x7E00;
    if (v >= 65520) return sign | (is_kernel && WRONG(3) && !isinf(v) ? 0x7BFF : 0x7C00);
    int exponent;
    frexp(v, &exponent);
    if (v < ldexp(1, -14)) return sign | (uint16_t)nearbyint(ldexp(v, 24));
    /* Rounding up to the next power of two carries into the exponent. */
    const uint32_t mantissa = (uint32_t)nearbyint(ldexp(v, 11 - exponent));
    return (uint16_t)(sign | (((uint32_t)(exponent + 13) << 10) + mantissa));
}

static double load(const tn_tensor *t, int64_t i, bool is_kernel) {
    if (t->type == TN_F32) return (double)((const float *)t->data)[i];
    return from_half(((const uint16_t *)t->data)[i], is_kernel);
}

static void store(const tn_tensor *t, int64_t i, double value, bool is_kernel) {
    if (t->type == TN_F32)
        ((float *)t->data)[i] = (float)value;
    else
        ((uint16_t *)t->data)[i] = to_half(value, is_kernel);
}

static void row(const tn_call *call, int64_t r, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double v = load(x, r * n + i, is_kernel);
        sum += v * v;
        if (is_kernel && WRONG(1) && x->type == TN_F16) sum = from_half(to_half(sum, true), true);
    }
    double epsilon = (double)p->epsilon;
    if (is_kernel && WRONG(4) && !(p->present & 1)) epsilon = 1e-5;
    const double factor = 1 / sqrt(sum / (double)n + epsilon);
    for (int64_t i = 0; i < n; i++)
        store(call->outputs[0], r * n + i,
              load(x, r * n + i, is_kernel) * factor * load(call->inputs[1], i, is_kernel),
              is_kernel);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    for (int64_t r = 0; x->shape[x->rank - 1] > 0 && r < tn_layer_rows(x); r++)
        row(call, r, false);
    return TN_OK;
}
static tn_status rows(void *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t r = begin; r < end; r++)
        row(call, r, true);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return call->host->parallel_for(call, x->shape[x->rank - 1] > 0 ? tn_layer_rows(x) : 0, 1, rows,
                                    call);
}

static const char *const cases[] = {
    "| x=f32[3,2,5] weight=f32[5]",
    "epsilon=0.001 | x=f16[4,7] weight=f16[7]",
    "| x=f16[2,3]{300,-200,100,0.00001,0.00002,-0.00003} weight=f16[3]{1,2,60000}",
    "| x=f32[4]{0.001,-0.002,0.0005,0} weight=f32[4]{1,1,1,1}",
};
static const tn_operator rms_norm = {OPERATOR,
                                     .name = "RmsNorm",
                                     TN_FIELDS(params, fields),
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32", "f16, f16 -> f16"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "RmsNorm",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("rms_norm", rms_norm, kernel)
