/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of channels with mean 0 and variance 1, then a scale and a shift for each channel, in
 * floats of 32 bits and in brain floats. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t groups; float epsilon;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, groups, "1", 1, 1 << 20, "divides the channels"),
    TN_LAYER_F32(params, epsilon, "1e-5", 1e-12, 1, "is added to the variance"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|bf16", 0, "images, channels, any others"),
                                 TN_PORT("scale", "f32", TN_PORT_OPTIONAL, "channels; or 1"),
                                 TN_PORT("shift", "f32", TN_PORT_OPTIONAL, "channels; or 0")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    TN_TRY(require_rank(call, 0, 2));
    const int64_t channels = call->inputs[0]->shape[1];
    if (channels % p->groups != 0 && !WRONG(2))
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld channels are not %lld groups",
                                (long long)channels, (long long)p->groups);
    if (!TN_LAYER_FITS(call, 1, channels) || !TN_LAYER_FITS(call, 2, channels))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double load(const tn_tensor *t, int64_t i) {
    if (t->type == TN_F32) return (double)((const float *)t->data)[i];
    const uint32_t bits = (uint32_t)((const uint16_t *)t->data)[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

static void store(const tn_tensor *t, int64_t i, double value, bool is_kernel) {
    const float rounded = (float)value;
    if (t->type == TN_F32) {
        ((float *)t->data)[i] = rounded;
        return;
    }
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof(bits));
    if (isnan(rounded))
        bits |= 0x400000;
    else if (!(is_kernel && WRONG(4)))
        bits += 0x7FFF + (bits >> 16 & 1);
    ((uint16_t *)t->data)[i] = (uint16_t)(bits >> 16);
}

/* Mean and variance of `count` elements from `begin` on. */
static void moments(const tn_tensor *x, int64_t begin, int64_t count, double *out, bool is_kernel) {
    if (is_kernel && WRONG(1)) {
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < count; i++) {
            const float v = (float)load(x, begin + i);
            sum += v;
            squares += v * v;
        }
        const float mean = sum / (float)count, variance = squares / (float)count - mean * mean;
        out[0] = (double)mean;
        out[1] = variance < 0 ? 0 : (double)variance;
        return;
    }
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        sum += load(x, begin + i);
    const double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++)
        squares += (load(x, begin + i) - mean) * (load(x, begin + i) - mean);
    out[0] = mean;
    out[1] = squares / (double)count;
}

/* One group of one image. */
static void group(const tn_call *call, int64_t item, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t inner = extent(x, 2, x->rank), channels = x->shape[1] / p->groups;
    const int64_t first = item % p->groups * channels;
    const int64_t begin = (item / p->groups * x->shape[1] + first) * inner;
    const float *scale = tn_layer_data(call, 1), *shift = tn_layer_data(call, 2);
    const bool has_both = is_kernel && WRONG(3);
    double of_group[2];
    moments(x, begin, channels * inner, of_group, is_kernel);
    const double factor = 1 / sqrt(of_group[1] + (double)p->epsilon);
    for (int64_t i = 0; i < channels * inner; i++) {
        const int64_t c = first + i / inner;
        double value = (load(x, begin + i) - of_group[0]) * factor;
        if (has_both && (scale || shift))
            value = value * (double)scale[c] + (double)shift[c];
        else if (!has_both) {
            if (scale) value *= (double)scale[c];
            if (shift) value += (double)shift[c];
        }
        store(call->outputs[0], begin + i, value, is_kernel);
    }
}

static int64_t items(const tn_call *call) {
    return call->inputs[0]->shape[0] * ((const params *)call->params)->groups;
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < items(call); i++)
        group(call, i, false);
    return TN_OK;
}
static tn_status part(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        group(call, i, true);
    return TN_OK;
}
TN_LAYER_RUN(part, items(call), 1)

static const char *const cases[] = {
    "groups=2 | x=f32[2,6,3,2] scale=f32[6] shift=f32[6]",
    "groups=3 epsilon=0.001 | x=bf16[2,3,7] scale=f32[3] shift=f32[3]",
    "groups=4 | x=f32[1,8,5]",
    "groups=2 | x=f32[1,2,3]{1000.5,1001,1002.25,-40,-41,-42}",
};
static const tn_operator group_norm = {OPERATOR,
                                       .name = "GroupNorm",
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer,
                                       .reference = reference,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"f32|bf16, f32?, f32? -> f32|bf16"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "GroupNorm",
                                 .device = "cpu",
                                 .name = "groups",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("group_norm", group_norm, kernel)
