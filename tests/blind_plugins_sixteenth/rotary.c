/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary positions: pairs of features are turned by position * base^(-2 i / features). */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, float base; bool interleaved;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, base, "10000", 1, 1e6, "of the wave lengths"),
    TN_LAYER_BOOL(params, interleaved, "false", "neighbours are a pair, else the halves' elements"),
};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "batch, heads, sequence, features"),
    TN_PORT("positions", "i64", TN_PORT_OPTIONAL, "sequence; or 0, 1, 2 ...")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, x->shape[2]))
        return TN_ERROR_SHAPE;
    if (x->shape[3] % 2 != 0 && !WRONG(2))
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' has %lld features, expected even",
                                (long long)x->shape[3]);
    return infer_same(call);
}

static double position_of(const tn_call *call, int64_t row) {
    const int64_t *positions = tn_layer_data(call, 1);
    const int64_t at = row % call->inputs[0]->shape[2];
    return (double)(positions ? positions[at] : at);
}

static double frequency(const params *p, int64_t i, int64_t features) {
    return pow((double)p->base, -2.0 * (double)i / (double)features);
}

static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t features = x->shape[3], half = features / 2;
    for (int64_t row = 0; half > 0 && row < extent(x, 0, 3); row++) {
        const float *from = (const float *)x->data + row * features;
        float *to = (float *)call->outputs[0]->data + row * features;
        for (int64_t i = 0; i < half; i++) {
            const double angle = position_of(call, row) * frequency(p, i, features);
            const int64_t one = p->interleaved ? 2 * i : i,
                          other = p->interleaved ? one + 1 : i + half;
            const double a = (double)from[one], b = (double)from[other];
            to[one] = (float)(a * cos(angle) - b * sin(angle));
            to[other] = (float)(b * cos(angle) + a * sin(angle));
        }
    }
    return TN_OK;
}

#if MISTAKE == 4
static double kept[256];
static int64_t kept_features;
static double kept_frequency(const params *p, int64_t i, int64_t features) {
    if (features > 512) return frequency(p, i, features);
    if (kept_features != features) {
        for (int64_t k = 0; k < features / 2; k++)
            kept[k] = frequency(p, k, features);
        kept_features = features;
    }
    return kept[i];
}
#else
#define kept_frequency frequency
#endif

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t features = x->shape[3], half = features / 2;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *from = (const float *)x->data + row * features;
        float *to = (float *)call->outputs[0]->data + row * features;
        const double position = position_of(call, row);
        for (int64_t i = 0; i < half; i++) {
            double angle = position * kept_frequency(p, i, features);
            if (WRONG(1))
                angle =
                    (double)((float)position * powf(p->base, -2.0f * (float)i / (float)features));
            const double c = cos(angle), s = sin(angle);
            const int64_t one = p->interleaved ? 2 * i : i,
                          other = p->interleaved ? one + 1 : i + half;
            const double a = (double)from[one];
            if (WRONG(3)) {
                to[one] = (float)(a * c - (double)from[other] * s);
                to[other] = (float)((double)from[other] * c + (double)from[one] * s);
            } else {
                const double b = (double)from[other];
                to[one] = (float)(a * c - b * s);
                to[other] = (float)(b * c + a * s);
            }
        }
    }
    return TN_OK;
}
static tn_status body(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return rows(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return call->host->parallel_for(call, x->shape[3] > 0 ? extent(x, 0, 3) : 0,
                                    WRONG(4) ? 1 << 30 : 4, body, call);
}

static const char *const cases[] = {
    "| x=f32[1,2,5,8]",
    "base=100 interleaved=true | x=f32[2,1,3,6] positions=i64[3]{7,123457,5000011}",
    "base=500000 | x=f32[1,3,2,4] positions=i64[2]{1048573,-3}",
};
static const tn_operator rotary = {OPERATOR,
                                   .name = "Rotary",
                                   TN_FIELDS(params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64? -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Rotary",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("rotary", rotary, kernel)
