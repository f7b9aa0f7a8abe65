/* SPDX-License-Identifier: Apache-2.0 */
/* Bicubic resize of a picture to a size that the run is given. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, bool align;);
static const tn_field fields[] = {TN_LAYER_BOOL(params, align, "false", "corners meet")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "height, width"),
                                 TN_PORT("sizes", "i64", TN_PORT_VALUE_NEEDED, "2: the new ones")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "of the sizes")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_SOME, TN_LAYER_SOME) || !TN_LAYER_FITS(call, 1, 2))
        return TN_ERROR_SHAPE;
    const int64_t *sizes = call->inputs[1]->data;
    if (!sizes) return call->host->fail(call, TN_ERROR_STATE, "the sizes are not known");
    if (!WRONG(5) && (sizes[0] < 1 || sizes[1] < 1))
        return call->host->fail(call, TN_ERROR_RANGE, "'sizes' are %lld and %lld, below 1",
                                (long long)sizes[0], (long long)sizes[1]);
    return tn_layer_set_shape(call, 0, 2, sizes);
}

static double cubic(double d) {
    d = fabs(d);
    return d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
}
static double position(bool align, int64_t i, int64_t in, int64_t out) {
    if (align) return out > 1 ? (double)i * (double)(in - 1) / (double)(out - 1) : 0;
    return ((double)i + 0.5) * (double)in / (double)out - 0.5;
}
static int64_t clamped(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}
static double element(const tn_call *call, int64_t i) {
    const bool align = ((const params *)call->params)->align;
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const double y = position(align, i / out[1], in[0], out[0]);
    const double x = position(align, i % out[1], in[1], out[1]);
    double sum = 0;
    for (int k = 0; k < 16; k++) {
        const double row = floor(y) + k / 4 - 1, column = floor(x) + k % 4 - 1;
        sum += cubic(y - row) * cubic(x - column) *
               tn_layer_load(call->inputs[0], clamped((int64_t)row, in[0]) * in[1] +
                                                  clamped((int64_t)column, in[1]));
    }
    return sum;
}
TN_LAYER_REFERENCE(element)

typedef struct axis_taps {
    int64_t index[4];
    float weight[4];
} axis_taps;
static axis_taps taps_of(const tn_call *call, int axis, int64_t i) {
    const bool align = ((const params *)call->params)->align;
    const int64_t in = call->inputs[0]->shape[axis], out = call->outputs[0]->shape[axis];
    double at = position(align, i, in, out);
    if (WRONG(2) && align) at = (double)i * (double)(in - 1) / (double)(out - 1);
    if (WRONG(4) && !align) at = ((double)i + 0.5) * ((double *)call->state)[axis] - 0.5;
    const double base = WRONG(3) ? (double)(int64_t)at : floor(at);
    axis_taps t;
    for (int k = 0; k < 4; k++) {
        const int64_t tap = (int64_t)base + k - 1;
        t.index[k] = WRONG(1) ? (tap < 0 ? 0 : tap > in ? in : tap) : clamped(tap, in);
        t.weight[k] = (float)cubic(at - (double)tap);
    }
    return t;
}
static tn_status prepare(tn_call *call) {
    double *ratios = malloc(2 * sizeof(*ratios));
    if (!ratios) return TN_ERROR_MEMORY;
    for (int i = 0; i < 2; i++)
        ratios[i] = (double)call->inputs[0]->shape[i] / (double)call->outputs[0]->shape[i];
    call->state = ratios;
    return TN_OK;
}
static void release(tn_call *call) {
    free(call->state);
}
static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const float *x = call->inputs[0]->data;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const axis_taps down = taps_of(call, 0, row);
        for (int64_t column = 0; column < out[1]; column++) {
            const axis_taps across = taps_of(call, 1, column);
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += down.weight[k / 4] * across.weight[k % 4] *
                       x[down.index[k / 4] * in[1] + across.index[k % 4]];
            ((float *)call->outputs[0]->data)[row * out[1] + column] = sum;
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->outputs[0]->shape[0], 4)

static const char *const cases[] = {
    "| x=f32[5,7] sizes=i64[2]{8,9} | y=f32[8,9]", "align=1 | x=f32[4,6] sizes=i64[2]{7,3}",
    "| x=f32[9,8] sizes=i64[2]{4,5}", "| x=f32[3,3] sizes=i64[2]{12,2}"};
static const tn_operator bicubic = {OPERATOR,
                                    .name = "BicubicTo",
                                    TN_FIELDS(params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "BicubicTo",
                                 .name = "taps",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run};
LIBRARY("bicubic_to", bicubic, kernel)
