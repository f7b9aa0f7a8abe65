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
    const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
    const __m128i most = _mm_sub_epi16(_mm_set1_epi16(INT16_MAX), _mm_max_epi16(low, high));
    return INT16_MAX - _mm_extract_epi16(_mm_minpos_epu16(most), 0);
}

/* Of groups of weights, `count` of which are summed: the largest sum of one sign. */
TN_INLINE int32_t largest_sum(const int8_t *const groups[2], const int count, int64_t step) {
    const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi8(1);
    __m256i most = zero;
    for (int64_t at = 0; at < step; at += (int64_t)sizeof(__m256i)) {
        __m256i positive = zero, negative = zero;
        for (int i = 0; i < count; i++) {
            const __m256i w = tn_dot_load_weights(groups[i] + at);
            positive =
                _mm256_add_epi16(positive, _mm256_maddubs_epi16(ones, _mm256_max_epi8(w, zero)));
            negative =
                _mm256_sub_epi16(negative, _mm256_maddubs_epi16(ones, _mm256_min_epi8(w, zero)));
        }
        most = _mm256_max_epi16(most, _mm256_max_epi16(positive, negative));
    }
    return largest_of(most);
}

static int32_t group_sum(const int8_t *weights, int64_t step, int64_t group) {
    const int8_t *const groups[2] = {weights + group * step};
    return largest_sum(groups, 1, step);
}

static int32_t pair_sum(const int8_t *weights, int64_t step, const uint16_t pair[2]) {
    const int8_t *const groups[2] = {weights + pair[0] * step, weights + pair[1] * step};
    return largest_sum(groups, 2, step);
}

/* The groups' order by their sums, the first and the last, the second and the last but one ..
 * beside each other; an odd one is last. */
static void pair_groups(const int8_t *weights, int64_t groups, int64_t step, uint16_t *order) {
    int32_t first[2 * 128 + 2] = {0}; /* of each sum */
    for (int64_t g = 0; g < groups; g++)
        first[group_sum(weights, step, g) + 1]++;
    for (size_t i = 1; i < sizeof(first) / sizeof(*first); i++)
        first[i] += first[i - 1];
    for (int64_t g = 0; g < groups; g++) {
        const int64_t rank = first[group_sum(weights, step, g)]++, other = groups - 1 - rank;
        order[rank <= other ? 2 * rank : 2 * other + 1] = (uint16_t)g;
    }
}

/* By Shell's method. */
static void sort_pairs(int64_t count, uint16_t *order, uint16_t *pairs) {
    for (int64_t gap = count / 2; gap > 0; gap /= 2) {
        for (int64_t i = gap; i < count; i++) {
            const uint16_t key = pairs[i], one = order[2 * i], two = order[2 * i + 1];
            int64_t at = i;
            for (; at >= gap && pairs[at - gap] > key; at -= gap) {
                pairs[at] = pairs[at - gap];
                memcpy(order + 2 * at, order + 2 * (at - gap), 2 * sizeof(*order));
            }
            pairs[at] = key;
            order[2 * at] = one;
            order[2 * at + 1] = two;
        }
    }
}

/* Group order[g] comes to g; along each cycle of the permutation. */
static void permute(int8_t *weights, int64_t groups, int64_t step, const uint16_t *order) {
    uint64_t is_done[(TN_DOT_DEPTH_LIMIT / TN_DOT_GROUP + 63) / 64] = {0};
    int8_t kept[TN_DOT_VECTORS * TN_LANES * TN_DOT_GROUP];
    for (int64_t first = 0; first < groups; first++) {
        if (is_done[first / 64] >> first % 64 & 1) continue;
        memcpy(kept, weights + first * step, (size_t)step);
        for (int64_t at = first;; at = order[at]) {
            is_done[at / 64] |= (uint64_t)1 << at % 64;
            if (order[at] == first) {
                memcpy(weights + at * step, kept, (size_t)step);
                break;
            }
            memcpy(weights + at * step, weights + order[at] * step, (size_t)step);
        }
    }
}

static int32_t arrange(int8_t *weights, int64_t groups, int64_t columns, bool is_ordered,
                       uint16_t *out_order, uint16_t *out_pairs) {
    const int64_t step = columns * TN_DOT_GROUP;
    int32_t largest = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int32_t sum = group_sum(weights, step, g);
        largest = sum > largest ? sum : largest;
        out_order[g] = (uint16_t)g;
    }
    if (is_ordered) pair_groups(weights, groups, step, out_order);
    for (int64_t i = 0; i < groups / 2; i++) {
        const int32_t sum = pair_sum(weights, step, out_order + 2 * i);
        const int32_t before = !is_ordered && i > 0 ? out_pairs[i - 1] : 0;
        out_pairs[i] = (uint16_t)(sum > before ? sum : before);
    }
    if (!is_ordered) return largest;
    sort_pairs(groups / 2, out_order, out_pairs);
    permute(weights, groups, step, out_order);
    return largest;
}

static const tn_dot_form of_bytes = {1, 0, load_bytes, clear_bytes, interleave_bytes};
static const tn_dot_form of_shifted = {1, TN_DOT_ZERO, load_shifted, clear_shifted,
                                       interleave_shifted};

const tn_dot_narrow TN_DOT_NARROW_TABLE = {.forms = {&of_bytes, &of_shifted},
                                           .level = &TN_DOT_LEVEL,
                                           .range = find_range,
                                           .arrange = arrange};
