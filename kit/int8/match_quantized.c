/* SPDX-License-Identifier: Apache-2.0 */
/* What guards ask of scales and zero points; see match_quantized.h. */
#include "kit/int8/match_quantized.h"
#include "kit/math/element.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const tn_tensor *part_of(const tn_match *match, const char *name, const char *part) {
    char text[80];
    snprintf(text, sizeof(text), "%s_%s", name, part);
    return match->tensor(match, text);
}

bool tn_match_is_scale(float scale) {
    return scale >= FLT_MIN && scale <= FLT_MAX;
}

/* A scale of rank 0 or 1: others are those of blocks. */
static bool is_one(const tn_tensor *tensor) {
    return tensor && tensor->data && tensor->rank <= 1 && tn_element_count(tensor) == 1;
}

tn_status tn_match_scale_read(const tn_match *match, const char *name, tn_match_scale *out_scale) {
    const tn_tensor *stored = match->tensor(match, name);
    const tn_tensor *scale = part_of(match, name, "scale"), *zero = part_of(match, name, "zero");
    if (!stored || (stored->type != TN_I8 && stored->type != TN_U8))
        return match->refuse(match, "'%s' is not of 8 bits", name);
    if (!is_one(scale) || scale->type != TN_F32)
        return match->refuse(match, "'%s' has no scale of one 32-bit float", name);
    if (zero && (!is_one(zero) || zero->type != stored->type))
        return match->refuse(match, "the zero point of '%s' is not one number of its type", name);
    const tn_match_scale read = {.type = stored->type,
                                 .scale = (float)tn_element_f64(scale, 0),
                                 .zero = zero ? (int32_t)tn_element_i64(zero, 0) : 0,
                                 .lowest = stored->type == TN_I8 ? -128 : 0,
                                 .highest = stored->type == TN_I8 ? 127 : 255};
    if (!tn_match_is_scale(read.scale))
        return match->refuse(match, "the scale of '%s' is %g", name, (double)read.scale);
    *out_scale = read;
    return TN_OK;
}

tn_status tn_match_check_clip(const tn_match *match, const tn_match_scale *scale) {
    const bool has_relu = match->tensor(match, "relu") != NULL;
    const double low = has_relu ? 0 : tn_match_number_or(match, "low", -(double)INFINITY);
    const double high = tn_match_number_or(match, "high", (double)INFINITY);
    if (nearbyint(low / (double)scale->scale) + scale->zero <= scale->lowest &&
        nearbyint(high / (double)scale->scale) + scale->zero >= scale->highest)
        return TN_OK;
    return match->refuse(match, "the activation clips more than the output's type");
}

static bool are_along(const tn_match *match, const tn_tensor *w, const tn_tensor *scales,
                      uint32_t axis) {
    const int64_t count = tn_element_count(scales);
    const double named = tn_match_number_or(match, "axis", 1);
    return count == 1 || (count == w->shape[axis] &&
                          (named == (double)axis || named + (double)w->rank == (double)axis));
}

tn_status tn_match_weights_check(const tn_match *match, const char *name, uint32_t axis,
                                 const tn_match_scale *x, const tn_match_scale *y) {
    const tn_tensor *w = match->tensor(match, name), *scales = part_of(match, name, "scale");
    const tn_tensor *zeros = part_of(match, name, "zero");
    if (!w || (w->type != TN_I8 && w->type != TN_U8) || w->rank <= axis)
        return match->refuse(match, "the weights are not of 8 bits");
    if (!scales || !scales->data || scales->rank > 1 || scales->type != TN_F32 ||
        !are_along(match, w, scales, axis) ||
        (zeros && (zeros->rank > 1 || tn_element_count(zeros) != tn_element_count(scales))))
        return match->refuse(match, "the weights have no scale of the tensor or of each channel");
    for (int64_t i = 0, end = tn_element_count(scales); i < end; i++) {
        const float scale = (float)tn_element_f64(scales, i), product = x->scale * scale;
        if (!tn_match_is_scale(scale) || !tn_match_is_scale(product) ||
            !tn_match_is_scale(product / y->scale))
            return match->refuse(match, "the scale of channel %lld of the weights is %g",
                                 (long long)i, (double)scale);
    }
    return TN_OK;
}

static tn_status set_tensor(const tn_match *match, const char *name, const tn_tensor *tensor) {
    const tn_attribute value = {
        .size = sizeof(value), .type = TN_FIELD_TENSOR, .name = name, .tensor = tensor};
    return match->set(match, &value);
}

