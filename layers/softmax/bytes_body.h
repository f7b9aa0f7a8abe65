/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of bytes.h for one processor level. Included by a file a level, which names the
 * table as TN_SOFTMAX_BYTES_LEVEL. Each lane is read three times: for its largest element, for the
 * sum of the exponentials, and to write them, the division multiplied into the table.
 */
#include <tenon/kit/byte_vector.h>
#include "softmax/bytes.h"

#include <float.h>

typedef uint8_t byte_lanes __attribute__((vector_size(TN_LANES)));

/* The first `count` of as many as there are lanes; the others are zero, or left alone. */
#if defined(__AVX512BW__)
TN_INLINE __mmask16 first_of(int64_t count) {
    return (__mmask16)(count >= TN_LANES ? 0xFFFFu : (1u << count) - 1u);
}
TN_INLINE byte_lanes load(const uint8_t *from, int64_t count) {
    return (byte_lanes)_mm_maskz_loadu_epi8(first_of(count), from);
}
TN_INLINE void store(uint8_t *to, byte_lanes value, int64_t count) {
    _mm_mask_storeu_epi8(to, first_of(count), (__m128i)value);
}
#else
TN_INLINE byte_lanes load(const uint8_t *from, int64_t count) {
    byte_lanes value = {0};
    if (count >= TN_LANES)
        memcpy(&value, from, sizeof(value));
    else
        memcpy(&value, from, (size_t)count);
    return value;
}
TN_INLINE void store(uint8_t *to, byte_lanes value, int64_t count) {
    memcpy(to, &value, count >= TN_LANES ? sizeof(value) : (size_t)count);
}
#endif
/* The others become zero. */
TN_INLINE tn_vector keep_first(tn_vector value, int64_t count) {
    static const int32_t order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const tn_vector_bits mask = (tn_vector_bits)(tn_vector_whole_load(order) < (int32_t)count);
    return (tn_vector)((tn_vector_bits)value & mask);
}

/* ----------------------------------------------------------------------------------------------
 * exponentials */

/* Factors times a common one, as a vector looks them up. */
#if defined(__AVX512F__)
typedef struct table {
    __m512 by_1, by_16;
} table;
TN_INLINE table make_table(const tn_softmax_powers *powers, tn_vector factor) {
    return (table){(__m512)(tn_vector_load(powers->by_1) * factor),
                   (__m512)tn_vector_load(powers->by_16)};
}
TN_INLINE tn_vector look_up(const table *t, byte_lanes steps) {
    const __m512i at = _mm512_cvtepu8_epi32((__m128i)steps); /* the lowest 4 bits count */
    return (tn_vector)_mm512_permutexvar_ps(at, t->by_1) *
           (tn_vector)_mm512_permutexvar_ps(_mm512_srli_epi32(at, 4), t->by_16);
}
#elif defined(__AVX2__)
typedef struct table {
    __m256 by_1, by_8, by_64;
} table;
TN_INLINE table make_table(const tn_softmax_powers *powers, tn_vector factor) {
    return (table){(__m256)(tn_vector_load(powers->by_1) * factor),
                   (__m256)tn_vector_load(powers->by_8), (__m256)tn_vector_load(powers->by_64)};
}
TN_INLINE tn_vector look_up(const table *t, byte_lanes steps) {
    int64_t eight;
    memcpy(&eight, &steps, sizeof(eight));
    const __m256i at = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(eight)); /* the lowest 3 bits count */
    return (tn_vector)_mm256_permutevar8x32_ps(t->by_1, at) *
           (tn_vector)_mm256_permutevar8x32_ps(t->by_8, _mm256_srli_epi32(at, 3)) *
           (tn_vector)_mm256_permutevar8x32_ps(t->by_64, _mm256_srli_epi32(at, 6));
}
#else
typedef struct table {
    const float *by_1;
    tn_vector factor;
} table;
TN_INLINE table make_table(const tn_softmax_powers *powers, tn_vector factor) {
    return (table){powers->by_1, factor};
}
TN_INLINE tn_vector look_up(const table *t, byte_lanes steps) {
    const tn_vector value = {t->by_1[steps[0]], t->by_1[steps[1]], t->by_1[steps[2]],
                             t->by_1[steps[3]]};
    return value * t->factor;
}
#endif

/* ----------------------------------------------------------------------------------------------
 * results */

TN_INLINE void store_floats(float *to, tn_vector value, int64_t count) {
    if (count >= TN_LANES)
        tn_vector_store(to, value);
    else
        tn_vector_store_part(to, value, count);
}
/* The lowest byte of each number. */
TN_INLINE byte_lanes narrow(tn_vector_bits whole) {
#if defined(__AVX512F__)
    return (byte_lanes)_mm512_cvtepi32_epi8((__m512i)whole);
#elif defined(__SSE2__)
    byte_lanes bytes;
    whole &= 255;
#if defined(__AVX2__)
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128((__m256i)whole),
                                          _mm256_extracti128_si256((__m256i)whole, 1));
#else
    const __m128i words = _mm_packs_epi32((__m128i)whole, (__m128i)whole);
#endif
    const __m128i all = _mm_packus_epi16(words, words);
    memcpy(&bytes, &all, sizeof(bytes));
    return bytes;
#else
    return __builtin_convertvector(whole, byte_lanes);
