/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: the table of names and sizes, sets of types, single elements. */
#include "tensor/type.h"

#include "test.h"

#include <math.h>

static void test_types_have_names_and_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        tn_type type;
        size_t bytes;
    } rows[] = {{"f64", TN_F64, 8},  {"f32", TN_F32, 4}, {"f16", TN_F16, 2}, {"bf16", TN_BF16, 2},
                {"i64", TN_I64, 8},  {"i32", TN_I32, 4}, {"i16", TN_I16, 2}, {"i8", TN_I8, 1},
                {"u64", TN_U64, 8},  {"u32", TN_U32, 4}, {"u16", TN_U16, 2}, {"u8", TN_U8, 1},
                {"bool", TN_BOOL, 1}};
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        assert_true(tn_type_is_valid(rows[i].type));
        assert_string_equal(tn_type_name(rows[i].type), rows[i].name);
        assert_int_equal(tn_type_bytes(rows[i].type), rows[i].bytes);
        assert_int_equal(tn_type_bits(rows[i].type), rows[i].bytes * 8);
        assert_int_equal(tn_type_parse(rows[i].name, strlen(rows[i].name)), rows[i].type);
        assert_int_equal(tn_type_parse(rows[i].name, strlen(rows[i].name) - 1), TN_NONE);
    }
    assert_int_equal(tn_type_parse("f32x", 3), TN_F32); /* the length counts */
    assert_int_equal(tn_type_parse("none", 4), TN_NONE);
    assert_int_equal(tn_type_parse("", 0), TN_NONE);
}

static void test_unknown_types_are_nothing(void **state) {
    (void)state;
    static const tn_type unknown[] = {TN_TYPE_COUNT, 63, 64, 255, UINT32_MAX};
    assert_false(tn_type_is_valid(TN_NONE));
    assert_string_equal(tn_type_name(TN_NONE), "none");
    for (size_t i = 0; i < TEST_COUNT(unknown); i++) {
        assert_false(tn_type_is_valid(unknown[i]));
        assert_string_equal(tn_type_name(unknown[i]), "unknown");
        assert_int_equal(tn_type_bytes(unknown[i]), 0);
        assert_false(tn_type_is_float(unknown[i]) || tn_type_is_integer(unknown[i]) ||
                     tn_type_is_signed(unknown[i]));
    }
}

static tn_type_set parse_set(const char *text) {
    return tn_type_set_parse(text, strlen(text), 0);
}

static void test_sets_are_parsed(void **state) {
    (void)state;
    const tn_type_set floats =
        TN_TYPE_BIT(TN_F64) | TN_TYPE_BIT(TN_F32) | TN_TYPE_BIT(TN_F16) | TN_TYPE_BIT(TN_BF16);
    const tn_type_set any = (TN_TYPE_BIT(TN_BOOL + 1) - 1) & ~TN_TYPE_BIT(TN_NONE);
    assert_int_equal(parse_set("f32"), TN_TYPE_BIT(TN_F32));
    assert_int_equal(parse_set("f32|i8"), TN_TYPE_BIT(TN_F32) | TN_TYPE_BIT(TN_I8));
    assert_int_equal(parse_set("float"), floats);
    assert_int_equal(parse_set("any"), any);
    assert_int_equal(parse_set("number"), any & ~TN_TYPE_BIT(TN_BOOL));
    assert_int_equal(parse_set("float|integer"), parse_set("number"));
    assert_int_equal(parse_set("float|integer|bool"), any);
    for (tn_type type = 1; type <= TN_BOOL; type++) {
        assert_int_equal((parse_set("integer") & TN_TYPE_BIT(type)) != 0, tn_type_is_integer(type));
        assert_int_equal((parse_set("signed") & TN_TYPE_BIT(type)) != 0, tn_type_is_signed(type));
        assert_int_equal((floats & TN_TYPE_BIT(type)) != 0, tn_type_is_float(type));
    }
    assert_false(tn_type_is_integer(TN_BOOL));
    assert_false(tn_type_is_signed(TN_U8));
}

static void test_sets_that_are_not_well_formed_are_empty(void **state) {
    (void)state;
    static const char *const texts[] = {"",        "|",   "f32|", "|f32",    "f32||f16",
                                        "f32,f16", "f33", "none", "f32 |i8", "Float"};
    for (size_t i = 0; i < TEST_COUNT(texts); i++)
        if (parse_set(texts[i]) != 0) fail_msg("'%s' is a set", texts[i]);
}

