/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of rows.h for one processor level. Included by a file a level, which names
 * the table as TN_QUANTIZE_LEVEL.
 */
#include "quantize/rows.h"
#include "kit/int8/bytes_pack.h"
#include <tenon/kit/byte_vector.h>

#include <stdbool.h>

/* `is_signed` and `step` are constants wherever these are inlined. */

TN_INLINE tn_vector load_floats(const float *from, int64_t at, int64_t step, int64_t left) {
    if (step == 0) return tn_vector_all(from[0]);
    return left >= TN_LANES ? tn_vector_load(from + at) : tn_vector_load_part(from + at, left);
}

TN_INLINE tn_vector_bits load_bytes(const bool is_signed, const void *from, int64_t at,
                                    int64_t step, int64_t left) {
    const int8_t *bytes = from;
    if (!from) return (tn_vector_bits){0};
    tn_vector_bits wide = {0};
    if (step == 0)
        wide += bytes[0];
    else
        wide = tn_byte_widen(bytes + at, left);
    if (!is_signed) wide &= 255;
    return wide;
}

/* Of integers that the type holds. */
TN_INLINE void store_bytes(const bool is_signed, tn_vector_bits whole, int64_t left, int8_t *to) {
    int8_t bytes[TN_LANES];
    if (is_signed) {
        tn_byte_store(to, tn_vector_of_whole(whole), left);
        return;
    }
    tn_byte_store(bytes, tn_vector_of_whole(whole - 128), TN_LANES);
    for (int i = 0; i < TN_LANES; i++)
        bytes[i] = (int8_t)(bytes[i] ^ -128);
    if (left >= TN_LANES)
        memcpy(to, bytes, TN_LANES);
    else
        memcpy(to, bytes, (size_t)left);
}

/* Halves to the even number, which adding a large number does; NaN becomes zero. */
TN_INLINE tn_vector_bits to_integers(tn_vector quotient, tn_vector_bits zero, float low,
                                     float high) {
    const tn_vector magic = tn_vector_all(0x1.8p23f);
    const tn_vector offset = __builtin_convertvector(zero, tn_vector);
    quotient =
        tn_vector_select((tn_vector_bits)(quotient == quotient), quotient, tn_vector_all(0.0f));
    quotient = tn_vector_min(tn_vector_max(quotient, low - offset), high - offset);
    return (tn_vector_bits)(quotient + magic) - (tn_vector_bits)magic + zero;
}

TN_INLINE void quantise(const bool is_signed, int64_t at, int64_t left, const float *x,
                        const float *scale, const void *zero, int64_t step, int8_t *y) {
    const float low = is_signed ? -128.0f : 0.0f, high = is_signed ? 127.0f : 255.0f;
    const tn_vector quotient = load_floats(x, at, 1, left) / load_floats(scale, at, step, left);
    const tn_vector_bits offset = load_bytes(is_signed, zero, at, step, left);
    store_bytes(is_signed, to_integers(quotient, offset, low, high), left, y + at);
}

TN_INLINE void dequantise(const bool is_signed, int64_t at, int64_t left, const void *x,
                          const float *scale, const void *zero, int64_t step, float *y) {
    const tn_vector_bits whole =
        load_bytes(is_signed, x, at, 1, left) - load_bytes(is_signed, zero, at, step, left);
    const tn_vector value = tn_vector_of_whole(whole) * load_floats(scale, at, step, left);
    if (left >= TN_LANES)
        tn_vector_store(y + at, value);
    else
        tn_vector_store_part(y + at, value, left);
}

#define NOT_MANY(...) 0
/* Of elements that share scale and zero point four vectors at a time. Answers how many of `count`
 * are done. */
#if defined(TN_BYTES_PACK)
TN_INLINE int64_t quantise_many(const bool is_signed, int64_t count, const float *x,
                                const float *scale, const void *zero, int64_t step, int8_t *y) {
    int64_t i = 0;
    const tn_vector by = tn_vector_all(scale[0]);
    const int32_t offset = !zero ? 0 : is_signed ? *(const int8_t *)zero : *(const uint8_t *)zero;
    for (; step == 0 && i + 4 * TN_LANES <= count; i += 4 * TN_LANES) {
        tn_vector quotients[4];
        TN_UNROLL for (int k = 0; k < 4; k++) quotients[k] =
            tn_vector_load(x + i + k * TN_LANES) / by;
        tn_bytes_pack(quotients, offset, is_signed, y + i);
    }
    return i;
}
#else
#define quantise_many NOT_MANY
#endif

/* A function of rows.h: four vectors at a time where there is such, whole ones, what is left. */
#define ROW(name, function, many, is_signed)                                                       \
    TN_INLINE void name##_loop(int64_t count, const void *x, const float *scale, const void *zero, \
                               const int64_t step, void *y) {                                      \
        int64_t i = many(is_signed, count, x, scale, zero, step, y);                               \
        for (; i + TN_LANES <= count; i += TN_LANES)                                               \
            function(is_signed, i, TN_LANES, x, scale, zero, step, y);                             \
        if (i < count) function(is_signed, i, count - i, x, scale, zero, step, y);                 \
    }                                                                                              \
    static void name(int64_t count, const void *x, const float *scale, const void *zero,           \
                     int64_t step, void *y) {                                                      \
        if (step)                                                                                  \
            name##_loop(count, x, scale, zero, 1, y);                                              \
        else                                                                                       \
            name##_loop(count, x, scale, zero, 0, y);                                              \
    }
