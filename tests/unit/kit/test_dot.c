/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of bytes on every level of this processor: sums are exact whatever the sizes of weights
 * and activations, at and beyond what lanes of 16 bits hold.
 */
#include "kit/int8/dot_rows.h"
#include "kit/int8/integer_product.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 40, MOST_DEPTH = 84, ROWS = 7, BLOB_BYTES = 16384 };

/* Which weights: of a column at k. */
typedef int8_t weight_function(uint32_t *random, int64_t k);

static uint32_t next(uint32_t *random) {
    *random = *random * 1664525u + 1013904223u;
    return *random >> 16;
}

static int8_t any_weight(uint32_t *random, int64_t k) {
    (void)k;
    return (int8_t)next(random);
}
static int8_t small_weight(uint32_t *random, int64_t k) {
    (void)k;
    return (int8_t)(next(random) % 65 - 32);
}
static int8_t extreme_weight(uint32_t *random, int64_t k) {
    (void)k;
    return next(random) % 2 ? INT8_MAX : INT8_MIN;
}
static int8_t largest_weight(uint32_t *random, int64_t k) {
    (void)random, (void)k;
    return INT8_MAX;
}
static int8_t lowest_weight(uint32_t *random, int64_t k) {
    (void)random, (void)k;
    return INT8_MIN;
}
/* Pairs of 64 and 64 are the last, and of 64 and 65 the first, beside which 255 is too large. */
static int8_t bounding_weight(uint32_t *random, int64_t k) {
    return (int8_t)(64 + (k % 2 == 1 && next(random) % 2));
}
/* Of few groups. */
static int8_t rare_weight(uint32_t *random, int64_t k) {
    return k / 4 % 5 == 3 ? INT8_MAX : small_weight(random, k);
}

typedef struct dot_case {
    const tn_dot_level *level;
    int64_t depth, columns;
    int32_t low, high; /* activations */
    int8_t weights[MOST_COLUMNS][MOST_DEPTH], x[ROWS][MOST_DEPTH];
} dot_case;

static void pack(const dot_case *of, tn_dot_layout *layout, void *blob) {
    const int64_t group = of->level->group, groups = (of->depth + group - 1) / group;
    int32_t elements[MOST_DEPTH];
    for (int64_t k = 0; k < groups * group; k++)
        elements[k] = k < of->depth ? (int32_t)k : -1;
    assert_true(tn_dot_layout_make(of->level, 1, of->columns, groups, layout));
    assert_true(tn_dot_layout_bytes(layout) <= BLOB_BYTES);
    const tn_dot_source source = {.column_stride = MOST_DEPTH,
                                  .element_stride = 1,
                                  .period = of->columns,
                                  .elements = elements};
    tn_dot_pack_bytes(layout, &source, of->weights, false, blob);
}

static void multiply(const dot_case *of, const tn_dot_layout *layout, const void *blob,
                     int32_t *sums, int64_t stride) {
    static _Alignas(64) char x[ROWS * MOST_DEPTH * 2];
    const tn_dot_end end = {.type = TN_I32};
    const int64_t row = layout->groups * of->level->group;
    const tn_dot_choice choice =
        tn_dot_choose(layout, (tn_dot_range){(int8_t)of->low, (int8_t)of->high});
    int32_t rows[ROWS], offsets[MOST_DEPTH];
    for (int64_t r = 0; r < ROWS; r++) {
        char *to = x + r * row * choice.form->element_bytes;
        rows[r] = (int32_t)(r * row);
        choice.form->load(to, of->x[r], of->depth);
        choice.form->clear(to + of->depth * choice.form->element_bytes, row - of->depth);
    }
    for (int64_t g = 0; g < layout->groups; g++)
        offsets[g] = (int32_t)(g * of->level->group);
    for (int64_t block = 0; block < layout->blocks; block++) {
        tn_dot_tile tile = {
            .x = x, .offsets = offsets, .row_stride = stride, .column_stride = 1, .end = &end};
        tn_dot_tile_begin(layout, blob, &choice, 0, block, &tile);
        tn_dot_rows_run(of->level, &tile, rows, ROWS,
                        (char *)(sums + tn_dot_block_first(layout, block)), NULL);
    }
}

