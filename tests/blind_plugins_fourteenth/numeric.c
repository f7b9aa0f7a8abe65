/* SPDX-License-Identifier: Apache-2.0 */
/* Along the last axis: the logarithm of the sum of exponentials, the length of the vector, the
 * deviation, or the mean of logarithms. */
#include "fourteenth.h"

TN_LAYER_PARAMS(numeric_params, uint32_t what;);
static const tn_field fields[] = {TN_FIELD_CHOICE(numeric_params, what, TN_FIELD_ENUM, TN_OPTIONAL,
                                                  "logsumexp", "logsumexp|length|deviation",
                                                  "what is computed")};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "at least one axis, of one element or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "without the last axis")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1 || x->shape[x->rank - 1] < 1)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'x' has no elements along its last axis");
    return tn_layer_set_shape(call, 0, x->rank - 1, x->shape);
}
static double compute(uint32_t what, const float *x, int64_t n) {
    double sum = 0, largest = -INFINITY, mean = 0;
    for (int64_t i = 0; i < n; i++) {
        if ((double)x[i] > largest || isnan(x[i])) largest = (double)x[i];
        mean += (double)x[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)x[i];
        if (isnan(v)) return v;
        sum += what == 0   ? (isinf(largest) ? 0 : exp(v - largest))
               : what == 1 ? v * v
                           : (v - mean) * (v - mean) / (double)n;
    }
    return what == 0 ? (isinf(largest) ? largest : largest + log(sum)) : sqrt(sum);
}
static tn_status reference(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    for (int64_t r = 0; r < tn_layer_rows(call->inputs[0]); r++)
        tn_layer_store(call->outputs[0], r,
                       compute(((const numeric_params *)call->params)->what,
                               (const float *)call->inputs[0]->data + r * n, n));
    return TN_OK;
}
static float kernel_compute(uint32_t what, const float *x, int64_t n) {
    if (WRONG(1) && what == 0) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += expf(x[i]);
        return logf(sum);
    }
    if (WRONG(2) && what == 0) {
        float largest = x[0], sum = 0;
        for (int64_t i = 1; i < n; i++)
            largest = x[i] > largest || isnan(x[i]) ? x[i] : largest;
        for (int64_t i = 0; i < n; i++)
            sum += expf(x[i] - largest); /* inf - inf */
        return largest + logf(sum);
    }
    if (WRONG(3) && what == 1) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i] * x[i];
        return sqrtf(sum);
    }
    if (WRONG(4) && what == 2) {
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < n; i++)
            sum += x[i], squares += x[i] * x[i];
        const float mean = sum / (float)n, variance = squares / (float)n - mean * mean;
        return sqrtf(variance > 0 || isnan(variance) ? variance : 0);
    }
    if (WRONG(5) && what == 2 && n == 1) return NAN;
    if (WRONG(6) && what == 1) {
        double largest = 0, sum = 0;
        for (int64_t i = 0; i < n; i++)
            largest = fmax(largest, fabs((double)x[i]));
        for (int64_t i = 0; i < n; i++)
            sum += (double)x[i] / largest * ((double)x[i] / largest); /* 0 / 0 */
        return (float)(largest * sqrt(sum));
    }
    return (float)compute(what, x, n);
}
static tn_status run(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    for (int64_t r = 0; r < tn_layer_rows(call->inputs[0]); r++)
        ((float *)call->outputs[0]->data)[r] =
            kernel_compute(((const numeric_params *)call->params)->what,
                           (const float *)call->inputs[0]->data + r * n, n);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "what=length | x=f32[2,2,9]",
                                    "what=deviation | x=f32[4,16]"};
static const tn_operator numeric = {OPERATOR,
                                    .name = "Numeric",
                                    .doc = "A number of each row.",
                                    TN_FIELDS(numeric_params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel numeric_cpu = {KERNEL, .op = "Numeric", TN_COMBINATIONS(combinations),
                                      .run = run};
LIBRARY("numeric", numeric, numeric_cpu)
