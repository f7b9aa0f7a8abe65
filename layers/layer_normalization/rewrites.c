/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNormalization as exporters write it for opsets before 17: mean, difference, variance, root,
 * quotient, factor and bias. PyTorch has nine nodes with Pow and Div, in older versions with the
 * difference twice; TensorFlow (tf2onnx) squares by Mul and turns the factors round, so that x is
 * read once more at the end.
 */
#include "kit/operator/layer.h"
#include "layer_normalization/rewrites.h"

/* The axes are the last ones, together: the field `axis` is the first of them, from the end. */
static tn_status last_axes(const tn_match *match) {
    const int32_t rank = tn_match_rank(match, "x");
    double axis = 0;
    uint64_t count = 0;
    uint32_t seen = 0;
    if (rank < 1) return match->refuse(match, "the rank of x is not known");
    for (; tn_match_number(match, "axes", count, &axis) == TN_OK; count++) {
        const double from_front = axis < 0 ? axis + rank : axis;
        if (from_front < 0 || from_front >= rank) return match->refuse(match, "no such axis");
        seen |= 1u << (uint32_t)from_front;
    }
    if (count == 0 || count > (uint64_t)rank)
        return match->refuse(match, "the mean is not along axes that are known");
    const uint32_t last = ((1u << count) - 1) << ((uint32_t)rank - (uint32_t)count);
    if (seen != last) return match->refuse(match, "the mean is not along the last axes");
    return tn_match_set_integer(match, "axis", -(int64_t)count);
}

/* The kernels ask for a factor: ones, as many as the normalised axes have elements. */
static tn_status last_axes_of_ones(const tn_match *match) {
    enum { MOST = 65536 };
    int64_t shape[TN_MAX_RANK], count = 1;
    double axis = 0;
    uint32_t rank = 0;
    tn_status status = last_axes(match);
    if (status != TN_OK) return status;
    while (tn_match_number(match, "axes", rank, &axis) == TN_OK)
        rank++;
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = tn_match_extent(match, "x", (int32_t)i - (int32_t)rank);
        if (shape[i] < 1 || shape[i] > MOST / count)
            return match->refuse(match, "the normalised axes are large, or not fixed");
        count *= shape[i];
    }
    const uint64_t bytes = (uint64_t)count * sizeof(float);
    float *ones = match->host->allocate(match->host, bytes, 64);
    if (!ones) return TN_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++)
        ones[i] = 1;
    tn_tensor tensor = {.size = sizeof tensor,
                        .type = TN_F32,
                        .rank = rank,
                        .data = ones,
                        .bytes = bytes,
                        .shape = shape};
    const tn_attribute value = {
        .size = sizeof value, .type = TN_FIELD_TENSOR, .name = "ones", .tensor = &tensor};
    status = match->set(match, &value);
    match->host->deallocate(match->host, ones);
    return status;
}

/* n: x normalised. Opset 18 has the axes as an input. */
#define MEAN(value) "(ReduceMean(" value ", axes=?axes) | ReduceMean(" value ", ?axes[]))"
#define DEVIATION                                                                                  \
    "m = " MEAN("x") ";"                                                                           \
                     "s = Sqrt(Add(v, ?epsilon)) | Pow(Add(v, ?epsilon), 0.5);"
#define VARIANCE                                                                                   \
    "v = " MEAN("(Pow(Sub(x, m), 2) | Mul(Sub(x, m), Sub(x, m)))") " | Sub(" MEAN(                 \
        "(Mul(x, x) | Pow(x, 2))") ", Mul(m, m) | Pow(m, 2));"
#define NORMALISED "n = Div(Sub(x, m), s) | Mul(Sub(x, m), Reciprocal(s) | Div(1, s));"

#define CASES(name, ...)                                                                           \
    static const char *const name[] = {"x=f32[2,3,8] axes=[-1] epsilon=1e-3" __VA_ARGS__,          \
                                       "x=f32[4,8] axes=[1] epsilon=0.5" __VA_ARGS__}
