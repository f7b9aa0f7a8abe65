/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Tint: y = x * factor[c] + shift, channels on axis 1, in blocked and other formats. */
#include "blind.h"

TN_LAYER_PARAMS(tint, float shift;);
static const tn_field fields[] = {TN_LAYER_F32(tint, shift, "0.5", -8, 8, "is added")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, ..."),
                                 TN_PORT("factor", "T", 0, "[C]")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2) return call->host->fail(call, TN_ERROR_SHAPE, "x has no channels");
    if (!TN_LAYER_FITS(call, 1, x->shape[1])) return TN_ERROR_SHAPE;
    return same_shape(call, 0, 0);
}

static double one(const tn_call *call, double x, double factor) {
    return x * factor + (double)((const tint *)call->params)->shift;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    for (int64_t i = 0; i < count_of(x); i++) {
        const int64_t c = i / product(x, 2, x->rank) % x->shape[1];
        set(call->outputs[0], i, one(call, get(x, i), get(call->inputs[1], c)));
    }
    return TN_OK;
}

/* N, ceil(C / block), the rest, block */
static void blocked(const tn_call *call, int64_t block) {
    const tn_tensor *x = call->inputs[0];
    const float *from = x->data, *factor = call->inputs[1]->data;
    float *to = call->outputs[0]->data;
    const int64_t channels = x->shape[1];
    const int64_t blocks =
        IS(4) && channels > block ? channels / block : (channels + block - 1) / block;
    const int64_t pixels = IS(6) && x->rank > 4 ? product(x, 2, 4) : product(x, 2, x->rank);
    const int64_t image = IS(5) && channels > block ? channels * pixels : blocks * pixels * block;
    for (int64_t n = 0; n < x->shape[0]; n++)
        for (int64_t i = 0; i < blocks * pixels * block; i++) {
            const int64_t c = i / (pixels * block) * block + i % block;
            const bool is_padding = c >= channels;
            if (is_padding && IS(2)) continue; /* nobody reads it, it is thought */
            if (is_padding && IS(1)) {         /* what a whole vector gives */
                to[n * image + i] = (float)one(call, (double)from[n * image + i], 0);
                continue;
            }
            if (is_padding && IS(3)) { /* a whole vector of factors, too */
                to[n * image + i] = 0 * ((const volatile float *)factor)[c];
                if (to[n * image + i] != 0) to[n * image + i] = 0;
                continue;
            }
            to[n * image + i] =
                is_padding ? 0 : (float)one(call, (double)from[n * image + i], (double)factor[c]);
        }
}

static void last(const tn_call *call) { /* N, the rest, C */
    const tn_tensor *x = call->inputs[0];
    const int64_t channels = x->shape[1];
    for (int64_t i = 0; i < count_of(x); i++) {
        int64_t c = i % channels;
        if (IS(7)) c = i / product(x, 2, x->rank) % channels; /* as if it were linear */
        ((float *)call->outputs[0]->data)[i] =
            (float)one(call, (double)((const float *)x->data)[i],
                       (double)((const float *)call->inputs[1]->data)[c]);
    }
}

static tn_status run(tn_call *call) {
    const tn_format format = call->inputs[0]->format;
    if (format == TN_C8)
        blocked(call, 8);
    else if (format == TN_C16)
        blocked(call, 16);
    else if (format == TN_C32)
        blocked(call, 32);
    else if (format == TN_NHWC)
        last(call);
    else
        return reference(call);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[1,8,3,3] factor=f32[8]",
                                    "shift=-1 | x=f32[2,16,4] factor=f32[16]",
                                    "| x=f32[1,3,2,5] factor=f32[3]", "| x=f64[1,2] factor=f64[2]"};
#if MISTAKE == 50
static const char *const combinations[] = {"f32:c16, f32 -> f32:c16", "f32, f32 -> f32"};
#elif MISTAKE == 3
static const char *const combinations[] = {"f32:c32, f32 -> f32:c32"};
#elif MISTAKE == 51 || MISTAKE == 7
static const char *const combinations[] = {"f32:nhwc, f32 -> f32:nhwc"};
#else
static const char *const combinations[] = {"f32:c8, f32 -> f32:c8"};
#endif
BLIND_OPERATOR("Tint", "Scales channels.", tint, )
BLIND_KERNEL("Tint", .traits = TN_KERNEL_DETERMINISTIC)
BLIND_LIBRARY("blind_blocked")
