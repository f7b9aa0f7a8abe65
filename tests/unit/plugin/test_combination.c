/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations: what their texts mean, what they match, and where a wrong one is wrong. */
#include "plugin/fields/combination.h"

#include "test.h"

static int setup(void **state) {
    return tn_arena_create(tn_allocator_default(), (tn_arena **)state) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    tn_arena_destroy(*state);
    return 0;
}

static void test_ports_and_formats_are_read(void **state) {
    tn_combination it;
    assert_int_equal(tn_combination_parse(*state, "f32:c16, f32|f16, i64? -> *:nhwc", 0, &it),
                     TN_OK);
    assert_int_equal(it.input_count, 3);
    assert_int_equal(it.output_count, 1);
    assert_int_equal(it.inputs[0].format, TN_C16);
    assert_int_equal(it.inputs[1].format, TN_LINEAR);
    assert_int_equal(it.inputs[1].types, TN_TYPE_BIT(TN_F32) | TN_TYPE_BIT(TN_F16));
    assert_true(it.inputs[2].is_optional);
    assert_false(it.inputs[0].is_optional);
    assert_int_equal(it.outputs[0].format, TN_NHWC);
    assert_null(tn_combination_input(&it, 3));
}

static void test_strided_ports_are_read(void **state) {
    tn_combination it;
    assert_int_equal(
        tn_combination_parse(*state, "*:strided, f32:nhwc:strided?, f32 -> f32:strided...", 0, &it),
        TN_OK);
    assert_true(it.inputs[0].is_strided && it.inputs[0].format == TN_LINEAR);
    assert_true(it.inputs[1].is_strided && it.inputs[1].format == TN_NHWC);
    assert_true(it.inputs[1].is_optional);
    assert_false(it.inputs[2].is_strided);
    assert_true(tn_combination_output(&it, 5)->is_strided);
    const char *const wrong[] = {"f32:strided:nhwc -> f32", "f32:strided:strided -> f32",
                                 "f32:nhwc:wide -> f32", "i4:strided -> i4"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(tn_combination_parse(*state, wrong[i], 0, &it), TN_ERROR_PLUGIN);
}

static void test_counted_ports_are_read(void **state) {
    tn_combination it;
    assert_int_equal(
        tn_combination_parse(
            *state, "*:counted, f32:nhwc:strided:counted?, i4:counted -> f32:strided:counted...", 0,
            &it),
        TN_OK);
    assert_true(it.inputs[0].is_counted && !it.inputs[0].is_strided);
    assert_true(it.inputs[1].is_counted && it.inputs[1].is_strided);
    assert_true(it.inputs[1].format == TN_NHWC && it.inputs[1].is_optional);
    assert_true(it.inputs[2].is_counted);
    assert_true(tn_combination_output(&it, 5)->is_counted);
    const char *const wrong[] = {"f32:counted:strided -> f32", "f32:counted:counted -> f32",
                                 "f32:counted:nhwc -> f32", "f32:count -> f32"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(tn_combination_parse(*state, wrong[i], 0, &it), TN_ERROR_PLUGIN);
}

static bool matches(void **state, const char *text, uint32_t inputs, const tn_type *input_types,
                    tn_type output) {
    tn_combination it;
    assert_int_equal(tn_combination_parse(*state, text, 0, &it), TN_OK);
    return tn_combination_matches(&it, inputs, input_types, 1, &output);
}

static void test_types_are_matched(void **state) {
    const tn_type floats[] = {TN_F32, TN_F32}, mixed[] = {TN_F32, TN_F16};
    const tn_type without[] = {TN_F32, TN_NONE};
    assert_true(matches(state, "f32, f32 -> f32", 2, floats, TN_F32));
    assert_false(matches(state, "f32, f32 -> f32", 2, mixed, TN_F32));
    assert_false(matches(state, "f32, f32 -> f16", 2, floats, TN_F32));
    assert_true(matches(state, "f32, f32? -> f32", 2, without, TN_F32));
    assert_false(matches(state, "f32, f32 -> f32", 2, without, TN_F32));
    assert_true(matches(state, "f32|f16, f32|f16 -> f32|f16", 2, floats, TN_F32));
    /* ports that list the same set have the same type */
    assert_false(matches(state, "f32|f16, f32|f16 -> f32|f16", 2, mixed, TN_F32));
    assert_false(matches(state, "f32|f16, f32|f16 -> f32|f16", 2, floats, TN_F16));
    assert_true(matches(state, "f32|f16, f16 -> f32|f16", 2, mixed, TN_F32));
}

static void test_the_last_port_repeats(void **state) {
    const tn_type three[] = {TN_F32, TN_I8, TN_I8};
    assert_true(matches(state, "f32, i8... -> f32", 3, three, TN_F32));
    assert_true(matches(state, "f32, i8... -> f32", 2, three, TN_F32));
    assert_false(matches(state, "f32, i8 -> f32", 3, three, TN_F32));
    assert_false(matches(state, "f32... -> f32", 3, three, TN_F32));
}

static void test_wrong_texts_are_refused_with_the_column(void **state) {
    static const struct {
        const char *text, *part;
    } cases[] = {{"", "column 1"},
                 {"f32", "column 4"},
                 {"f99 -> f32", "column 1"},
                 {"f32, -> f32", "column 6"},
                 {"f32:c17 -> f32", "column 5"},
                 {"f32 -> f32 f32", "column 12"},
                 {"f32.. -> f32", "column 4"},
                 {"f32|| -> f32", "column 1"},
                 {"f32..., f32 -> f32", "column 7"}};
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        tn_combination it = {.input_count = 77};
        assert_failed(tn_combination_parse(*state, cases[i].text, 0, &it), TN_ERROR_PLUGIN,
                      cases[i].part);
        assert_int_equal(it.input_count, 77);
    }
}

/* As many combinations as there are formats, the same one at all ports that list the same. */
static void test_lists_of_formats_are_written_out(void **state) {
    static const char *const texts[] = {"f32|f16:linear|nhwc:strided, i64? -> f32|f16:linear|nhwc?",
                                        "f32:c8 -> f32",
                                        "f32:c8|c16, f32:nhwc|c4 -> f32:c8|c16..."};
    static const char *const expected[] = {"f32|f16:strided, i64? -> f32|f16?",
                                           "f32|f16:nhwc:strided, i64? -> f32|f16:nhwc?",
                                           "f32:c8 -> f32",
                                           "f32:c8, f32:nhwc -> f32:c8...",
                                           "f32:c8, f32:c4 -> f32:c8...",
                                           "f32:c16, f32:nhwc -> f32:c16...",
                                           "f32:c16, f32:c4 -> f32:c16..."};
    const char *const *made = NULL;
    uint32_t count = 0;
    tn_combination it;
    assert_int_equal(tn_combination_expand(*state, texts, 3, 7, &made, &count), TN_OK);
    assert_int_equal(count, 7);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(made[i], expected[i]);
        assert_int_equal(tn_combination_parse(*state, made[i], 0, &it), TN_OK);
    }
    assert_failed(tn_combination_expand(*state, texts, 3, 6, &made, &count), TN_ERROR_PLUGIN,
                  "more than 6");
    assert_int_equal(tn_combination_expand(*state, texts + 1, 1, 6, &made, &count), TN_OK);
    assert_ptr_equal(made, texts + 1);
    static const char *const wrong[] = {"f32:nhwc| -> f32", "f32:nhwc|wide -> f32"};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(tn_combination_expand(*state, wrong + i, 1, 6, &made, &count), TN_OK);
        assert_int_equal(count, 2);
        assert_failed(tn_combination_parse(*state, made[1], 0, &it), TN_ERROR_PLUGIN, "column");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ports_and_formats_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strided_ports_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counted_ports_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_types_are_matched, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_last_port_repeats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lists_of_formats_are_written_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_texts_are_refused_with_the_column, setup,
                                        teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