static tn_status set_zero(const tn_match *match, const char *name, tn_type type, int32_t zero) {
    int8_t byte = (int8_t)zero;
    const tn_tensor tensor = {.size = sizeof(tensor), .type = type, .bytes = 1, .data = &byte};
    return set_tensor(match, name, &tensor);
}

tn_status tn_match_set_zero(const tn_match *match, const char *name, const char *stored) {
    const tn_tensor *zeros = part_of(match, stored, "zero");
    if (!zeros) return set_zero(match, name, match->tensor(match, stored)->type, 0);
    if (!zeros->data || zeros->type != match->tensor(match, stored)->type)
        return match->refuse(match, "the zero points of '%s' are not of its type", stored);
    return set_tensor(match, name, zeros);
}

tn_status tn_match_set_zero_points(const tn_match *match, const char *factor) {
    tn_status status = tn_match_set_zero(match, "xz", "x");
    if (status == TN_OK) status = tn_match_set_zero(match, "wz", factor);
    return status == TN_OK ? tn_match_set_zero(match, "yz", "y") : status;
}

/* ----------------------------------------------------------------------------------------------
 * biases */

typedef struct bias_source {
    const tn_tensor *values, *scales, *zeros; /* scales null: the values are real */
} bias_source;

static double element_of(const tn_tensor *tensor, int64_t at) {
    return tn_element_f64(tensor, tn_element_count(tensor) == 1 ? 0 : at);
}

/* Integers that are in these steps already are taken as they are; those of other scales are whole
 * numbers of steps, or NaN. */
static double bias_at(const bias_source *source, int64_t at, double step) {
    const double value = element_of(source->values, at);
    if (!source->scales) return value / step;
    const double own = element_of(source->scales, at);
    const double whole = value - (source->zeros ? element_of(source->zeros, at) : 0);
    const double steps = fabs(own - step) <= 1e-6 * step ? whole : whole * own / step;
    return fabs(steps - nearbyint(steps)) <= 1e-6 * fabs(steps) ? steps : NAN;
}

static bool has_elements(const tn_tensor *tensor, int64_t count) {
    return tensor->data && tensor->rank <= 1 &&
           (tn_element_count(tensor) == 1 || tn_element_count(tensor) == count);
}

static bool is_source(const bias_source *source, int64_t count) {
    if (!has_elements(source->values, count) || tn_element_count(source->values) != count)
        return false;
    if (!source->scales) return source->values->type == TN_F32;
    return has_elements(source->scales, count) && source->scales->type == TN_F32 &&
           (!source->zeros || has_elements(source->zeros, count)) &&
           (source->values->type == TN_I32 || source->values->type == TN_I8 ||
            source->values->type == TN_U8);
}

tn_status tn_match_set_bias(const tn_match *match, const char *name, const char *b, const char *q,
                            float x_scale, const tn_tensor *scales, int64_t count) {
    bias_source source = {.values = match->tensor(match, b)};
    const tn_host *host = match->host;
    int64_t extent = count;
    tn_status status = TN_OK;
    if (!source.values)
        source = (bias_source){match->tensor(match, q), part_of(match, q, "scale"),
                               part_of(match, q, "zero")};
    if (source.values && !is_source(&source, count))
        return match->refuse(match, "the bias is not one number a channel");
    int32_t *biases = host->allocate(host, (uint64_t)count * sizeof(*biases), 64);
    if (!biases)
        return match->refuse(match, "there is no memory for %lld biases", (long long)count);
    for (int64_t i = 0; i < count && status == TN_OK; i++) {
        const double step = (double)(x_scale * (float)element_of(scales, i));
        const double bias = source.values ? nearbyint(bias_at(&source, i, step)) : 0;
        if (fabs(bias) <= INT32_MAX / 2)
            biases[i] = (int32_t)bias;
        else
            status =
                match->refuse(match, "bias %lld is no whole number of 31 bits in steps of the sums",
                              (long long)i);
    }
    const tn_tensor tensor = {.size = sizeof(tensor),
                              .type = TN_I32,
                              .rank = 1,
                              .shape = &extent,
                              .bytes = (uint64_t)count * sizeof(*biases),
                              .data = biases};
    if (status == TN_OK) status = set_tensor(match, name, &tensor);
    host->deallocate(host, biases);
    return status;
}
