/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of means.h for one processor level, which TN_MEANS_LEVEL names. */
#include "pool/quantized/means.h"
#include <tenon/kit/vector.h>

#include <string.h>

typedef uint8_t means_bytes __attribute__((vector_size(TN_LANES)));

/* `left` at most TN_LANES bytes; the lanes beyond them are those of zeros. */
TN_INLINE tn_vector_bits load_bytes(const uint8_t *from, uint8_t flip, int64_t left) {
    means_bytes bytes = {0};
    if (left >= TN_LANES)
        memcpy(&bytes, from, sizeof(bytes));
    else
        memcpy(&bytes, from, (size_t)left);
    return __builtin_convertvector(bytes ^ flip, tn_vector_bits);
}

TN_INLINE void add_lanes(uint8_t flip, int64_t taps, int64_t step, const uint8_t *from,
                         int64_t left, int32_t *sums) {
    tn_vector_bits all = {0};
    const size_t bytes = (size_t)(left >= TN_LANES ? TN_LANES : left) * sizeof(int32_t);
    memcpy(&all, sums, bytes);
    for (int64_t tap = 0; tap < taps; tap++)
        all += load_bytes(from + tap * step, flip, left);
    memcpy(sums, &all, bytes);
}

static void add(uint8_t flip, int64_t taps, int64_t step, const uint8_t *from, int64_t count,
                int32_t *sums) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        add_lanes(flip, taps, step, from + i, TN_LANES, sums + i);
    if (i < count) add_lanes(flip, taps, step, from + i, count - i, sums + i);
}

static int32_t sum(uint8_t flip, int64_t count, const uint8_t *from) {
    int32_t all = 0;
    for (int64_t i = 0; i < count; i++)
        all += from[i] ^ flip;
    return all;
}

/* Within the bounds adding a large number rounds halves to the even one. NaN, of scales that are
 * none, is 0. */
static void store(const tn_means *means, int64_t count, const int32_t *restrict sums,
                  int32_t excess, int64_t divisor, uint8_t *restrict y) {
    const double magic = 0x1.8p52, scale = means->x_scale;
    const double divided_by = (double)divisor * means->y_scale;
    const int32_t zero = means->y_zero;
    const uint8_t flip = means->flip;
    const double low = -zero, high = 255 - zero;
    for (int64_t i = 0; i < count; i++) {
        double value = (double)(sums[i] - excess) * scale / divided_by;
        int64_t bits;
        value = value == value ? value : 0;
        value = value < low ? low : value;
        value = (value > high ? high : value) + magic;
        memcpy(&bits, &value, sizeof(bits));
        y[i] = (uint8_t)((uint8_t)((int32_t)bits + zero) ^ flip); /* magic's low bits are 0 */
    }
}

const tn_means_level TN_MEANS_LEVEL = {add, sum, store};
