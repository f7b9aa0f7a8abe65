/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution of one pixel: channels are mixed by a matrix, in three formats. Biases, residuals
 * and activations behind it are done while storing. */
#include "seventeenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "images, channels, any others"),
                                 TN_PORT("w", "f32", 0, "channels of y, channels of x")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "images, channels, the others")};

static tn_status infer(tn_call *call) {
    TN_TRY(require_rank(call, 0, 2));
    if (!TN_LAYER_FITS(call, 1, TN_LAYER_ANY, call->inputs[0]->shape[1])) return TN_ERROR_SHAPE;
    TN_TRY(infer_same(call));
    call->outputs[0]->shape[1] = call->inputs[1]->shape[0];
    return TN_OK;
}

static double product(const tn_call *call, int64_t n, int64_t channel, int64_t inner) {
    const tn_tensor *x = call->inputs[0];
    const int64_t channels = x->shape[1];
    const float *w = (const float *)call->inputs[1]->data + channel * channels;
    double sum = 0;
    for (int64_t c = 0; c < channels; c++)
        sum += (double)w[c] * (double)((const float *)x->data)[position(x, n, c, inner)];
    return sum;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t inner = extent(y, 2, y->rank), channels = y->shape[1];
    for (int64_t i = 0; i < tn_layer_count(y); i++)
        tn_layer_store(y, i, product(call, i / inner / channels, i / inner % channels, i % inner));
    return TN_OK;
}

enum { MOST_STEPS = 8 };

static tn_status accepts(tn_call *call) {
    return call->step_count <= MOST_STEPS ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static double activate(const tn_facet_activation *a, double v) {
    const double alpha = (double)a->alpha, beta = (double)a->beta;
    switch (a->function) {
    case TN_ACTIVATION_RELU:
        return v < 0 ? 0 : v;
    case TN_ACTIVATION_CLIP:
        v = v < alpha ? alpha : v;
        return v > beta ? beta : v;
    default:
        return 1 / (1 + exp(-v));
    }
}

/* The index along `axis` of element (n, c, inner) of y. */
static int64_t index_along(const tn_tensor *y, int32_t axis, int64_t n, int64_t c, int64_t inner) {
    const uint32_t at = (uint32_t)(axis < 0 ? axis + (int32_t)y->rank : axis);
    if (at < 2) return at == 0 ? n : c;
    return inner / extent(y, at + 1, y->rank) % y->shape[at];
}

/* A number among a step's inputs. */
static double input_of(const tn_call *call, const tn_step *step, uint32_t index,
                       const double *values, int64_t at) {
    const uint32_t given = step->inputs[index];
    if (given == TN_STEP_VALUE) return values[0];
    if (given & TN_STEP_OPERAND)
        return (double)((const float *)call->operands[given & ~TN_STEP_OPERAND]->data)[at];
    return values[given + 1];
}

/* Element (n, c, inner), which lies at `at`, behind all steps. */
static double finish(const tn_call *call, double v, int64_t n, int64_t c, int64_t inner,
                     int64_t at) {
    const tn_tensor *y = call->outputs[0];
    double values[MOST_STEPS + 1] = {v};
    for (uint32_t s = 0; s < call->step_count; s++) {
        const tn_step *step = call->steps[s];
        const double x = input_of(call, step, 0, values, at);
        if (strcmp(step->facet, TN_FACET_BIAS) == 0) {
            const tn_facet_axis *what = step->what;
            const int64_t k = WRONG(1) ? c : index_along(y, what->axis, n, c, inner);
            values[s + 1] = x + input_of(call, step, 1, values, k);
        } else if (strcmp(step->facet, TN_FACET_RESIDUAL) == 0) {
            const int64_t linear = (n * y->shape[1] + c) * extent(y, 2, y->rank) + inner;
            values[s + 1] = x + input_of(call, step, 1, values, WRONG(2) ? linear : at);
        } else {
            values[s + 1] = activate(step->what, x);
        }
    }
    return values[call->step_count];
}

/* Sums first and activations after them, as most networks have it. */
static double sums_first(const tn_call *call, double v, int64_t at, int64_t n, int64_t c,
                         int64_t inner) {
    double values[MOST_STEPS + 1] = {0};
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t s = 0; s < call->step_count; s++) {
            const tn_step *step = call->steps[s];
            const bool is_bias = strcmp(step->facet, TN_FACET_BIAS) == 0;
            if (strcmp(step->facet, TN_FACET_ACTIVATION) == 0)
                v = pass == 1 ? activate(step->what, v) : v;
            else if (pass == 0)
                v += input_of(call, step, 1, values,
                              is_bias ? index_along(call->outputs[0],
                                                    ((const tn_facet_axis *)step->what)->axis, n, c,
                                                    inner)
                                      : at);
        }
    return v;
}

static tn_status pixels(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *y = call->outputs[0];
    const int64_t inner = extent(y, 2, y->rank);
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0; c < stored_channels(y); c++) {
            const int64_t n = i / inner, at = position(y, n, c, i % inner);
            double v = 0;
            if (c < y->shape[1]) v = product(call, n, c, i % inner);
            if (WRONG(3))
                v = sums_first(call, v, at, n, c < y->shape[1] ? c : 0, i % inner);
            else if (c < y->shape[1] || WRONG(4))
                v = finish(call, v, n, c < y->shape[1] ? c : 0, i % inner, at);
            ((float *)y->data)[at] = (float)(c < y->shape[1] || WRONG(4) ? v : 0);
        }
    return TN_OK;
}
TN_LAYER_RUN(pixels, call->inputs[0]->shape[0] * extent(call->inputs[0], 2, call->inputs[0]->rank),
             4)

static const char *const cases[] = {
    "| x=f32[2,5,3,4] w=f32[11,5]",
    "| x=f32[1,8,2,2] w=f32[16,8]",
    "| x=f32[3,4] w=f32[2,4]",
};
static const tn_operator channel_mix = {
    OPERATOR,       .name = "ChannelMix",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32", "f32:nhwc, f32 -> f32:nhwc",
                                           "f32:c8, f32 -> f32:c8"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "ChannelMix",
                                 .device = "cpu",
                                 .name = "pixels",
                                 .absorbs =
                                     "tn.bias/1, tn.residual/1, tn.activation/1(relu|clip|sigmoid)",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .accepts = accepts,
                                 .run = run};
LIBRARY("channel_mix", channel_mix, kernel)
