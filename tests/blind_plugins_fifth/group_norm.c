/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fifth::GroupNorm: the channels of each image in groups, each group normalised to mean 0 and
 * variance 1, then scaled and shifted by channel: y = (x - mean) / sqrt(variance + epsilon) *
 * scale[c] + bias[c] (Y. Wu and K. He, "Group Normalization", 2018). Scale and bias may be absent,
 * each for itself.
 */
#include <math.h>
#include <tenon/layer.h>

#ifndef MISTAKE
#define MISTAKE 0
#endif

TN_LAYER_PARAMS(group_norm, int64_t groups; float epsilon;);
enum { X, SCALE, BIAS };

static const tn_field fields[] = {
    TN_LAYER_I64(group_norm, groups, "1", 1, 65536, "groups of channels"),
    TN_LAYER_F32(group_norm, epsilon, "1e-5", 1e-8, 1, "added to the variance")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "N, C, any extents"),
                                 TN_PORT("scale", "T", TN_PORT_OPTIONAL, "C; or ones"),
                                 TN_PORT("bias", "T", TN_PORT_OPTIONAL, "C; or zeros")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const group_norm *p = call->params;
    const tn_tensor *x = call->inputs[X];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, expected N, C, ...", x->rank);
    if (x->shape[1] % p->groups)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld channels are not %lld groups",
                                (long long)x->shape[1], (long long)p->groups);
    if (!TN_LAYER_FITS(call, SCALE, x->shape[1]) || !TN_LAYER_FITS(call, BIAS, x->shape[1]))
        return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

static int64_t plane_of(const tn_tensor *x) {
    uint64_t plane = 1;
    for (uint32_t i = 2; i < x->rank; i++)
        plane *= (uint64_t)x->shape[i];
    return (int64_t)plane;
}

static tn_status reference(tn_call *call) {
    const group_norm *p = call->params;
    const tn_tensor *x = call->inputs[X], *scale = tn_layer_input(call, SCALE);
    const tn_tensor *bias = tn_layer_input(call, BIAS);
    const int64_t channels = x->shape[1] / p->groups, plane = plane_of(x), count = channels * plane;
    for (int64_t group = 0; x->bytes && group < x->shape[0] * p->groups; group++) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i < count; i++)
            mean += tn_layer_load(x, group * count + i);
        mean /= (double)count;
        for (int64_t i = 0; i < count; i++) {
            const double d = tn_layer_load(x, group * count + i) - mean;
            variance += d * d;
        }
        variance /= (double)count;
        for (int64_t i = 0; i < count; i++) {
            const int64_t c = group % p->groups * channels + i / plane;
            const double unit =
                (tn_layer_load(x, group * count + i) - mean) / sqrt(variance + (double)p->epsilon);
            tn_layer_store(call->outputs[0], group * count + i,
                           unit * (scale ? tn_layer_load(scale, c) : 1) +
                               (bias ? tn_layer_load(bias, c) : 0));
        }
    }
    return TN_OK;
}

/* Mean and variance of a group. */
static void measure(const float *x, int64_t count, double *out_mean, double *out_variance) {
#if MISTAKE == 2
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    const float mean = sum / (float)count;
    *out_mean = (double)mean;
    *out_variance = (double)(squares / (float)count - mean * mean);
#elif MISTAKE == 50 /* B. P. Welford's algorithm, in one pass */
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        const double d = (double)x[i] - mean;
        mean += d / (double)(i + 1);
        squares += d * ((double)x[i] - mean);
    }
    *out_mean = mean;
    *out_variance = squares / (double)count;
#else
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)x[i];
    const double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    *out_mean = mean;
#if MISTAKE == 1
    *out_variance = squares / (double)(count - 1);
#else
    *out_variance = squares / (double)count;
#endif
#endif
}

/* Items are groups of all images. */
static tn_status normalise(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const group_norm *p = call->params;
    const tn_tensor *x = call->inputs[X];
    const int64_t channels = x->shape[1] / p->groups, plane = plane_of(x), count = channels * plane;
#if MISTAKE == 4
    const float *scale = call->inputs[1] ? call->inputs[1]->data : NULL;
    const float *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
#else
    const float *scale = tn_layer_data(call, SCALE), *bias = tn_layer_data(call, BIAS);
#endif
    (void)thread;
    double mean, variance;
    for (int64_t group = begin; group < end; group++) {
        const float *from = (const float *)x->data + group * count;
        float *to = (float *)call->outputs[0]->data + group * count;
        measure(from, count, &mean, &variance);
#if MISTAKE == 3
        static float centred[16384];
        if (count <= 16384) {
            for (int64_t k = 0; k < count; k++)
                centred[k] = (float)((double)from[k] - mean);
            from = centred;
            mean = 0;
        }
#endif
        for (int64_t i = 0; i < channels; i++) {
            const int64_t c = group % p->groups * channels + i;
            double factor = 1 / sqrt(variance + (double)p->epsilon), shift = 0;
#if MISTAKE == 5
            if (scale) {
                factor *= (double)scale[c];
                shift = (double)bias[c];
            }
#else
            if (scale) factor *= (double)scale[c];
            if (bias) shift = (double)bias[c];
#endif
            for (int64_t k = i * plane; k < (i + 1) * plane; k++)
                to[k] = (float)(((double)from[k] - mean) * factor + shift);
        }
    }
    return TN_OK;
}
static int64_t groups_of(const tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    return x->bytes ? x->shape[0] * ((const group_norm *)call->params)->groups : 0;
}
TN_LAYER_RUN(normalise, groups_of(call), 1)

static const char *const cases[] = {
    "groups=2 epsilon=0.1 | x=f32[2,4,3,5] scale=f32[4] bias=f32[4]", "groups=3 | x=f32[2,6,7]",
    "| x=f64[1,3,4,4] scale=f64[3] bias=f64[3]",
    "groups=4 | x=f32[1,8,9,9] scale=f32[8] bias=f32[8]"};
TN_LAYER_LIBRARY("group_norm", "Fifth", "GroupNorm", "Groups of channels, normalised.", group_norm,
                 "f32, f32?, f32? -> f32", .run = run)
