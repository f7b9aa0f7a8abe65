/* SPDX-License-Identifier: Apache-2.0 */
/* Each row in 8 bits with a scale of its own: the largest magnitude is 127. NaN becomes 0, and so
 * does a row whose scale is 0. */
#include "sixteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("q", "i8", 0, "as x"),
                                  TN_PORT("scales", "f32", 0, "x without its last axis")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar, expected rank 1+");
    TN_TRY(set_shape(call, 1, x->rank - 1, x->shape));
    return infer_same(call);
}

static int8_t quantize(float v, float scale) {
    const double q = rint((double)v / (double)scale);
    if (isnan(q)) return 0;
    return (int8_t)(q < -127 ? -127 : q > 127 ? 127 : q);
}

static float row(const float *x, int8_t *q, int64_t n) {
    float largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(x[i]));
    const float scale = (float)((double)largest / 127);
    for (int64_t i = 0; q && i < n; i++)
        q[i] = scale == 0 ? 0 : quantize(x[i], scale);
    return scale;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *q = output(call, 0), *scales = output(call, 1);
    const int64_t n = x->shape[x->rank - 1];
    for (int64_t r = 0; r < tn_layer_rows(x); r++) {
        const float scale =
            row((const float *)x->data + r * n, q ? (int8_t *)q->data + r * n : NULL, n);
        if (scales) ((float *)scales->data)[r] = scale;
    }
    return TN_OK;
}

static float fast_row(const float *x, int8_t *q, int64_t n) {
    float largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabsf(x[i]) > largest) largest = fabsf(x[i]);
    const float scale = (float)((double)largest / 127);
    const float factor = 1 / scale;
    for (int64_t i = 0; q && i < n; i++) {
        if (WRONG(1)) {
            const double v = scale == 0 ? 0 : round((double)x[i] / (double)scale);
            q[i] = isnan(v) ? 0 : (int8_t)(v < -127 ? -127 : v > 127 ? 127 : v);
        } else if (WRONG(2)) {
            const double v = scale == 0 ? 0 : rint((double)x[i] / (double)scale);
            q[i] = (int8_t)(v > 127 ? 127 : v > -127 ? v : -127);
        } else if (WRONG(3)) {
            const float v = scale == 0 ? 0 : rintf(x[i] * factor);
            q[i] = isnan(v) ? 0 : (int8_t)(v < -127 ? -127 : v > 127 ? 127 : v);
        } else {
            q[i] = scale == 0 ? 0 : quantize(x[i], scale);
        }
    }
    return scale;
}

static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *q = output(call, 0), *scales = output(call, 1);
    const int64_t n = x->shape[x->rank - 1];
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float scale =
            fast_row((const float *)x->data + r * n, q ? (int8_t *)q->data + r * n : NULL, n);
        if (scales) ((float *)scales->data)[r] = scale;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 1, rows, call);
}

static const char *const cases[] = {
    "| x=f32[3,2,5]",
    "| x=f32[2,4]{1,-3,0.5,2,0,0,0,0}",
    "| x=f32[1,3]{-254,-3,1}",
};
static const tn_operator quantize_rows = {
    OPERATOR,       .name = "QuantizeRows", TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i8, f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "QuantizeRows",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("quantize_rows", quantize_rows, kernel)
