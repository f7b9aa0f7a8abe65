/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of products in 8 bits on CUDA: quantised weights, and the order of the tactics.
 */
#include "kit/cuda/gemm/byte_weight.h"
#include "kit/cuda/gemm/product_int8_tactics.h"

#include "test.h"

#include <math.h>
#include <string.h>

enum { WEIGHTS = 1000 };

static void test_weights_are_rounded_to_nearest_even(void **state) {
    float numbers[2 * WEIGHTS];
    int8_t packed[WEIGHTS];
    uint32_t seed = 7;
    (void)state;
    for (int i = 0; i < 2 * WEIGHTS; i++) {
        seed = seed * 1664525u + 1013904223u;
        numbers[i] = (float)(int32_t)(seed >> 8) / 8388608.0f - 1.0f;
    }
    numbers[2 * 5] = 127.0f / 64.0f; /* the largest: a step is 1/64 */
    numbers[2 * 6] = 2.5f / 64.0f;
    numbers[2 * 7] = -3.5f / 64.0f;
    const tn_tensor tensor = {.size = sizeof tensor, .type = TN_F32, .data = numbers};
    const float scale = tn_cuda_byte_weights(&tensor, 0, 2, WEIGHTS, packed);
    assert_true(scale == 1.0f / 64.0f);
    for (int i = 0; i < WEIGHTS; i++)
        assert_int_equal(packed[i], (int)rintf(numbers[2 * i] * 64.0f));
    assert_int_equal(packed[6], 2);
    assert_int_equal(packed[7], -4);
}

static void test_weights_that_are_no_numbers_give_no_scale(void **state) {
    float numbers[] = {1, NAN, -2, 0, 0, -INFINITY, 0x1p-140f, -0x1p-141f};
    int8_t packed[8];
    (void)state;
    const tn_tensor tensor = {.size = sizeof tensor, .type = TN_F32, .data = numbers};
    memset(packed, 9, sizeof packed);
    assert_true(isnan(tn_cuda_byte_weights(&tensor, 0, 1, 3, packed)));
    assert_int_equal(packed[0], 0);
    assert_int_equal(packed[2], 0);
    assert_true(isnan(tn_cuda_byte_weights(&tensor, 3, 1, 3, packed)));
    assert_true(tn_cuda_byte_weights(&tensor, 3, 1, 2, packed) == 1);
    assert_int_equal(packed[0], 0);
    const float tiny = tn_cuda_byte_weights(&tensor, 6, 1, 2, packed);
    assert_true(tiny > 0 && isfinite(1.0f / tiny)); /* a step that can be divided by */
    assert_int_equal(packed[0], 0);
}

static void test_weights_of_16_bits_are_those_numbers(void **state) {
    const uint16_t halves[] = {0x3c00, 0xc000, 0x3800}; /* 1, -2, 0.5 */
    int8_t packed[3];
    (void)state;
    const tn_tensor tensor = {
        .size = sizeof tensor, .type = TN_F16, .data = (void *)(uintptr_t)halves};
    assert_true(tn_cuda_byte_weights(&tensor, 0, 1, 3, packed) == 2.0f / 127.0f);
    assert_int_equal(packed[0], 64); /* 63.5 */
    assert_int_equal(packed[1], -127);
    assert_int_equal(packed[2], 32); /* 31.75 */
}

static uint32_t find_tactics(int64_t rows, int64_t columns, int64_t depth, int32_t taps,
                             tn_cuda_int8_tactic *tactics) {
    const tn_cuda_product product = {
        .batch = 1, .rows = rows, .columns = columns, .depth = depth, .image = {.taps = taps}};
    return tn_cuda_int8_tactics(&product, tactics);
}

static void test_tactics_are_different_and_share_out_what_is_there(void **state) {
    static const int64_t sizes[] = {1, 7, 32, 49, 128, 784, 3136, 100352};
    (void)state;
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            for (int64_t depth = 1; depth <= 8192; depth = depth * 2 + 1) {
                tn_cuda_int8_tactic tactics[TN_CUDA_INT8_MOST_TACTICS];
                const uint32_t count = find_tactics(sizes[r], sizes[c], depth, 0, tactics);
                const int64_t steps = (depth + TN_CUDA_INT8_DEPTH - 1) / TN_CUDA_INT8_DEPTH;
                assert_true(count >= 1 && count <= TN_CUDA_INT8_MOST_TACTICS);
                for (uint32_t i = 0; i < count; i++) {
                    assert_true(tactics[i].tile <= TN_CUDA_INT8_GEMV);
                    assert_true(tactics[i].splits == 1 || tactics[i].splits * 2 <= steps);
                    for (uint32_t k = 0; k < i; k++)
                        assert_true(tactics[k].tile != tactics[i].tile ||
                                    tactics[k].splits != tactics[i].splits);
                }
            }
}

static void test_the_first_tactic_suits_the_product(void **state) {
    tn_cuda_int8_tactic tactics[TN_CUDA_INT8_MOST_TACTICS];
    (void)state;
    find_tactics(1, 1000, 2048, 0, tactics);
    assert_int_equal(tactics[0].tile, TN_CUDA_INT8_GEMV);
    find_tactics(1, 1000, 2041, 0, tactics); /* rows that do not begin at whole 16 bytes */
    assert_int_not_equal(tactics[0].tile, TN_CUDA_INT8_GEMV);
    find_tactics(1, 64, 576, 9, tactics); /* an image's rows do not lie one after the other */
    assert_int_not_equal(tactics[0].tile, TN_CUDA_INT8_GEMV);
    find_tactics(49, 512, 4608, 9, tactics); /* few pixels, long sums */
    assert_true(tactics[0].splits >= 4);
    find_tactics(100352, 64, 576, 9, tactics); /* many pixels */
    assert_int_equal(tactics[0].tile, TN_CUDA_INT8_TILE_64X64);
    assert_int_equal(tactics[0].splits, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_are_rounded_to_nearest_even),
        cmocka_unit_test(test_weights_that_are_no_numbers_give_no_scale),
        cmocka_unit_test(test_weights_of_16_bits_are_those_numbers),
        cmocka_unit_test(test_tactics_are_different_and_share_out_what_is_there),
        cmocka_unit_test(test_the_first_tactic_suits_the_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
