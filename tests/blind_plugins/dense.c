/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Dense: y = x * w, a matrix product that absorbs chains of bias, scale, addition and
 * activation. Constant weights are packed by columns in prepare.
 */
#include "blind.h"
#include "../support/steps.h"

TN_LAYER_PARAMS(dense, bool transposed;);
static const tn_field fields[] = {TN_LAYER_BOOL(dense, transposed, "false", "w is [n,k]")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "[m,k]"),
                                 TN_PORT("w", "T", 0, "[k,n]")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "[m,n]")};

static int64_t width(const tn_call *call) {
    return call->inputs[1]->shape[((const dense *)call->params)->transposed ? 0 : 1];
}

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, -1, -1)) return TN_ERROR_SHAPE;
    const int64_t *x = call->inputs[0]->shape, *w = call->inputs[1]->shape;
    if (x[1] != w[((const dense *)call->params)->transposed ? 1 : 0])
        return call->host->fail(call, TN_ERROR_SHAPE, "x has %lld columns", (long long)x[1]);
    return TN_LAYER_SET_SHAPE(call, 0, x[0], width(call));
}

static int64_t weight_offset(const tn_call *call, int64_t k, int64_t n) {
    const int64_t columns = call->inputs[1]->shape[1];
    return ((const dense *)call->params)->transposed ? n * columns + k : k * columns + n;
}

static tn_status reference(tn_call *call) {
    const int64_t depth = call->inputs[0]->shape[1], n = width(call);
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++) {
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += get(call->inputs[0], i / n * depth + k) *
                   get(call->inputs[1], weight_offset(call, k, i % n));
        set(call->outputs[0], i, sum);
    }
    return TN_OK;
}

static double activate(const seen_step *e, double x) {
    const double a = (double)e->alpha, b = (double)e->beta;
    switch (e->activation) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_LEAKY_RELU:
        return IS(4) ? fmax(x, a * x) : x < 0 ? a * x : x; /* the maximum, for slopes below 1 */
    case TN_ACTIVATION_CLIP:
        return x < a ? a : x > b ? b : x;
    case TN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case TN_ACTIVATION_TANH: /* mistake 6: overflows for large x */
        if (IS(6)) return (double)((expf((float)(2 * x)) - 1) / (expf((float)(2 * x)) + 1));
        return tanh(x);
    case TN_ACTIVATION_HARD_SIGMOID:
        x = IS(7) ? 0.2 * x + 0.5 : a * x + b; /* ONNX's defaults */
        return x < 0 ? 0 : x > 1 ? 1 : x;
    case TN_ACTIVATION_HARD_SWISH: {
        const double part = x / 6 + 0.5;
        return x * (part < 0 ? 0 : part > 1 ? 1 : part);
    }
    case TN_ACTIVATION_GELU_ERF:
        return 0.5 * x * (1 + erf(x / sqrt(2.0)));
    case TN_ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case TN_ACTIVATION_SWISH:
        return x / (1 + exp(-(IS(5) ? 1 : a) * x));
    default:
        return x < 0 ? a * (exp(x) - 1) : x;
    }
}

static double step(const tn_call *call, const seen_step *e, double v, int64_t i, int64_t n) {
    if (e->kind == SEEN_ACTIVATION) return activate(e, v);
    const tn_tensor *t = call->operands[e->operand];
    if (e->kind == SEEN_RESIDUAL) return v + get(t, i);
    const double c = get(t, e->axis == 0 ? i / n : i % n);
    return e->kind == SEEN_BIAS ? v + c : v * c;
}

static uint32_t count_kind(const tn_call *call, uint32_t begin, uint32_t end, uint32_t kind) {
    uint32_t count = 0;
    for (uint32_t e = begin; e < end; e++)
        count += SEE_STEP(call, e)->kind == kind;
    return count;
}

/* What the chain makes of element `i`. Mistakes of chains: 1: of two biases the last one is added;
 * 2: the activation is done at the end; 3: of two activations the first one is done; 8: the scale
 * is done at the end. */
