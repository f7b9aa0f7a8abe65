/* SPDX-License-Identifier: Apache-2.0 */
/* Quantising weights; see byte_weight.h. There are millions, for each tactic that is timed: most
 * are floats beside each other, and the loops over them have no branches. */
#include "kit/cuda/gemm/byte_weight.h"

#include <math.h>
#include <string.h>

enum { BATCH = 256, MAGNITUDE = 0x7fffffff };

/* 1.5 * 2^23: what is added to it is rounded to a whole number. */
#define ROUNDING 0x1.8p23f

static void load(const tn_tensor *weights, int64_t first, int64_t step, int64_t count, float *to) {
    const float *floats = (const float *)weights->data + first;
    if (weights->type == TN_F32 && step == 1) {
        memcpy(to, floats, (size_t)count * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        to[i] = weights->type == TN_F32
                    ? floats[i * step]
                    : (float)tn_element_load_f64(weights->data, weights->type, first + i * step);
}

/* The bits of the largest magnitude: floats without a sign lie in the order of their bits. */
static int32_t largest_bits(const float *from, int64_t count, int32_t largest) {
    for (int64_t i = 0; i < count; i++) {
        int32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        bits &= MAGNITUDE;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

static void quantize(const float *from, int64_t count, float scale, int8_t *to) {
    const int32_t zero = 0x4b400000; /* the bits of ROUNDING */
    for (int64_t i = 0; i < count; i++) {
        float steps = from[i] / scale;
        int32_t bits;
        steps = steps > 127.0f ? 127.0f : steps;
        steps = steps < -127.0f ? -127.0f : steps;
        steps += ROUNDING;
        memcpy(&bits, &steps, sizeof bits);
        to[i] = (int8_t)(bits - zero);
    }
}

static float scale_of(int32_t bits) {
    float largest;
    memcpy(&largest, &bits, sizeof largest);
    if (largest == 0) return 1.0f;
    if (largest < 0x1p-100f) return 0x1p-100f / 127.0f;
    return isfinite(largest) ? largest / 127.0f : NAN;
}

float tn_cuda_byte_weights(const tn_tensor *weights, int64_t first, int64_t step, int64_t count,
                           int8_t *to) {
    float batch[BATCH];
    int32_t largest = 0;
    for (int64_t at = 0; at < count; at += BATCH) {
        const int64_t some = count - at < BATCH ? count - at : BATCH;
        load(weights, first + at * step, step, some, batch);
        largest = largest_bits(batch, some, largest);
    }
    const float scale = scale_of(largest);
    if (isnan(scale)) {
        memset(to, 0, (size_t)count);
        return scale;
    }
    for (int64_t at = 0; at < count; at += BATCH) {
        const int64_t some = count - at < BATCH ? count - at : BATCH;
        load(weights, first + at * step, step, some, batch);
        quantize(batch, some, scale, to + at);
    }
    return scale;
}
