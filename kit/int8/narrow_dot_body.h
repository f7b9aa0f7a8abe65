/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of dot.h for bytes whose products' sums fit 16 bits (tn_dot_narrow): products of
 * unsigned with signed bytes, twice as many a vector as 16 bits have. Before it is included,
 * TN_DOT_LEVEL names the table, and TN_DOT_NARROW_TABLE that of all levels.
 */
#define TN_DOT_NARROW
#include "kit/int8/dot_body.h"

static void load_shifted(void *to, const int8_t *from, int64_t count) {
    form_load(to, from, count, false);
}

static void clear_shifted(void *to, int64_t count) {
    memset(to, TN_DOT_ZERO, (size_t)count);
}

static void interleave_shifted(void *to, const int8_t *from, int64_t plane, int64_t channels,
                               int64_t count) {
    form_interleave(to, from, plane, channels, count, false);
}

static void load_bytes(void *to, const int8_t *from, int64_t count) {
    memcpy(to, from, (size_t)count);
}

static void clear_bytes(void *to, int64_t count) {
    memset(to, 0, (size_t)count);
}

static void interleave_bytes(void *to, const int8_t *from, int64_t plane, int64_t channels,
                             int64_t count) {
    form_interleave(to, from, plane, channels, count, true);
}

static void find_range(const uint8_t *from, int64_t count, uint8_t flip,
                       tn_dot_range *inout_range) {
    int8_t low = inout_range->low, high = inout_range->high;
    for (int64_t i = 0; i < count; i++) {
        const int8_t value = (int8_t)(from[i] ^ flip);
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    *inout_range = (tn_dot_range){low, high};
}

static int32_t largest_of(__m256i words) {
    int16_t values[16];
    int32_t largest = 0;
    memcpy(values, &words, sizeof(values));
    for (int i = 0; i < 16; i++)
        largest = values[i] > largest ? values[i] : largest;
    return largest;
}

/* A step of the levels that add products of four is two groups; an odd one is last. */
static void bound(const int8_t *weights, int64_t groups, int64_t columns, int32_t out_bounds[2]) {
    const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi8(1);
    const int64_t step = columns * TN_DOT_GROUP;
    __m256i two = zero, four = zero;
    for (int64_t at = 0; at < step; at += (int64_t)sizeof(__m256i)) {
        __m256i before[2] = {zero, zero};
        for (int64_t g = 0; g < groups; g++) {
            const __m256i w = tn_dot_load_weights(weights + g * step + at);
            const __m256i sums[2] = {
                _mm256_maddubs_epi16(ones, _mm256_max_epi8(w, zero)),
                _mm256_sub_epi16(zero, _mm256_maddubs_epi16(ones, _mm256_min_epi8(w, zero)))};
            for (int sign = 0; sign < 2; sign++) {
                const __m256i both = _mm256_add_epi16(sums[sign], before[sign]);
                two = _mm256_max_epi16(two, sums[sign]);
                four = _mm256_max_epi16(four, both);
                before[sign] = g % 2 ? zero : sums[sign];
            }
        }
    }
    out_bounds[0] = largest_of(two);
    out_bounds[1] = largest_of(four);
}

static const tn_dot_form of_bytes = {1, 0, load_bytes, clear_bytes, interleave_bytes};
static const tn_dot_form of_shifted = {1, TN_DOT_ZERO, load_shifted, clear_shifted,
                                       interleave_shifted};
extern const tn_dot_level tn_folded_dot_avx2;

const tn_dot_narrow TN_DOT_NARROW_TABLE = {.forms = {&of_bytes, &of_shifted},
                                           .levels = {&TN_DOT_LEVEL, &tn_folded_dot_avx2},
                                           .range = find_range,
                                           .bound = bound};