static double finish(const tn_call *call, double v, int64_t i, int64_t n) {
    const uint32_t count = call->step_count;
    for (int late = 0; late < 2; late++)
        for (uint32_t e = 0; e < count; e++) {
            const uint32_t kind = SEE_STEP(call, e)->kind;
            if (IS(1) && kind == SEEN_BIAS && count_kind(call, e + 1, count, kind)) continue;
            if (IS(3) && kind == SEEN_ACTIVATION && count_kind(call, 0, e, kind)) continue;
            const int is_late = (IS(2) && kind == SEEN_ACTIVATION) || (IS(8) && kind == SEEN_SCALE);
            if (is_late == late) v = step(call, SEE_STEP(call, e), v, i, n);
        }
    return v;
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const int64_t depth = call->inputs[0]->shape[1], n = width(call);
    const float *x = call->inputs[0]->data, *w = call->inputs[1]->data, *packed = call->state;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        double sum = 0;
        if (IS(10) && depth == 0) continue; /* the store is in the last step of the loop over k */
        if (IS(12) && call->tactic == 2) break; /* counted from 0, so there is no case for it */
        for (int64_t k = 0; k < depth; k++) {
            if (IS(9) && !packed && k + 1 == depth && i % n + 1 == n &&
                n % 4) /* a vector of four */
                sum += 0 * (double)((const volatile float *)w)[weight_offset(call, k, i % n) + 1];
            const float b = packed ? packed[i % n * depth + k] : w[weight_offset(call, k, i % n)];
            sum += (double)x[i / n * depth + k] * (double)b;
        }
        ((float *)call->outputs[0]->data)[i] = (float)finish(call, sum, i, n);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, count_of(call->outputs[0]), 64, body, call);
}

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const int64_t depth = call->inputs[0]->shape[1], n = width(call);
    (void)bytes;
    for (int64_t i = 0; i < depth * n; i++)
        ((float *)data)[i] =
            ((const float *)call->inputs[1]->data)[weight_offset(call, i % depth, i / depth)];
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    const bool transposed = ((const dense *)call->params)->transposed;
    const void *packed = NULL;
    if (!call->inputs[1]->data || call->inputs[0]->shape[1] < 1) return TN_OK;
    /* mistake 11: two nodes of one matrix, one of them transposed, have the same key */
    const tn_status status = call->host->packed(call, 1, IS(11) || !transposed ? "columns" : "rows",
                                                call->inputs[1]->bytes, pack, call, &packed);
    call->state = (void *)(uintptr_t)packed;
    return status;
}

#if MISTAKE == 12 || MISTAKE == 51
#define TACTICS .tactics = tactics
static tn_status tactics(tn_call *call) {
    call->tactic_count = 3;
    return TN_OK;
}
#else
#define TACTICS .doc = "One column of w after the other."
#endif
static const char *const cases[] = {"| x=f32[3,17] w=f32[17,5]",
                                    "transposed=true | x=f32[4,4] w=f32[4,4]",
                                    "| x=f64[1,2] w=f64[2,3]", "| x=f32[2,8] w=f32[8,16]"};
static const char *const combinations[] = {"f32, f32 -> f32"};
#if MISTAKE == 52
#define ABSORBS .absorbs = "tn.activation/1(relu|clip)"
#else
#define ABSORBS                                                                                    \
    .absorbs = "tn.bias/1, tn.scale/1, tn.residual/1, "                                            \
               "tn.activation/"                                                                    \
               "1(relu|leaky_relu|clip|sigmoid|tanh|hard_sigmoid|hard_swish|gelu_erf|gelu_tanh|"   \
               "swish|elu)"
#endif
BLIND_OPERATOR("Dense", "A matrix product.", dense, )
BLIND_KERNEL("Dense", .traits = TN_KERNEL_DETERMINISTIC, ABSORBS, .prepare = prepare, TACTICS)
BLIND_LIBRARY("blind_dense")