#endif
}
/* What bytes of the output are made with. */
typedef struct steps {
    tn_vector low, high;
    tn_vector_bits zero;
} steps;
TN_INLINE steps steps_of(const tn_softmax_bytes *job) {
    return (steps){tn_vector_all(job->low), tn_vector_all(job->high),
                   (tn_vector_bits){0} + job->zero};
}
/* `value` in steps of the output; halves to the even number, which adding a large number does: it
 * leaves the integer in the lowest bits, its own lowest byte is zero. */
TN_INLINE void store_bytes(const steps *s, uint8_t *to, tn_vector value, int64_t count) {
    const tn_vector_bits whole =
        (tn_vector_bits)(tn_byte_clamp(value, s->low, s->high) + 0x1.8p23f);
    store(to, narrow(whole + s->zero), count);
}

/* ----------------------------------------------------------------------------------------------
 * lanes */

static uint8_t largest(int64_t count, const uint8_t *x, uint8_t flip) {
    uint8_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t value = x[i] ^ flip;
        most = most < value ? value : most;
    }
    return most ^ flip;
}

/* By halves: in turn, lanes would wait for each other. */
TN_INLINE float across(tn_vector value) {
    float parts[TN_LANES];
    tn_vector_store(parts, value);
    TN_UNROLL
    for (int half = TN_LANES / 2; half > 0; half /= 2) {
        TN_UNROLL
        for (int k = 0; k < half; k++)
            parts[k] += parts[k + half];
    }
    return parts[0];
}

TN_INLINE float sum_of(const tn_softmax_powers *powers, byte_lanes most, int64_t count,
                       const uint8_t *x) {
    const table t = make_table(powers, tn_vector_all(1));
    tn_vector sums[2] = {{0}, {0}};
    int64_t i = 0;
    for (; i + 2 * TN_LANES <= count; i += 2 * TN_LANES) {
        sums[0] += look_up(&t, most - load(x + i, TN_LANES));
        sums[1] += look_up(&t, most - load(x + i + TN_LANES, TN_LANES));
    }
    sums[0] += sums[1];
    for (; i + TN_LANES <= count; i += TN_LANES)
        sums[0] += look_up(&t, most - load(x + i, TN_LANES));
    if (i < count) sums[0] += keep_first(look_up(&t, most - load(x + i, count - i)), count - i);
    return across(sums[0]);
}

/* Finite, so that nothing of it is nothing still. */
TN_INLINE tn_vector at_most_finite(tn_vector factor) {
    return tn_vector_min(factor, tn_vector_all(FLT_MAX));
}

TN_INLINE void write_floats(const table *t, byte_lanes most, int64_t count, const uint8_t *x,
                            float *y) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        store_floats(y + i, look_up(t, most - load(x + i, TN_LANES)), TN_LANES);
    if (i < count) store_floats(y + i, look_up(t, most - load(x + i, count - i)), count - i);
}

TN_INLINE void write_bytes(const table *t, const steps *s, byte_lanes most, int64_t count,
                           const uint8_t *x, uint8_t *y) {
    int64_t i = 0;
    for (; i + TN_LANES <= count; i += TN_LANES)
        store_bytes(s, y + i, look_up(t, most - load(x + i, TN_LANES)), TN_LANES);
    if (i < count) store_bytes(s, y + i, look_up(t, most - load(x + i, count - i)), count - i);
}

static void softmax_lane(const tn_softmax_bytes *job, int64_t count, const uint8_t *x, void *y) {
    const byte_lanes most = (byte_lanes){0} + largest(count, x, job->flip);
    const tn_vector sum = tn_vector_all(sum_of(job->powers, most, count, x));
    const table t = make_table(job->powers, at_most_finite(job->per_step / sum));
    const steps s = steps_of(job);
    if (job->is_float)
        write_floats(&t, most, count, x, y);
    else
        write_bytes(&t, &s, most, count, x, y);
}

/* ----------------------------------------------------------------------------------------------
 * columns */

TN_INLINE byte_lanes largest_of_columns(int64_t count, int64_t stride, int64_t columns,
                                        const uint8_t *x, uint8_t flip) {
    byte_lanes most = {0};
    for (int64_t i = 0; i < count; i++) {
        const byte_lanes value = load(x + i * stride, columns) ^ flip;
        const byte_lanes is_less = (byte_lanes)(most < value);
        most = (value & is_less) | (most & ~is_less);
    }
    return most ^ flip;
}

TN_INLINE void write_columns(const tn_softmax_bytes *job, int64_t count, int64_t stride,
                             int64_t columns, const uint8_t *x, void *y) {
    const table t = make_table(job->powers, tn_vector_all(1));
    const byte_lanes most = largest_of_columns(count, stride, columns, x, job->flip);
    const steps s = steps_of(job);
    tn_vector sum = {0};
    for (int64_t i = 0; i < count; i++)
        sum += look_up(&t, most - load(x + i * stride, columns));
    const tn_vector factor = at_most_finite(job->per_step / sum);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = i * stride;
        const tn_vector value = look_up(&t, most - load(x + at, columns)) * factor;
        if (job->is_float)
            store_floats((float *)y + at, value, columns);
        else
            store_bytes(&s, (uint8_t *)y + at, value, columns);
    }
}

static void softmax_columns(const tn_softmax_bytes *job, int64_t count, int64_t stride,
                            int64_t columns, const uint8_t *x, void *y) {
    if (columns == TN_LANES)
        write_columns(job, count, stride, TN_LANES, x, y);
    else
        write_columns(job, count, stride, columns, x, y);
}

const tn_softmax_bytes_level TN_SOFTMAX_BYTES_LEVEL = {TN_LANES, softmax_lane, softmax_columns};
