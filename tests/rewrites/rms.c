/* SPDX-License-Identifier: Apache-2.0 */
/* Test::RMSNormalization: x / sqrt(mean(x^2) + epsilon) * scale along the last axis; and the table
 * of the library. */
#include "fusions.h"

#include <math.h>

typedef struct rms_params {
    uint64_t present;
    float epsilon;
} rms_params;
static const tn_field fields[] = {
    TN_FIELD(rms_params, epsilon, TN_FIELD_F32, 0, "1e-5", "added to the mean of the squares")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "[..., n]"),
                                 TN_PORT("scale", "f32", 0, "[n]")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *scale = call->inputs[1];
    if (x->rank == 0 || scale->rank != 1 || last_of(scale, 1) != last_of(x, 1))
        return call->host->fail(call, TN_ERROR_SHAPE, "scale is not as long as x's last axis");
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static tn_status normalize(tn_call *call) {
    const rms_params *p = call->params;
    const int64_t n = last_of(call->inputs[0], 1), count = count_of(call->inputs[0]);
    const float *x = call->inputs[0]->data, *scale = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    for (int64_t row = 0; n > 0 && row < count; row += n) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += (double)x[row + i] * x[row + i];
        const double factor = 1 / sqrt(sum / (double)n + p->epsilon);
        for (int64_t i = 0; i < n; i++)
            y[row + i] = (float)(x[row + i] * factor * scale[i]);
    }
    return TN_OK;
}

static const char *const cases[] = {"epsilon=0.5 | x=f32[3,5] scale=f32[5]",
                                    "| x=f32[2,3,8] scale=f32[8]"};
const tn_operator fusions_rms = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Test",
                                 .name = "RMSNormalization",
                                 .doc = "Root mean square normalisation.",
                                 TN_FIELDS(rms_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = normalize,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
const tn_kernel fusions_rms_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "Test",
                                      .op = "RMSNormalization",
                                      .device = "cpu",
                                      .name = "rows",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      TN_COMBINATIONS(combinations),
                                      .run = normalize};

static tn_status is_last_axis(const tn_match *match) {
    const tn_attribute *axes = match->value(match, "axes");
    const int32_t rank = tn_match_rank(match, "x");
    double axis = 0;
    if (rank < 1 || !axes || tn_match_number(match, "axes", 0, &axis) != TN_OK || axes->count > 1 ||
        (axis != -1 && axis != rank - 1))
        return match->refuse(match, "the mean is not along the last axis");
    if (tn_match_rank(match, "scale") != 1 || !match->is_equal_extent(match, "scale", 0, "x", -1))
        return match->refuse(match, "scale is no vector as long as the last axis of x");
    return TN_OK;
}

#define MEAN(value) "ReduceMean(" value ", axes=?axes) | ReduceMean(" value ", ?axes[])"
static const char *const rewrite_cases[] = {"x=f32[2,3,8] scale=f32[8] axes=[-1] epsilon=1e-3",
                                            "x=f32[4,8] scale=f32[8] axes=[1] epsilon=0.5"};
static const char *const misses[] = {"x=f32[2,8,8] scale=f32[8] axes=[1] epsilon=1e-3",
                                     "x=f32[2,3,8] scale=f32[1] axes=[-1] epsilon=1e-3",
                                     "x=f32[2,3,8] scale=f32[8] axes=[1,2] epsilon=1e-3"};
static const tn_rewrite rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "rms-normalization",
    .doc = "x / sqrt(mean(x^2) + epsilon) * scale: PyTorch's exporters, and the body of ONNX's",
    .pattern = "q = Pow(x, 2) | Mul(x, x); v = " MEAN(
        "q") ";"
             "s = Sqrt(Add(v, ?epsilon));"
             "y = Mul(Div(x, s) | Mul(x, Reciprocal(s) | Div(1, s)), scale)",
    .replacement = "y = Test::RMSNormalization(x, scale, epsilon=?epsilon)",
    .guard = is_last_axis,
    TN_REWRITE_CASES(rewrite_cases),
    TN_REWRITE_MISSES(misses),
};
const tn_rewrite *const fusions_rms_rewrites[1] = {&rewrite};
