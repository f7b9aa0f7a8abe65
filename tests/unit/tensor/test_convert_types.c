/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between all pairs of types, at numbers chosen for their roundings and bounds and at
 * random bits, with and without a change of format. */
#include "convert_test.h"

/* Where types end, and what lies in the middle of two floats. */
static const double chosen[] = {0.0,
                                -0.0,
                                0.5,
                                -0.5,
                                0.999,
                                1,
                                -1,
                                1.5,
                                2.5,
                                -2.5,
                                127,
                                127.9,
                                128,
                                -128,
                                -128.9,
                                -129,
                                255,
                                255.9,
                                256,
                                -255,
                                32767,
                                32767.5,
                                32768,
                                -32768,
                                -32769,
                                65504,
                                65519.999,
                                65520,
                                65535,
                                65536,
                                0x1p24,
                                0x1p24 + 1,
                                0x1p24 + 3,
                                0x1p31 - 1,
                                0x1p31,
                                -0x1p31,
                                -0x1p31 - 1,
                                0x1p32 - 1,
                                0x1p32,
                                0x1p53,
                                0x1p63,
                                -0x1p63,
                                0x1p63 - 1024,
                                0x1p64,
                                0x1p64 - 2048,
                                -0x1p64,
                                1e30,
                                -1e30,
                                1e300,
                                -1e300,
                                1e-8,
                                0x1p-24,
                                0x1p-25,
                                0x1p-149,
                                0x1p-150,
                                0x1.fffffep127,
                                0x1.ffffffp127,
                                0x1.fep127,
                                0x1.ffp127,
                                1.00390625,
                                1.01171875,
                                0x1.0080000001p0,
                                INFINITY,
                                -INFINITY,
                                (double)NAN,
                                5e-324};

/* Integers that doubles and floats cannot hold, and whose double lies in the middle of two floats,
 * so that rounding twice is seen. */
static const int64_t whole[] = {INT64_MAX,
                                INT64_MIN,
                                INT64_MAX - 1,
                                INT64_MIN + 1,
                                (INT64_C(1) << 53) + 1,
                                (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1,
                                (INT64_C(1) << 62) + (INT64_C(1) << 38) - 1,
                                -((INT64_C(1) << 62) + (INT64_C(1) << 38) + 1),
                                (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1,
                                (INT64_C(1) << 62) + (INT64_C(1) << 54) - 1,
                                (INT64_C(1) << 40) + (INT64_C(1) << 16),
                                300,
                                -300,
                                70000,
                                (INT64_C(1) << 32) + 5,
                                -1};

#define CHOSEN_COUNT ((int64_t)(TEST_COUNT(chosen) + TEST_COUNT(whole)))

static void fill_chosen(const tn_tensor *tensor) {
    for (size_t i = 0; i < TEST_COUNT(chosen); i++)
        tn_element_set_f64(tensor->data, tensor->type, i, chosen[i]);
    for (size_t i = 0; i < TEST_COUNT(whole); i++) {
        const size_t at = TEST_COUNT(chosen) + i;
        if (tn_type_bytes(tensor->type) == 8 && tensor->type != TN_F64) /* its bits: large as u64 */
            memcpy((char *)tensor->data + at * 8, &whole[i], 8);
        else
            tn_element_set_i64(tensor->data, tensor->type, at, whole[i]);
    }
}

static void test_chosen_numbers_of_every_pair_of_types(void **state) {
    (void)state;
    const tn_shape shape = {1, {CHOSEN_COUNT}};
    for (tn_type a = 1; a <= TN_BOOL; a++) {
        guarded_tensor from;
        guarded_create(&from, a, TN_LINEAR, &shape);
        fill_chosen(&from.storage.tensor);
        for (tn_type b = 1; b <= TN_BOOL; b++) {
            guarded_tensor to;
            guarded_create(&to, b, TN_LINEAR, &shape);
            convert_whole(&from.storage.tensor, &to.storage.tensor);
            assert_converted(&from.storage.tensor, &to.storage.tensor);
            guarded_destroy(&to);
        }
        guarded_destroy(&from);
    }
}

static void check_pair(tn_type a, tn_format from_format, tn_type b, tn_format to_format,
                       const tn_shape *shape, test_random *random) {
    guarded_tensor from, to;
    guarded_create(&from, a, from_format, shape);
    guarded_create(&to, b, to_format, shape);
    fill_bits(&from.storage.tensor, random);
    convert_whole(&from.storage.tensor, &to.storage.tensor);
    assert_converted(&from.storage.tensor, &to.storage.tensor);
    guarded_destroy(&from);
    guarded_destroy(&to);
}

static void test_random_bits_of_every_pair_of_types(void **state) {
    (void)state;
    static const tn_shape image = {4, {2, 5, 3, 7}}, line = {1, {1000}}, row = {2, {2, 19}};
    test_random random = {.state = 7};
    for (tn_type a = 1; a <= TN_BOOL; a++) {
        for (tn_type b = 1; b <= TN_BOOL; b++) {
            check_pair(a, TN_LINEAR, b, TN_LINEAR, &line, &random);
            check_pair(a, TN_C8, b, TN_C8, &image, &random);
            check_pair(a, TN_LINEAR, b, TN_NHWC, &image, &random);
            check_pair(a, TN_NHWC, b, TN_C16, &image, &random);
            check_pair(a, TN_C4, b, TN_LINEAR, &image, &random);
            check_pair(a, TN_C32, b, TN_C8, &row, &random);
        }
    }
}

/* More than one item of a conversion that changes types alone. */
static void test_long_lines_are_split(void **state) {
    (void)state;
    static const tn_shape shape = {2, {3, 10001}};
    test_random random = {.state = 8};
    guarded_tensor from, to;
    guarded_create(&from, TN_F32, TN_LINEAR, &shape);
    guarded_create(&to, TN_F16, TN_LINEAR, &shape);
    fill_bits(&from.storage.tensor, &random);
    const int64_t items = tn_convert_items(&from.storage.tensor, &to.storage.tensor);
    assert_true(items > 2);
    for (int64_t item = items; item-- > 0;)
        assert_int_equal(tn_convert(&from.storage.tensor, &to.storage.tensor, item, item + 1),
                         TN_OK);
    assert_converted(&from.storage.tensor, &to.storage.tensor);
    guarded_destroy(&from);
    guarded_destroy(&to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen_numbers_of_every_pair_of_types),
        cmocka_unit_test(test_random_bits_of_every_pair_of_types),
        cmocka_unit_test(test_long_lines_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
