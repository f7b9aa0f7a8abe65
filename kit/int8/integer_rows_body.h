/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of integer_rows.h for one processor level. Included by a file a level, which names
 * the table as TN_INTEGER_ROWS_LEVEL. The loops are written for the compiler to vectorise. */
#include "kit/int8/integer_rows.h"

#include <string.h>

static void correct(int64_t count, int32_t factor, const int32_t *terms, int32_t sum,
                    const int32_t *zeros, int32_t *sums) {
    const uint32_t by = (uint32_t)factor, off = (uint32_t)sum;
    for (int64_t i = 0; i < count; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] + by * (uint32_t)terms[i] - off * (uint32_t)zeros[i]);
}

/* Within the bounds adding a large number rounds. */
static inline int32_t round_within(float value, float low, float high) {
    const float magic = 0x1.8p23f;
    value = value == value ? value : 0.0f;
    value = value < low ? low : value;
    value = (value > high ? high : value) + magic;
    int32_t bits, base;
    memcpy(&bits, &value, sizeof(bits));
    memcpy(&base, &magic, sizeof(base));
    return bits - base;
}

static void to_bytes(int64_t count, const int32_t *sums, const float *factors, int32_t zero,
                     bool is_signed, uint8_t *y) {
    const float low = (float)((is_signed ? -128 : 0) - zero);
    const float high = (float)((is_signed ? 127 : 255) - zero);
    for (int64_t i = 0; i < count; i++)
        y[i] = (uint8_t)(round_within((float)sums[i] * factors[i], low, high) + zero);
}

static int32_t copy(int64_t count, const uint8_t *from, uint8_t flip, int8_t *to) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = (int8_t)(from[i] ^ flip);
        sum += to[i];
    }
    return sum;
}

const tn_integer_rows TN_INTEGER_ROWS_LEVEL = {correct, to_bytes, copy};
