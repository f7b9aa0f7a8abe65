/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of dot.h for AVX2, whose products of unsigned with signed bytes are twice as many
 * a vector as those of 16 bits, and are summed in lanes of 16 bits: groups whose sums fit are
 * multiplied so, the others as 16 bits (tn_dot_narrow). Before it is included, TN_DOT_LEVEL names
 * the table.
 */
#define TN_DOT_NARROW
#include "kit/int8/dot_body.h"

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

/* The order of groups by their sums, among those from sum `low` to `high`: the first and the last,
 * the second and the last but one .. beside each other; an odd one is last. Answers how many. */
static int64_t pair_groups(const int8_t *weights, int64_t groups, int64_t step, int32_t low,
                           int32_t high, uint16_t *order) {
    int32_t first[2 * 128 + 2] = {0}; /* of each sum */
    int64_t count = 0;
    for (int64_t g = 0; g < groups; g++) {
        const int32_t sum = group_sum(weights, step, g);
        if (sum < low || sum > high) continue;
        first[sum + 1]++;
        count++;
    }
    for (size_t i = 1; i < sizeof(first) / sizeof(*first); i++)
        first[i] += first[i - 1];
    for (int64_t g = 0; g < groups; g++) {
        const int32_t sum = group_sum(weights, step, g);
        if (sum < low || sum > high) continue;
        const int64_t rank = first[sum]++, other = count - 1 - rank;
        order[rank <= other ? 2 * rank : 2 * other + 1] = (uint16_t)g;
    }
    return count;
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

/* Pairs among the groups first..last-1 of the order, by their sums. */
static void arrange_pairs(const int8_t *weights, int64_t step, int64_t first, int64_t last,
                          uint16_t *order, uint16_t *pairs) {
    for (int64_t i = first / 2; 2 * i + 1 < last; i++)
        pairs[i] = (uint16_t)pair_sum(weights, step, order + 2 * i);
    sort_pairs((last - first) / 2, order + first, pairs + first / 2);
}

/* Groups that any bytes may be multiplied by come first; an odd one of them is the last of all. */
static tn_dot_arranged arrange(int8_t *weights, int64_t groups, int64_t columns,
                               uint16_t *out_order, uint16_t *out_pairs) {
    enum { OF_ANY = INT16_MAX / UINT8_MAX, MOST = 2 * 128 };
    const int64_t step = columns * TN_DOT_GROUP;
    tn_dot_arranged arranged = {.first_pair = INT32_MAX, .last_pair = INT32_MAX};
    const int64_t first = pair_groups(weights, groups, step, 0, OF_ANY, out_order) / 2 * 2;
    const uint16_t odd = out_order[first];
    const int64_t others = pair_groups(weights, groups, step, OF_ANY + 1, MOST, out_order + first);
    if (first + others < groups) out_order[groups - 1] = odd;
    arranged.of_any = (int32_t)first;
    for (int64_t g = 0; g < groups; g++) {
        const int32_t sum = group_sum(weights, step, g);
        arranged.largest = sum > arranged.largest ? sum : arranged.largest;
    }
    arrange_pairs(weights, step, 0, first, out_order, out_pairs);
    arrange_pairs(weights, step, first, groups, out_order, out_pairs);
    for (int64_t i = 1; i < groups / 2; i++)
        out_pairs[i] = out_pairs[i] > out_pairs[i - 1] ? out_pairs[i] : out_pairs[i - 1];
    if (groups > 1) {
        arranged.first_pair = out_pairs[0];
        arranged.last_pair = out_pairs[groups / 2 - 1];
    }
    permute(weights, groups, step, out_order);
    return arranged;
}

static const tn_dot_form of_bytes = {1, 0, load_bytes, clear_bytes, interleave_bytes};

static const tn_dot_narrow narrow = {
    .forms = {&of_bytes, &own_form}, .range = find_range, .arrange = arrange};
