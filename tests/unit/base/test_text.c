/* SPDX-License-Identifier: Apache-2.0 */
/* The growing text, JSON strings, and the nearest name. */
#include "base/text.h"

#include "test.h"

static void test_text_grows_and_is_taken(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    tn_text text;
    char *taken;
    tn_text_init(&text, &memory.functions);
    for (int i = 0; i < 1000; i++) {
        tn_text_add(&text, "n");
        tn_text_add_format(&text, "%03d", i);
    }
    assert_int_equal(text.length, 4000);
    assert_int_equal(tn_text_take(&text, &taken), TN_OK);
    assert_int_equal(strlen(taken), 4000);
    assert_memory_equal(taken, "n000n001", 8);
    assert_string_equal(taken + 3992, "n998n999");
    assert_null(text.data);
    assert_int_equal(text.length, 0);
    tn_deallocate(&memory.functions, taken);
    assert_int_equal(tn_text_take(&text, &taken), TN_OK);
    assert_string_equal(taken, "");
    tn_deallocate(&memory.functions, taken);
    tn_text_deinit(&text);
    assert_int_equal(memory.live, 0);
}

static void test_text_is_whole_or_failed(void **state) {
    (void)state;
    failing_allocator memory;
    failing_allocator_init(&memory);
    uint64_t failed = 0;
    for (bool is_done = false; !is_done; failed += !is_done) {
        tn_text text;
        char *taken = NULL;
        tn_text_init(&text, &memory.functions);
        memory.fail_at = memory.allocations + failed + 1;
        for (int i = 0; i < 100; i++)
            tn_text_add_format(&text, "%d,", i);
        tn_text_add_json(&text, "\"");
        const tn_status status = tn_text_take(&text, &taken);
        is_done = status == TN_OK;
        assert_int_equal(status, taken ? TN_OK : TN_ERROR_MEMORY);
        if (taken) assert_memory_equal(taken, "0,1,2,3,", 8);
        tn_deallocate(&memory.functions, taken);
        tn_text_deinit(&text);
        assert_int_equal(memory.live, 0);
    }
    assert_true(failed >= 2);
}

static void assert_json(const char *piece, const char *expected) {
    tn_text text;
    tn_text_init(&text, tn_allocator_default());
    tn_text_add_json(&text, piece);
    assert_string_equal(text.data, expected);
    tn_text_deinit(&text);
}

static void test_json_strings_are_escaped(void **state) {
    (void)state;
    assert_json("", "\"\"");
    assert_json("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    assert_json("\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\x7f\"");
    assert_json("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
                "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

static void test_json_replaces_what_is_not_utf8(void **state) {
    (void)state;
    assert_json("\xff", "\"\\ufffd\"");
    assert_json("a\xc3", "\"a\\ufffd\"");                                  /* cut off */
    assert_json("\xe2\x82", "\"\\ufffd\\ufffd\"");                         /* cut off */
    assert_json("\xc0\xaf", "\"\\ufffd\\ufffd\"");                         /* longer than needed */
    assert_json("\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"");              /* longer than needed */
    assert_json("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");              /* a surrogate */
    assert_json("\xf4\x90\x80\x80z", "\"\\ufffd\\ufffd\\ufffd\\ufffdz\""); /* above U+10FFFF */
    assert_json("\x80", "\"\\ufffd\"");
}

static void test_distance_counts_edits(void **state) {
    (void)state;
    assert_int_equal(tn_text_distance("Conv", "Conv", 9), 0);
    assert_int_equal(tn_text_distance("Conv", "Convs", 9), 1);
    assert_int_equal(tn_text_distance("kitten", "sitting", 9), 3);
    assert_int_equal(tn_text_distance("sitting", "kitten", 9), 3);
    assert_int_equal(tn_text_distance("", "abc", 9), 3);
    assert_int_equal(tn_text_distance("kitten", "sitting", 2), 2);
    assert_int_equal(tn_text_distance("a", "abcdefgh", 4), 4);
    char large[1000];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = 0;
    assert_int_equal(tn_text_distance(large, large, 5), 0);
    assert_int_equal(tn_text_distance(large, large + 1, 5), 5);
}

static const char *nearest_of(const char *wanted, const char *const *names, size_t count) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, wanted);
    for (size_t i = 0; i < count; i++)
        tn_nearest_offer(&nearest, names[i]);
    return nearest.best;
}

static void test_the_nearest_name_is_found_when_it_is_a_slip(void **state) {
    (void)state;
    static const char *const names[] = {"Conv", "ConvTranspose", "Relu", "Softmax", "Gemm"};
    assert_string_equal(nearest_of("Cov", names, 5), "Conv");
    assert_string_equal(nearest_of("SoftMax", names, 5), "Softmax");
    assert_string_equal(nearest_of("ConvTranpose", names, 5), "ConvTranspose");
    assert_null(nearest_of("Quantize", names, 5));
    assert_null(nearest_of("Relu", names, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_grows_and_is_taken),
        cmocka_unit_test(test_text_is_whole_or_failed),
        cmocka_unit_test(test_json_strings_are_escaped),
        cmocka_unit_test(test_json_replaces_what_is_not_utf8),
        cmocka_unit_test(test_distance_counts_edits),
        cmocka_unit_test(test_the_nearest_name_is_found_when_it_is_a_slip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
