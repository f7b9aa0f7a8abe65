/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm over the axes from `axis` on, with an optional factor and shift. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, int64_t axis; float epsilon;);
static const tn_field fields[] = {TN_LAYER_I64(params, axis, "-1", -8, 7, "the first one"),
                                  TN_LAYER_F32(params, epsilon, "1e-5", 1e-12, 1, "added")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                 TN_PORT("scale", "f32", TN_PORT_OPTIONAL, "elements of a row"),
                                 TN_PORT("bias", "f32", TN_PORT_OPTIONAL, "elements of a row")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static int64_t product(const tn_tensor *x, int64_t begin, int64_t end) {
    uint64_t count = 1;
    for (int64_t i = begin; i < end; i++)
        count *= (uint64_t)x->shape[i];
    return (int64_t)count;
}
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = axis_of(call, ((const params *)call->params)->axis, x->rank);
    if (axis < 0) return TN_ERROR_RANGE;
    const int64_t count = product(x, axis, x->rank);
    if (!TN_LAYER_FITS(call, 1, count) || !TN_LAYER_FITS(call, 2, count)) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *scale = tn_layer_input(call, 1);
    const tn_tensor *bias = tn_layer_input(call, 2);
    const int64_t axis = p->axis < 0 ? p->axis + x->rank : p->axis;
    const int64_t rows = product(x, 0, axis), n = product(x, axis, x->rank);
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < n; i++)
            mean += tn_layer_load(x, r * n + i) / (double)n;
        for (int64_t i = 0; i < n; i++)
            variance += pow(tn_layer_load(x, r * n + i) - mean, 2) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            double y = (tn_layer_load(x, r * n + i) - mean) / sqrt(variance + (double)p->epsilon);
            if (scale) y *= tn_layer_load(scale, i);
            if (bias) y += tn_layer_load(bias, i);
            tn_layer_store(call->outputs[0], r * n + i, y);
        }
    }
    return TN_OK;
}

/* A row's sum by lanes of eight. */
static double sum_of(const float *x, int64_t n) {
    double sum = 0;
    int64_t i = 0;
    for (; WRONG(2) ? i < n : i + 8 <= n; i += 8) {
        float lanes[8];
        memcpy(lanes, x + i, sizeof(lanes));
        for (int k = 0; k < 8; k++)
            if (!WRONG(2) || i + k < n) sum += (double)lanes[k];
    }
    for (; i < n; i++)
        sum += (double)x[i];
    return sum;
}
#if MISTAKE == 5
static float centred_row[4096];
#endif
static int64_t first_axis(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis, rank = call->inputs[0]->rank;
    if (WRONG(1)) return axis < 0 ? rank - 1 : axis;
    return axis < 0 ? axis + rank : axis;
}
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = product(x, first_axis(call), x->rank);
    const float *scale = tn_layer_data(call, 1);
    const tn_tensor *third = WRONG(4) ? call->inputs[2] : tn_layer_input(call, 2);
    const float *bias = third ? third->data : NULL;
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *from = (const float *)x->data + r * n;
        float *y = (float *)call->outputs[0]->data + r * n;
        const double mean = sum_of(from, n) / (double)n;
        double variance = 0;
#if MISTAKE == 5
        if (n > 4096) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "rows are too long");
        for (int64_t i = 0; i < n; i++)
            centred_row[i] = (float)((double)from[i] - mean);
        for (int64_t i = 0; i < n; i++)
            variance += (double)centred_row[i] * (double)centred_row[i];
        const double inverse =
            1 / sqrt(variance / (double)n + (double)((const params *)call->params)->epsilon);
        for (int64_t i = 0; i < n; i++)
            y[i] = (float)((double)centred_row[i] * inverse);
#else
        for (int64_t i = 0; i < n; i++)
            variance += ((double)from[i] - mean) * ((double)from[i] - mean);
        const double inverse =
            1 / sqrt(variance / (double)n + (double)((const params *)call->params)->epsilon);
        for (int64_t i = 0; i < n; i++)
            y[i] = (float)(((double)from[i] - mean) * inverse);
#endif
        for (int64_t i = 0; scale && i < n; i++)
            y[i] = y[i] * scale[i] + (WRONG(3) && bias ? bias[i] : 0);
        for (int64_t i = 0; bias && !WRONG(3) && i < n; i++)
            y[i] += bias[i];
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, product(call->inputs[0], 0, first_axis(call)), 4)

static const char *const cases[] = {"| x=f32[3,16]", "| x=f32[2,3,24] scale=f32[24] bias=f32[24]",
#if MISTAKE != 1
                                    "axis=-2 | x=f32[2,3,5] scale=f32[15]",
#endif
                                    "axis=1 | x=f32[4,8,2] scale=f32[16]"};
static const tn_operator norm = {OPERATOR,
                                 .name = "LayerNorm",
                                 TN_FIELDS(params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32?, f32? -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "LayerNorm",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("layer_norm", norm, kernel)
