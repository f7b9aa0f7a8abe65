/* SPDX-License-Identifier: Apache-2.0 */
/* Second::RowDot: y[m][n] = sum over k of x[m][k] * w[n][k], and what comes after it. */
#include "second.h"
#include "../support/steps.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "M, K"), TN_PORT("w", "f32", 0, "N, K")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "M, N")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank != 2 || w->rank != 2 || x->shape[1] != w->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "x and w are not M, K and N, K");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = x->shape[0];
    call->outputs[0]->shape[1] = w->shape[0];
    return TN_OK;
}
static double dot(const tn_call *call, int64_t m, int64_t n) {
    const int64_t depth = call->inputs[0]->shape[1];
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += get(call->inputs[0], m * depth + k) * get(call->inputs[1], n * depth + k);
    return sum;
}
static tn_status reference(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    for (int64_t i = 0, count = elements(y); i < count; i++)
        set(y, i, dot(call, i / y->shape[1], i % y->shape[1]));
    return TN_OK;
}

/* As min and max are written where NaN stays. */
static double clip(double x, double low, double high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}
static double activation(const seen_step *e, double x) {
    const double alpha = (double)e->alpha, beta = (double)e->beta;
    switch (e->activation) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case TN_ACTIVATION_CLIP:
        return clip(x, alpha, beta);
    case TN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case TN_ACTIVATION_TANH:
        return tanh(x);
    case TN_ACTIVATION_HARD_SIGMOID:
        return clip(alpha * x + beta, 0, 1);
#if MISTAKE != 1
    case TN_ACTIVATION_HARD_SWISH:
        return x * clip(x / 6 + 0.5, 0, 1);
    case TN_ACTIVATION_ELU:
        return x < 0 ? alpha * expm1(x) : x;
#endif
    case TN_ACTIVATION_GELU_ERF:
        return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case TN_ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case TN_ACTIVATION_SWISH:
        return x / (1 + exp(-(IS(7) ? 1 : alpha) * x));
    default:
        return x;
    }
}
static double step(const tn_call *call, const seen_step *e, double v, int64_t m, int64_t n) {
    const int64_t width = call->outputs[0]->shape[1];
    const int64_t c = e->axis == 0 || e->axis == -2 ? m : n;
    switch (e->kind) {
    case SEEN_BIAS:
        return v + get(call->operands[e->operand], IS(2) ? n : c);
    case SEEN_SCALE:
        return v * get(call->operands[e->operand], c);
    case SEEN_RESIDUAL:
        return v + get(call->operands[IS(6) ? 0 : e->operand], m * width + n);
    case SEEN_ACTIVATION:
        return activation(e, v);
    case SEEN_ROW: {
        const float in = (float)v, *const ins[] = {&in};
        const uint64_t strides[] = {1};
        float out = 0;
        e->row(e->params, 1, ins, strides, &out);
        return (double)out;
    }
    default:
        return v;
    }
}
static tn_status run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    const int64_t width = y->shape[1];
    for (int64_t i = 0, count = elements(y); i < count; i++) {
        const int64_t m = i / width, n = i % width;
        double v = dot(call, m, n);
        const seen_step *last = NULL;
        seen_step seen[16];
        for (uint32_t k = 0; k < call->step_count; k++) {
            const seen_step *e = see_step(call, k, &seen[k % 16]);
            if (IS(3) && e->kind == SEEN_ACTIVATION) { /* "always comes last" */
                last = e;
                continue;
            }
            if (IS(4) && e->kind == SEEN_ACTIVATION) {
                if (!last) last = e;
                e = last;
            }
            if (IS(5) && e->kind == SEEN_SCALE && n >= width / 4 * 4) continue;
            v = step(call, e, v, m, n);
        }
        if (IS(3) && last) v = step(call, last, v, m, n);
        set(y, i, v);
    }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5] w=f32[4,5]", "| x=f32[8,16] w=f32[8,16]",
                                    "| x=f32[2,0] w=f32[3,0]", "| x=f32[0,3] w=f32[7,3]"};
static const char *const combinations[] = {"f32, f32 -> f32"};
OPERATOR("RowDot", "Products of rows.", TN_NO_FIELDS)
KERNEL("RowDot", .traits = TN_KERNEL_DETERMINISTIC,
       .absorbs = "tn.bias/1, tn.scale/1, tn.residual/1, "
#if MISTAKE == 50
                  "tn.row/1, "
#endif
                  "tn.activation/1(" TN_ACTIVATIONS_1_0 ")")
LIBRARY("second_rowdot")