static int64_t stored_i64(tn_type type, double value) {
    uint64_t stored = UINT64_MAX;
    tn_element_set_f64(&stored, type, 0, value);
    return tn_element_get_i64(&stored, type, 0);
}

static void test_floats_are_stored_as_the_nearest_integer(void **state) {
    (void)state;
    assert_int_equal(stored_i64(TN_I32, 2.5), 2);
    assert_int_equal(stored_i64(TN_I32, 3.5), 4);
    assert_int_equal(stored_i64(TN_I32, -2.5), -2);
    assert_int_equal(stored_i64(TN_I8, 1000), 127);
    assert_int_equal(stored_i64(TN_I8, -1000), -128);
    assert_int_equal(stored_i64(TN_U8, -3), 0);
    assert_int_equal(stored_i64(TN_U8, 255.4), 255);
    assert_int_equal(stored_i64(TN_U16, 70000), 65535);
    assert_int_equal(stored_i64(TN_I16, -70000), -32768);
    assert_int_equal(stored_i64(TN_U32, 1e300), UINT32_MAX);
    assert_int_equal(stored_i64(TN_I64, 0x1p63), INT64_MAX);
    assert_int_equal(stored_i64(TN_I64, -INFINITY), INT64_MIN);
    assert_int_equal(stored_i64(TN_I64, (double)NAN), 0);
    assert_int_equal(stored_i64(TN_U64, (double)NAN), 0);
    assert_int_equal(stored_i64(TN_BOOL, 0.25), 1);
    assert_int_equal(stored_i64(TN_BOOL, -0.0), 0);
    uint64_t stored = 0;
    tn_element_set_f64(&stored, TN_U64, 0, 0x1p64);
    assert_true(stored == UINT64_MAX);
    tn_element_set_f64(&stored, TN_U64, 0, 0x1p63 + 2048);
    assert_true(stored == (UINT64_C(1) << 63) + 2048);
    assert_true(tn_element_get_f64(&stored, TN_U64, 0) == 0x1p63 + 2048);
    assert_int_equal(tn_element_get_i64(&stored, TN_U64, 0), INT64_MAX);
}

static void test_elements_come_back_at_their_index(void **state) {
    (void)state;
    for (tn_type type = 1; type <= TN_BOOL; type++) {
        uint64_t memory[5] = {0};
        const size_t bytes = tn_type_bytes(type);
        tn_element_set_f64(memory, type, 1, 1);
        tn_element_set_i64(memory, type, 3, 1);
        for (size_t i = 0; i < 5; i++) {
            assert_true(tn_element_get_f64(memory, type, i) == (i % 2 ? 1 : 0));
            assert_int_equal(tn_element_get_i64(memory, type, i), i % 2);
        }
        tn_element_set_i64(memory, type, 1, 0);
        tn_element_set_f64(memory, type, 3, 0);
        for (size_t i = 0; i < 5 * bytes; i++)
            assert_int_equal(((unsigned char *)memory)[i], 0);
    }
}

static void test_integers_saturate(void **state) {
    (void)state;
    uint64_t stored = 0;
    tn_element_set_i64(&stored, TN_I8, 0, 200);
    assert_int_equal(tn_element_get_i64(&stored, TN_I8, 0), 127);
    tn_element_set_i64(&stored, TN_U32, 0, -1);
    assert_int_equal(tn_element_get_i64(&stored, TN_U32, 0), 0);
    tn_element_set_i64(&stored, TN_U64, 0, INT64_MIN);
    assert_int_equal(stored, 0);
    tn_element_set_i64(&stored, TN_I32, 0, INT64_MIN);
    assert_int_equal(tn_element_get_i64(&stored, TN_I32, 0), INT32_MIN);
    tn_element_set_i64(&stored, TN_BOOL, 0, 256);
    assert_int_equal(tn_element_get_i64(&stored, TN_BOOL, 0), 1);
    const float large = 1e30f, not_a_number = NAN;
    assert_int_equal(tn_element_get_i64(&large, TN_F32, 0), INT64_MAX);
    assert_int_equal(tn_element_get_i64(&not_a_number, TN_F32, 0), 0);
    const float cut = -2.9f;
    assert_int_equal(tn_element_get_i64(&cut, TN_F32, 0), -2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_have_names_and_sizes),
        cmocka_unit_test(test_unknown_types_are_nothing),
        cmocka_unit_test(test_sets_are_parsed),
        cmocka_unit_test(test_sets_that_are_not_well_formed_are_empty),
        cmocka_unit_test(test_floats_are_stored_as_the_nearest_integer),
        cmocka_unit_test(test_elements_come_back_at_their_index),
        cmocka_unit_test(test_integers_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