CASES(whole_cases, " scale=f32[8] bias=f32[8]");
CASES(plain_cases, "");
/* Another axis; an epsilon for each channel; axes that are not the last ones. */
static const char *const whole_misses[] = {
    "x=f32[2,8,8] axes=[1] epsilon=1e-3 scale=f32[8] bias=f32[8]",
    "x=f32[2,3,8] axes=[-1] epsilon=f32[1,3,1]{0.1,0.2,0.3} scale=f32[8] bias=f32[8]",
    "x=f32[2,3,8] axes=[0,2] epsilon=1e-3 scale=f32[8] bias=f32[8]",
    "x=f32[1,8] axes=[-1] epsilon=1e-3 scale=f32[4,8] bias=f32[8]",
};

TN_REWRITE(whole, "layer-normalization", "(x - mean) / sqrt(variance + epsilon) * scale + bias",
           .pattern = DEVIATION VARIANCE NORMALISED "y = Add(Mul(n, scale:const), bias:const)",
           .replacement = "y = LayerNormalization(x, scale, bias, axis=$axis, epsilon=?epsilon)",
           .guard = last_axes, TN_REWRITE_CASES(whole_cases), TN_REWRITE_MISSES(whole_misses));
TN_REWRITE(turned, "layer-normalization.tensorflow",
           "x * k + (bias - mean * k), k = scale / sqrt(variance + epsilon)",
           .pattern = DEVIATION VARIANCE "k = Mul(Reciprocal(s) | Div(1, s), scale:const);"
                                         "y = Add(Mul(x, k), Sub(bias:const, Mul(m, k)))",
           .replacement = "y = LayerNormalization(x, scale, bias, axis=$axis, epsilon=?epsilon)",
           .guard = last_axes, TN_REWRITE_CASES(whole_cases));
TN_REWRITE(plain, "layer-normalization.plain",
           "(x - mean) / sqrt(variance + epsilon), without factor and bias",
           .pattern = DEVIATION VARIANCE
           "y = Div(Sub(x, m), s) | Mul(Sub(x, m), Reciprocal(s) | Div(1, s))",
           .replacement = "y = LayerNormalization(x, $ones, axis=$axis, epsilon=?epsilon)",
           .guard = last_axes_of_ones, TN_REWRITE_CASES(plain_cases));

/* x / sqrt(mean(x^2) + epsilon) * scale, as PyTorch's exporters and ONNX's body write it; T5 and
 * Llama have a product by the reciprocal of the root. */
CASES(square_cases, " scale=f32[8]");
static const char *const square_misses[] = {
    "x=f32[2,8,8] axes=[1] epsilon=1e-3 scale=f32[8]",
    "x=f32[2,3,8] axes=[-1] epsilon=f32[1,3,1]{0.1,0.2,0.3} scale=f32[8]",
    "x=f32[2,3,8] axes=[0,2] epsilon=1e-3 scale=f32[8]",
    "x=f32[1,8] axes=[-1] epsilon=1e-3 scale=f32[4,8]",
};
TN_REWRITE(
    square, "rms-normalization", "x / sqrt(mean(x^2) + epsilon) * scale",
    .pattern = "v = " MEAN(
        "(Pow(x, 2) | Mul(x, x))") ";"
                                   "s = Sqrt(Add(v, ?epsilon)) | Pow(Add(v, ?epsilon), 0.5);"
                                   "y = Mul(Div(x, s) | Mul(x, Reciprocal(s) | Div(1, s)), scale)",
    .replacement = "y = RMSNormalization(x, scale, axis=$axis, epsilon=?epsilon)",
    .guard = last_axes, TN_REWRITE_CASES(square_cases), TN_REWRITE_MISSES(square_misses));
const tn_rewrite *const tn_layer_normalization_rewrites[4] = {&whole, &turned, &plain, &square};
