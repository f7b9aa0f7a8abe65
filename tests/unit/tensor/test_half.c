/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 16-bit floats, all of them, against doubles: each bit pattern read, and in the other
 * direction every point at which rounding changes its mind: the middle between two neighbours, and
 * the numbers next to it on both sides.
 */
#include "tensor/type.h"

#include "test.h"

#include <float.h>
#include <math.h>

/* The value of a bit pattern by its definition (IEEE 754-2019, 3.4). The next one after the largest
 * finite is what infinity stands for when rounding. */
static double value_of(uint32_t bits, int fraction_bits, int bias) {
    const uint32_t exponent = bits >> fraction_bits, fraction = bits & ((1u << fraction_bits) - 1);
    if (exponent == 0) return ldexp((double)fraction, 1 - bias - fraction_bits);
    return ldexp((double)(fraction | 1u << fraction_bits), (int)exponent - bias - fraction_bits);
}

static double f16_value(uint32_t bits) {
    return value_of(bits, 10, 15);
}
static double bf16_value(uint32_t bits) {
    return value_of(bits, 7, 127);
}

static void test_every_f16_is_read_right(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        const float positive = tn_f16_to_f32((uint16_t)bits);
        const float negative = tn_f16_to_f32((uint16_t)(bits | 0x8000));
        assert_true((double)positive == f16_value(bits) && !signbit(positive));
        assert_true((double)negative == -f16_value(bits) && signbit(negative));
    }
    assert_true(tn_f16_to_f32(0x7c00) == INFINITY && tn_f16_to_f32(0xfc00) == -INFINITY);
    for (uint32_t bits = 0x7c01; bits < 0x8000; bits++)
        assert_true(isnan(tn_f16_to_f32((uint16_t)bits)) &&
                    isnan(tn_f16_to_f32((uint16_t)(bits | 0x8000))));
}

static void test_every_bf16_is_read_right(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x7f80; bits++) {
        assert_true((double)tn_bf16_to_f32((uint16_t)bits) == bf16_value(bits));
        assert_true((double)tn_bf16_to_f32((uint16_t)(bits | 0x8000)) == -bf16_value(bits));
    }
    assert_true(tn_bf16_to_f32(0x7f80) == INFINITY && tn_bf16_to_f32(0xff80) == -INFINITY);
    for (uint32_t bits = 0x7f81; bits < 0x8000; bits++)
        assert_true(isnan(tn_bf16_to_f32((uint16_t)bits)));
}

static void test_every_pattern_comes_back(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        const float f16 = tn_f16_to_f32((uint16_t)bits), bf16 = tn_bf16_to_f32((uint16_t)bits);
        const uint16_t f16_bits = tn_f32_to_f16(f16), bf16_bits = tn_f32_to_bf16(bf16);
        if (isnan(f16))
            assert_true((f16_bits & 0x7c00) == 0x7c00 && (f16_bits & 0x3ff) != 0);
        else
            assert_int_equal(f16_bits, bits);
        if (isnan(bf16))
            assert_true((bf16_bits & 0x7f80) == 0x7f80 && (bf16_bits & 0x7f) != 0);
        else
            assert_int_equal(bf16_bits, bits);
    }
}

/* Both signs of a value must become `bits`. */
static void assert_f16(double value, uint32_t bits) {
    if (tn_f64_to_f16(value) != bits || tn_f64_to_f16(-value) != (bits | 0x8000))
        fail_msg("%a becomes 0x%04x: expected 0x%04x", value, tn_f64_to_f16(value), bits);
    const float narrow = (float)value;
    if ((double)narrow == value && tn_f32_to_f16(narrow) != bits)
        fail_msg("%a as f32 becomes 0x%04x: expected 0x%04x", value, tn_f32_to_f16(narrow), bits);
}

static void test_f16_is_rounded_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        const double low = f16_value(bits), high = f16_value(bits + 1), middle = (low + high) / 2;
        assert_f16(low, bits);
        assert_f16(nextafter(low, high), bits);
        assert_f16(nextafter(middle, low), bits);
        assert_f16((double)nextafterf((float)middle, (float)low), bits);
        assert_f16(middle, bits & 1 ? bits + 1 : bits);
        assert_f16(nextafter(middle, high), bits + 1);
        assert_f16((double)nextafterf((float)middle, (float)high), bits + 1);
        assert_f16(nextafter(high, low), bits + 1);
    }
    assert_f16(65536, 0x7c00);
    assert_f16(DBL_MAX, 0x7c00);
    assert_f16(INFINITY, 0x7c00);
    assert_f16(DBL_TRUE_MIN, 0);
    assert_true(isnan(tn_f16_to_f32(tn_f64_to_f16((double)NAN))));
}

static uint16_t f64_to_bf16(double value) {
    uint16_t bits;
    tn_element_set_f64(&bits, TN_BF16, 0, value);
    return bits;
}

static void assert_bf16(double value, uint32_t bits) {
    if (f64_to_bf16(value) != bits || f64_to_bf16(-value) != (bits | 0x8000))
        fail_msg("%a becomes 0x%04x: expected 0x%04x", value, f64_to_bf16(value), bits);
    const float narrow = (float)value;
    if ((double)narrow == value && tn_f32_to_bf16(narrow) != bits)
        fail_msg("%a as f32 becomes 0x%04x: expected 0x%04x", value, tn_f32_to_bf16(narrow), bits);
}

static void test_bf16_is_rounded_to_nearest_even(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 0x7f80; bits++) {
        const double low = bf16_value(bits), high = bf16_value(bits + 1), middle = (low + high) / 2;
        assert_bf16(low, bits);
        assert_bf16(nextafter(low, high), bits);
        assert_bf16(nextafter(middle, low), bits);
        assert_bf16((double)nextafterf((float)middle, 0), bits);
        assert_bf16(middle, bits & 1 ? bits + 1 : bits);
        assert_bf16(nextafter(middle, high), bits + 1);
        assert_bf16((double)nextafterf((float)middle, INFINITY), bits + 1);
        assert_bf16(nextafter(high, low), bits + 1);
    }
    assert_bf16(DBL_MAX, 0x7f80);
    assert_bf16(INFINITY, 0x7f80);
    assert_bf16(DBL_TRUE_MIN, 0);
    assert_true(isnan(tn_bf16_to_f32(f64_to_bf16((double)NAN))));
}

/* A NaN whose upper bits are all zero would become infinity if they alone were kept. */
static void test_every_nan_stays_one(void **state) {
    (void)state;
    for (uint32_t bit = 0; bit < 23; bit++) {
        const uint32_t bits = 0x7f800000u | 1u << bit;
        float value;
        memcpy(&value, &bits, sizeof(value));
        assert_true(isnan(tn_bf16_to_f32(tn_f32_to_bf16(value))));
        assert_true(isnan(tn_f16_to_f32(tn_f32_to_f16(value))));
        assert_true(isnan(tn_bf16_to_f32(tn_f32_to_bf16(-value))));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_f16_is_read_right),
        cmocka_unit_test(test_every_bf16_is_read_right),
        cmocka_unit_test(test_every_pattern_comes_back),
        cmocka_unit_test(test_f16_is_rounded_to_nearest_even),
        cmocka_unit_test(test_bf16_is_rounded_to_nearest_even),
        cmocka_unit_test(test_every_nan_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