ROW(to_i8, quantise, quantise_many, true)
ROW(to_u8, quantise, quantise_many, false)
ROW(from_i8, dequantise, NOT_MANY, true)
ROW(from_u8, dequantise, NOT_MANY, false)

/* 16 bits: loops that the compiler makes vectors of. `low` and `high` are the type's bounds. */
TN_INLINE float to_whole(float quotient, float zero, float low, float high) {
    const float magic = 0x1.8p23f;
    quotient = quotient == quotient ? quotient : 0.0f;
    quotient = quotient > low - zero ? quotient : low - zero;
    quotient = quotient < high - zero ? quotient : high - zero;
    return quotient + magic - magic + zero;
}

#define WIDE_ROW(type, to_name, from_name, low, high)                                              \
    static void to_name(int64_t count, const void *from, const float *scale, const void *zeros,    \
                        int64_t step, void *to) {                                                  \
        const float *restrict x = from;                                                            \
        const type *zero = zeros;                                                                  \
        type *restrict y = to;                                                                     \
        const float first = scale[0], offset = zero ? (float)zero[0] : 0.0f;                       \
        for (int64_t i = 0; step == 0 && i < count; i++)                                           \
            y[i] = (type)(int32_t)to_whole(x[i] / first, offset, low, high);                       \
        for (int64_t i = 0; step != 0 && i < count; i++)                                           \
            y[i] =                                                                                 \
                (type)(int32_t)to_whole(x[i] / scale[i], zero ? (float)zero[i] : 0.0f, low, high); \
    }                                                                                              \
    static void from_name(int64_t count, const void *from, const float *scale, const void *zeros,  \
                          int64_t step, void *to) {                                                \
        const type *restrict x = from, *zero = zeros;                                              \
        float *restrict y = to;                                                                    \
        const float first = scale[0];                                                              \
        const int32_t offset = zero ? zero[0] : 0;                                                 \
        for (int64_t i = 0; step == 0 && i < count; i++)                                           \
            y[i] = (float)(x[i] - offset) * first;                                                 \
        for (int64_t i = 0; step != 0 && i < count; i++)                                           \
            y[i] = (float)(x[i] - (zero ? zero[i] : 0)) * scale[i];                                \
    }
WIDE_ROW(int16_t, to_i16, from_i16, -32768.0f, 32767.0f)
WIDE_ROW(uint16_t, to_u16, from_u16, 0.0f, 65535.0f)

/* Those of vectors keep what they have where an element is NaN. */
static void range(int64_t count, const float *x, float *out_low, float *out_high) {
    enum { CHAINS = 4 };
    tn_vector lows[CHAINS] = {{0}}, highs[CHAINS] = {{0}};
    int64_t i = 0;
    for (; i + CHAINS * TN_LANES <= count; i += CHAINS * TN_LANES) {
        TN_UNROLL for (int k = 0; k < CHAINS; k++) {
            const tn_vector value = tn_vector_load(x + i + k * TN_LANES);
            lows[k] = tn_vector_min(lows[k], value);
            highs[k] = tn_vector_max(highs[k], value);
        }
    }
    for (; i + TN_LANES <= count; i += TN_LANES) {
        const tn_vector value = tn_vector_load(x + i);
        lows[0] = tn_vector_min(lows[0], value);
        highs[0] = tn_vector_max(highs[0], value);
    }
    tn_vector low = lows[0], high = highs[0];
    TN_UNROLL for (int k = 1; k < CHAINS; k++) {
        low = tn_vector_min(low, lows[k]);
        high = tn_vector_max(high, highs[k]);
    }
    const tn_vector rest = tn_vector_load_part(x + i, count - i);
    low = tn_vector_min(low, rest);
    high = tn_vector_max(high, rest);
    *out_low = *out_high = 0;
    for (int lane = 0; lane < TN_LANES; lane++) {
        *out_low = low[lane] < *out_low ? low[lane] : *out_low;
        *out_high = high[lane] > *out_high ? high[lane] : *out_high;
    }
}

TN_INLINE void interleave_channels(int64_t count, const int64_t channels,
                                   const uint8_t *restrict from, int64_t stride,
                                   uint8_t *restrict to) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t c = 0; c < channels; c++)
            to[i * channels + c] = from[c * stride + i];
}

/* Images' numbers of channels are known to the compiler. */
static void interleave(int64_t count, int64_t channels, const uint8_t *from, int64_t stride,
                       uint8_t *to) {
    if (channels == 3)
        interleave_channels(count, 3, from, stride, to);
    else if (channels == 4)
        interleave_channels(count, 4, from, stride, to);
    else
        interleave_channels(count, channels, from, stride, to);
}

const tn_quantize_level TN_QUANTIZE_LEVEL = {to_i8,  to_u8,    from_i8,  from_u8, to_i16,
                                             to_u16, from_i16, from_u16, range,   interleave};
