/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embedding of rows at positions: pairs half a row apart are turned, an odd element at the
 * end stays. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, float base;);
static const tn_field fields[] = {TN_LAYER_F32(params, base, "10000", 1, 1e6, "of the angles")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, D"),
                                 TN_PORT("positions", "i64", 0, "rows")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
static double angle_of(const tn_call *call, int64_t row, int64_t i, int64_t d) {
    const double base = (double)((const params *)call->params)->base;
    return (double)((const int64_t *)call->inputs[1]->data)[row] *
           pow(base, -2.0 * (double)i / (double)d);
}
static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const int64_t d = x->shape[1], half = d / 2, row = i / d, at = i % d;
    if (at == 2 * half) return tn_layer_load(x, i);
    const double angle = angle_of(call, row, at % half, d);
    return at < half ? tn_layer_load(x, i) * cos(angle) - tn_layer_load(x, i + half) * sin(angle)
                     : tn_layer_load(x, i) * cos(angle) + tn_layer_load(x, i - half) * sin(angle);
}
TN_LAYER_REFERENCE(element)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t d = call->inputs[0]->shape[1], half = WRONG(2) ? (d + 1) / 2 : d / 2;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * d;
        float *y = (float *)call->outputs[0]->data + row * d;
        for (int64_t i = 0; i < half; i++) {
            double angle = angle_of(call, row, i, d);
            if (WRONG(4))
                angle = (double)((float)((const int64_t *)call->inputs[1]->data)[row] *
                                 powf(((const params *)call->params)->base,
                                      -2.0F * (float)i / (float)d));
            const float c = (float)cos(angle), s = (float)sin(angle), a = x[i], b = x[i + half];
            y[i] = a * c - b * s;
            y[i + half] = b * c + (WRONG(1) ? x[i] : a) * s;
        }
        if (d % 2 && !WRONG(3) && !WRONG(2)) y[d - 1] = x[d - 1];
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 4)

static const char *const cases[] = {"| x=f32[4,8] positions=i64[4]{0,1,2,3}",
#if MISTAKE != 2 && MISTAKE != 3
                                    "base=100 | x=f32[3,7] positions=i64[3]{5,100,-2}",
#endif
                                    "base=100 | x=f32[2,16] positions=i64[2]{5,100}"};
static const tn_operator rotary = {OPERATOR,
                                   .name = "Rotary",
                                   TN_FIELDS(params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Rotary",
                                 .name = "halves",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("rotary", rotary, kernel)