static void compare(const dot_case *of) {
    static _Alignas(64) char blob[BLOB_BYTES];
    static int32_t sums[ROWS * 64];
    tn_dot_layout layout;
    pack(of, &layout, blob);
    multiply(of, &layout, blob, sums, 64);
    for (int64_t r = 0; r < ROWS; r++) {
        for (int64_t n = 0; n < of->columns; n++) {
            int32_t wanted = 0;
            for (int64_t k = 0; k < of->depth; k++)
                wanted += of->x[r][k] * of->weights[n][k];
            if (sums[r * 64 + n] != wanted)
                fail_msg("lanes of %u, depth %d, activations %d to %d: row %d, column %d is %d "
                         "instead of %d",
                         of->level->lanes, (int)of->depth, of->low, of->high, (int)r, (int)n,
                         sums[r * 64 + n], wanted);
        }
    }
}

static void fill(dot_case *of, weight_function *weight) {
    uint32_t random = 7;
    for (int64_t n = 0; n < of->columns; n++)
        for (int64_t k = 0; k < of->depth; k++)
            of->weights[n][k] = weight(&random, k);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t k = 0; k < of->depth; k++)
            of->x[r][k] = (int8_t)(r < 2 ? (r ? of->high : of->low)
                                         : of->low + (int32_t)(next(&random) %
                                                               (uint32_t)(of->high - of->low + 1)));
}

static void compare_level(const tn_dot_level *level) {
    static weight_function *const weights[] = {any_weight,     small_weight,  extreme_weight,
                                               largest_weight, lowest_weight, bounding_weight,
                                               rare_weight};
    static const int32_t ranges[][2] = {{0, 127}, {0, 1}, {-128, 127}, {-1, 3}, {0, 63}, {0, 0}};
    static const int64_t depths[] = {1, 3, 4, 5, 8, 12, 13, 40, 83};
    static const int64_t columns[] = {1, 8, 15, 16, 17, 33};
    static dot_case of;
    for (size_t w = 0; w < TEST_COUNT(weights); w++) {
        for (size_t r = 0; r < TEST_COUNT(ranges); r++) {
            for (size_t i = 0; i < TEST_COUNT(depths) * TEST_COUNT(columns); i++) {
                of.level = level;
                of.depth = depths[i % TEST_COUNT(depths)];
                of.columns = columns[i / TEST_COUNT(depths)];
                of.low = ranges[r][0];
                of.high = ranges[r][1];
                fill(&of, weights[w]);
                compare(&of);
            }
        }
    }
}

static void test_sums_of_bytes_are_exact_on_every_level(void **state) {
    (void)state;
    compare_level(&tn_dot_baseline);
    if (tn_kit_level() >= TN_KIT_AVX2) {
        compare_level(&tn_dot_avx2);
        compare_level(tn_integer_avx2.dot);
    }
#if defined(__x86_64__)
    if (tn_kit_level() >= TN_KIT_AVX512 && __builtin_cpu_supports("avx512vnni"))
        compare_level(&tn_dot_avx512vnni);
#endif
}

/* Large weights are for products of 16 bits, but where activations may be of one sign. */
static void test_weights_choose_between_products(void **state) {
    static dot_case of = {.level = &tn_dot_avx2, .depth = 80, .columns = 16};
    static int32_t elements[80];
    (void)state;
    for (int32_t k = 0; k < 80; k++)
        elements[k] = k;
    static weight_function *const weights[] = {small_weight, extreme_weight, rare_weight};
    static const bool are_narrow[] = {true, false, true};
    for (size_t w = 0; w < TEST_COUNT(weights); w++) {
        tn_dot_layout layout;
        const tn_dot_source source = {
            .column_stride = MOST_DEPTH, .element_stride = 1, .period = 16, .elements = elements};
        fill(&of, weights[w]);
        assert_true(tn_dot_layout_make(of.level, 1, 16, 80 / of.level->group, &layout));
        assert_int_equal(tn_dot_bytes_are_narrow(&layout, &source, of.weights, false, false),
                         are_narrow[w]);
        assert_true(tn_dot_bytes_are_narrow(&layout, &source, of.weights, false, true));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_bytes_are_exact_on_every_level),
        cmocka_unit_test(test_weights_choose_between_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
