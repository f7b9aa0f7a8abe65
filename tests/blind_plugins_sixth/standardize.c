/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lab::Standardize: y = (x - mean[c]) / sqrt(variance[c] + epsilon) for each channel c (axis 1).
 * Constant statistics become a factor and a shift for each channel in prepare; others are turned
 * into them in the workspace before each run. Linear and in blocks of eight channels.
 */
#include "../support/steps.h"

#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif
enum { X, MEAN, VARIANCE };

TN_LAYER_PARAMS(standardize, float epsilon;);

static const tn_field fields[] = {
    TN_LAYER_F32(standardize, epsilon, "1e-3", 1e-6, 1, "added to the variance")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "channels are axis 1"),
                                 TN_PORT("mean", "T", 0, "a number for each channel"),
                                 TN_PORT("variance", "T", 0, "the same, not negative")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "'x' has rank %u and no channels", x->rank);
    if (!TN_LAYER_FITS(call, MEAN, x->shape[1]) || !TN_LAYER_FITS(call, VARIANCE, x->shape[1]))
        return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

static int64_t plane_of(const tn_tensor *x) {
    int64_t count = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        count *= x->shape[i];
    return count;
}
static double factor(const tn_call *call, int64_t c) {
    const double epsilon = (double)((const standardize *)call->params)->epsilon;
    return 1 / sqrt(tn_layer_load(call->inputs[VARIANCE], c) + epsilon);
}
static double element(const tn_call *call, int64_t i) {
    const int64_t c = i / plane_of(call->inputs[X]) % call->inputs[X]->shape[1];
    return (tn_layer_load(call->inputs[X], i) - tn_layer_load(call->inputs[MEAN], c)) *
           factor(call, c);
}
TN_LAYER_REFERENCE(element)

static tn_status affine(tn_call *call, tn_affine *out) {
    const int64_t channels = call->inputs[X]->shape[1];
#if MISTAKE == 6
    if (out->count < (uint64_t)channels) return TN_ERROR_UNSUPPORTED;
#else
    if (!call->inputs[MEAN]->data || !call->inputs[VARIANCE]->data ||
        out->count < (uint64_t)channels)
        return TN_ERROR_UNSUPPORTED;
#endif
    out->axis = 1;
    out->count = (uint64_t)channels;
    for (int64_t c = 0; c < channels; c++) {
        out->factors[c] = factor(call, c);
#if MISTAKE == 2
        out->shifts[c] = -tn_layer_load(call->inputs[MEAN], c);
#else
        out->shifts[c] = -tn_layer_load(call->inputs[MEAN], c) * out->factors[c];
#endif
    }
    return TN_OK;
}

/* Mean and factor of each channel, side by side. */
static void digest(const tn_call *call, float *to) {
    for (int64_t c = 0; c < call->inputs[X]->shape[1]; c++) {
        to[2 * c] = ((const float *)call->inputs[MEAN]->data)[c];
        to[2 * c + 1] = (float)factor(call, c);
    }
}
/* The state: mean and factor of each channel; null where they are not constant. */
static tn_status prepare(tn_call *call) {
    const uint64_t bytes = (uint64_t)call->inputs[X]->shape[1] * 8;
    const bool is_known = call->inputs[MEAN]->data && call->inputs[VARIANCE]->data;
#if MISTAKE == 4
    call->state = call->host->allocate(call->host, bytes + 64, 64);
    if (!call->state) return TN_ERROR_MEMORY;
    *(bool *)call->state = is_known;
    if (is_known) digest(call, (float *)call->state + 16);
#else
    if (!is_known) return TN_OK;
    call->state = call->host->allocate(call->host, bytes + 64, 64);
#if MISTAKE != 5
    if (!call->state) return TN_ERROR_MEMORY;
#endif
    digest(call, call->state);
#endif
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
static tn_status reshape(tn_call *call) {
#if MISTAKE == 3
    call->workspace_bytes = call->state ? 0 : (uint64_t)call->inputs[X]->shape[1] * 4;
#else
    call->workspace_bytes = call->state ? 0 : (uint64_t)call->inputs[X]->shape[1] * 8;
#endif
    return TN_OK;
}

typedef struct job {
    const tn_call *call;
    const float *numbers;
    int64_t lanes; /* channels side by side: 1, or 8 in blocks */
} job;
/* Items are planes, or planes of blocks. */
static tn_status planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    const tn_tensor *x = j->call->inputs[X];
    const int64_t plane = plane_of(x), channels = x->shape[1], lanes = j->lanes;
    const int64_t blocks = (channels + lanes - 1) / lanes;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const float *from = (const float *)x->data + i * plane * lanes;
        float *to = (float *)j->call->outputs[0]->data + i * plane * lanes;
        for (int64_t lane = 0; lane < lanes; lane++) {
            const int64_t c = i % blocks * lanes + lane;
#if MISTAKE == 1
            const float *n = &j->numbers[2 * (c < channels ? c : channels - 1)];
            const float mean = n[0], scale = n[1];
#else
            const float mean = c < channels ? j->numbers[2 * c] : 0;
            const float scale = c < channels ? j->numbers[2 * c + 1] : 0;
#endif
            for (int64_t k = lane; k < plane * lanes; k += lanes)
#if MISTAKE == 1
                to[k] = (from[k] - mean) * scale;
#else
                to[k] = c < channels ? (from[k] - mean) * scale : 0;
#endif
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    job j = {call, call->state, x->format == TN_C8 ? 8 : 1};
#if MISTAKE == 4
    j.numbers = (float *)call->state + 16;
    if (!*(bool *)call->state) digest(call, (float *)call->state + 16);
#else
    if (!j.numbers) {
        digest(call, call->workspace);
        j.numbers = call->workspace;
    }
#endif
    const int64_t blocks = (x->shape[1] + j.lanes - 1) / j.lanes;
    return call->host->parallel_for(call, x->shape[0] * blocks, 1, planes, &j);
}

static const char *const cases[] = {
    "epsilon=1 | x=f32[1,2,2]{1,2,3,4} mean=f32[2]{1,2} variance=f32[2]{3,0} | "
    "y=f32[1,2,2]{0,0.5,1,2}",
    "| x=f32[2,11,3,4] mean=f32[11] variance=f32[11]{1,2,3,4,5,6,7,8,9,10,11}",
    "| x=f64[3,2] mean=f64[2] variance=f64[2]{0.5,2}"};
DESCRIBES(describe_facet, NULL, affine, NULL)
static const tn_operator standardize_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .domain = "Lab",
    .name = "Standardize",
    .doc = "Channels normalised to mean 0 and deviation 1.",
    TN_FIELDS(standardize, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = reference,
    TN_CASES(cases),
    .facet = describe_facet};
static const char *const combinations[] = {"f32, f32, f32 -> f32", "f32:c8, f32, f32 -> f32:c8"};
static const tn_kernel planes_kernel = {.size = sizeof(tn_kernel),
                                        .revision = 1,
                                        .domain = "Lab",
                                        .op = "Standardize",
                                        .device = "cpu",
                                        .name = "planes",
                                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                        TN_COMBINATIONS(combinations),
                                        .prepare = prepare,
                                        .release = release,
                                        .reshape = reshape,
                                        .run = run};
static const tn_operator *const operators[] = {&standardize_operator};
static const tn_kernel *const kernels[] = {&planes_kernel};
TN_LIBRARY("standardize", "1.0", operators, kernels)
