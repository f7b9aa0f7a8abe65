/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of resize.h for one processor level, which TN_RESIZE_BYTES_LEVEL names; written for the
 * compiler to vectorise. */
#include "resize/quantized/resize.h"

#include <string.h>

static inline double real_of(const tn_resize_steps *steps, uint8_t byte) {
    return (double)((int32_t)(byte ^ steps->flip) - steps->x_zero);
}

static void vertical(const tn_resize_steps *of_steps, int64_t taps, const uint8_t *const *rows,
                     const double *weights, int64_t weight_stride, int64_t count,
                     double *restrict to) {
    const tn_resize_steps copy = *of_steps, *steps = &copy;
    const uint8_t *restrict first = rows[0];
    const double weight = weights[0];
    if (taps == 2) {
        const uint8_t *restrict second = rows[1];
        const double other = weights[weight_stride];
        for (int64_t i = 0; i < count; i++)
            to[i] = weight * real_of(steps, first[i]) + other * real_of(steps, second[i]);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        to[i] = weight * real_of(steps, first[i]);
    for (int64_t t = 1; t < taps; t++) {
        const uint8_t *restrict row = rows[t];
        const double of_tap = weights[t * weight_stride];
        for (int64_t i = 0; i < count; i++)
            to[i] += of_tap * real_of(steps, row[i]);
    }
}

/* Within the bounds adding a large number rounds halves to the even one. NaN, of scales that are
 * none, is 0. */
static inline uint8_t byte_of(const tn_resize_steps *steps, double value) {
    const double magic = 0x1.8p52;
    const double low = -steps->y_zero, high = 255 - steps->y_zero;
    int64_t bits;
    value *= steps->ratio;
    value = value == value ? value : 0;
    value = value < low ? low : value;
    value = (value > high ? high : value) + magic;
    memcpy(&bits, &value, sizeof(bits)); /* magic's low bits are 0 */
    return (uint8_t)((uint8_t)((int32_t)bits + steps->y_zero) ^ steps->flip);
}

/* Positions of one element. */
static void horizontal_single(const tn_resize_steps *steps, const tn_quantized_resize_axis *axis,
                              const double *restrict from, uint8_t *restrict to) {
    const int32_t *restrict index = axis->index;
    const double *restrict weight = axis->weight;
    const int64_t out = axis->out;
    for (int64_t x = 0; axis->taps == 2 && x < out; x++)
        to[x] = byte_of(steps, weight[x] * from[index[x]] + weight[out + x] * from[index[out + x]]);
    for (int64_t x = 0; axis->taps != 2 && x < out; x++) {
        double sum = 0;
        for (int64_t t = 0; t < axis->taps; t++)
            sum += weight[t * out + x] * from[index[t * out + x]];
        to[x] = byte_of(steps, sum);
    }
}

static void horizontal(const tn_resize_steps *of_steps, const tn_quantized_resize_axis *axis,
                       int64_t lanes, const double *restrict from, uint8_t *restrict to) {
    enum { BLOCK = 64 };
    const tn_resize_steps copy = *of_steps, *steps = &copy;
    if (lanes == 1) {
        horizontal_single(steps, axis, from, to);
        return;
    }
    for (int64_t x = 0; x < axis->out; x++, to += lanes) {
        for (int64_t first = 0; first < lanes; first += BLOCK) {
            const int64_t count = lanes - first < BLOCK ? lanes - first : BLOCK;
            double sums[BLOCK];
            for (int64_t t = 0; t < axis->taps; t++) {
                const double weight = axis->weight[t * axis->out + x];
                const double *restrict at = from + axis->index[t * axis->out + x] * lanes + first;
                for (int64_t c = 0; c < count; c++)
                    sums[c] = (t ? sums[c] : 0) + weight * at[c];
            }
            for (int64_t c = 0; c < count; c++)
                to[first + c] = byte_of(steps, sums[c]);
        }
    }
}

const tn_quantized_resize_level TN_RESIZE_BYTES_LEVEL = {vertical, horizontal};
