/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::ChannelAffine: y = scale[c] * x + shift[c], c being the position along axis 1: what is
 * left of a normalisation whose statistics are constant. Where both vectors are constants a builder
 * can put them into the convolution before it. The kernel takes the channels first or last.
 */
#include "../support/steps.h"

#include <tenon/plugin.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

enum { X, SCALE, SHIFT };
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, any extents"),
                                 TN_PORT("scale", "T", 0, "C"), TN_PORT("shift", "T", 0, "C")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    tn_tensor *y = call->outputs[0];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, expected at least 2",
                                x->rank);
    for (uint32_t i = SCALE; i <= SHIFT; i++)
        if (call->inputs[i]->rank != 1 || call->inputs[i]->shape[0] != x->shape[1])
            return call->host->fail(call, TN_ERROR_SHAPE, "'%s' must have one number a channel",
                                    i == SCALE ? "scale" : "shift");
    y->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        y->shape[i] = x->shape[i];
    return TN_OK;
}

static int64_t plane_of(const tn_tensor *x) {
    uint64_t plane = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        plane *= (uint64_t)x->shape[i];
    return (int64_t)plane;
}
static int64_t count_of(const tn_tensor *x) {
    return (int64_t)(x->bytes / (x->type == TN_F64 ? 8 : 4));
}
static double load(const tn_tensor *x, int64_t i) {
    return x->type == TN_F64 ? ((const double *)x->data)[i] : (double)((const float *)x->data)[i];
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[X], *y = call->outputs[0];
    const int64_t plane = plane_of(x), channels = x->shape[1];
    for (int64_t i = 0; i < count_of(x); i++) {
        const int64_t c = i / plane % channels;
        const double value =
            load(call->inputs[SCALE], c) * load(x, i) + load(call->inputs[SHIFT], c);
        if (y->type == TN_F64)
            ((double *)y->data)[i] = value;
        else
            ((float *)y->data)[i] = (float)value;
    }
    return TN_OK;
}

static tn_status affine(tn_call *call, tn_affine *out_affine) {
    const tn_tensor *scale = call->inputs[SCALE], *shift = call->inputs[SHIFT];
    if (!scale->data || !shift->data) return TN_ERROR_UNSUPPORTED;
    const int64_t channels = scale->shape[0];
#if MISTAKE != 3
    if ((uint64_t)channels > out_affine->count) return TN_ERROR_UNSUPPORTED;
#endif
#if MISTAKE == 1
    out_affine->axis = 0;
#else
    out_affine->axis = 1;
#endif
    out_affine->count = (uint64_t)channels;
    for (int64_t c = 0; c < channels; c++) {
        out_affine->factors[c] = load(scale, c);
        out_affine->shifts[c] = load(shift, c);
    }
    return TN_OK;
}

#if MISTAKE == 4
/* The vectors, found once. */
typedef struct vectors {
    const tn_tensor *scale, *shift;
} vectors;
static tn_status prepare(tn_call *call) {
    vectors *found = call->host->allocate(call->host, sizeof(vectors), 64);
    if (!found) return TN_ERROR_MEMORY;
    found->scale = call->inputs[SCALE];
    found->shift = call->inputs[SHIFT];
    call->state = found;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
#endif

/* Elements begin..end-1 in the order in which they lie. */
static tn_status scale_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[X];
    const float *from = x->data, *scale = call->inputs[SCALE]->data;
    const float *shift = call->inputs[SHIFT]->data;
    float *to = call->outputs[0]->data;
    const int64_t channels = x->shape[1];
#if MISTAKE == 2
    const int64_t step = plane_of(x);
#else
    const int64_t step = (x->format & 0xff) == TN_LAYOUT_CHANNELS_LAST ? 1 : plane_of(x);
#endif
#if MISTAKE == 4
    const vectors *found = call->state;
    if (found->scale->data && found->shift->data)
        scale = found->scale->data, shift = found->shift->data;
#endif
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t c = i / step % channels;
        to[i] = scale[c] * from[i] + shift[c];
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = (int64_t)(call->inputs[X]->bytes / sizeof(float));
    return call->host->parallel_for(call, count, 4096, scale_elements, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,4,5] scale=f32[3] shift=f32[3]",
    "| x=f32[3,4] scale=f32[4]{1,2,0.5,-1} shift=f32[4]{0,1,0,-3}",
    "| x=f64[1,2,7] scale=f64[2] shift=f64[2]",
    "| x=f32[1,8,6,6] scale=f32[8] shift=f32[8]",
};
DESCRIBES(describe_facet, NULL, affine, NULL)
static const tn_operator channel_affine = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "Fifth",
    .name = "ChannelAffine",
    .doc = "Each channel times a factor, plus a shift.",
    TN_NO_FIELDS,
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
    .facet = describe_facet,
};
static const char *const combinations[] = {
#if MISTAKE == 5
    "f32|f64, f32|f64, f32|f64 -> f32|f64",
#else
    "f32, f32, f32 -> f32",
#endif
    "f32:nhwc, f32, f32 -> f32:nhwc",
};
static const tn_kernel channel_affine_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Fifth",
    .op = "ChannelAffine",
    .device = "cpu",
    .name = "elements",
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    TN_COMBINATIONS(combinations),
#if MISTAKE == 4
    .prepare = prepare,
    .release = release,
#endif
    .run = run,
};

static const tn_operator *const operators[] = {&channel_affine};
static const tn_kernel *const kernels[] = {&channel_affine_cpu};
TN_LIBRARY("channel_affine", "1.0", operators, kernels)
