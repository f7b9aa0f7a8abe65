/* SPDX-License-Identifier: Apache-2.0 */
/* The text of calibration tables: every header, names with colons, odd values, damage, round trips,
 * no memory. */
#include "calibrate/calibration_file.h"

#include "program/calibration_table.h"

#include <math.h>
#include <unistd.h>

#include "test.h"

typedef struct file_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    char path[64];
} file_test;

static int setup(void **state) {
    file_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test->allocator.functions,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    snprintf(test->path, sizeof(test->path), "calibration-test.%ld.cache", (long)getpid());
    *state = test;
    return tn_runtime_create(&options, &test->runtime) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    file_test *test = *state;
    unlink(test->path);
    tn_runtime_release(test->runtime);
    const int64_t left = test->allocator.live;
    free(test);
    return left == 0 ? 0 : -1;
}

static tn_status parse(file_test *test, const char *text, tn_calibration **out_table) {
    return tn_calibration_file_parse(test->runtime, text, strlen(text), out_table);
}

static float scale_of(const tn_calibration *table, const char *tensor) {
    float scale = NAN;
    if (!tn_calibration_find(table, tensor, &scale)) return -1;
    return scale;
}

static void test_reads_every_header(void **state) {
    static const char *const headers[] = {"TRT-8502-EntropyCalibration2",
                                          "TRT-100300-EntropyCalibration2",
                                          "TRT-5100-EntropyCalibration",
                                          "TRT-7103-MinMaxCalibration",
                                          "TRT-8XXX-EntropyCalibration2",
                                          "TRT-8600-LegacyCalibration",
                                          "03ff00000000000003feffffde7210be9",
                                          "1",
                                          "some other tool's words"};
    for (size_t i = 0; i < TEST_COUNT(headers); i++) {
        char text[128];
        tn_calibration *table = NULL;
        snprintf(text, sizeof(text), "%s\ndata: 3c008102\n", headers[i]);
        assert_int_equal(parse(*state, text, &table), TN_OK);
        assert_string_equal(tn_calibration_table_header(table), headers[i]);
        assert_int_equal(tn_calibration_count(table), 1);
        assert_true(fabs((double)scale_of(table, "data") - 0.00784325786) < 1e-10);
        tn_calibration_destroy(table);
    }
}

static void test_splits_at_the_last_colon_and_keeps_names_as_they_are(void **state) {
    tn_calibration *table = NULL;
    assert_int_equal(parse(*state,
                           "TRT-8600-EntropyCalibration2\r\n"
                           "(Unnamed Layer* 4) [Fully Connected]_output: 3d65992f\r\n"
                           "\r\n"
                           "/conv1/Conv_output_0: 3F9DB09C  \n"
                           "input:0:3f800000\n"
                           "a::b:\t40000000\n"
                           "last: 3f000000",
                           &table),
                     TN_OK);
    assert_int_equal(tn_calibration_count(table), 5);
    assert_true(scale_of(table, "(Unnamed Layer* 4) [Fully Connected]_output") > 0.05f);
    assert_true(scale_of(table, "/conv1/Conv_output_0") > 1.2f);
    assert_true(scale_of(table, "input:0") == 1.0f);
    assert_true(scale_of(table, "a::b") == 2.0f);
    assert_true(scale_of(table, "last") == 0.5f);
    tn_calibration_destroy(table);
}

static void test_odd_values_mean_no_range(void **state) {
    tn_calibration *table = NULL;
    assert_int_equal(parse(*state,
                           "TRT-8600-EntropyCalibration2\n"
                           "infinite: 7f800000\nzero: 0\nnan: 7fc00000\nnegative: bf800000\n"
                           "short: 1\ntwice: 3f800000\ntwice: 40000000\n",
                           &table),
                     TN_OK);
    assert_int_equal(tn_calibration_count(table), 6);
    assert_true(scale_of(table, "infinite") == -1);
    assert_true(scale_of(table, "zero") == -1);
    assert_true(scale_of(table, "nan") == -1);
    assert_true(scale_of(table, "negative") == -1);
    assert_true(scale_of(table, "short") > 0 && scale_of(table, "short") < 1e-44f);
    assert_true(scale_of(table, "twice") == 2.0f);
    tn_calibration_destroy(table);
}

typedef struct bad_text {
    const char *text, *message;
} bad_text;

static void test_says_the_line_of_what_is_wrong(void **state) {
    static const bad_text bad[] = {
        {"", "without a line"},
        {"\n\r\n \n", "without a line"},
        {"data: 3c008102\n", "line 1 of a calibration table: expected a header"},
        {"hello\n", "no entry follows"},
        {"TRT-8600-EntropyCalibration2\ndata 3c008102\n", "line 2"},
        {"TRT-8600-EntropyCalibration2\n\n\ndata: 3c008102\nconv1:\n", "line 5"},
        {"TRT-8600-EntropyCalibration2\ndata: 3c0081021\n", "1 to 8 hexadecimal digits"},
        {"TRT-8600-EntropyCalibration2\ndata: 4.65\n", "found 'data: 4.65'"},
        {"TRT-8600-EntropyCalibration2\ndata: 3c 08\n", "1 to 8 hexadecimal digits"},
        {"TRT-8600-EntropyCalibration2\n: 3c008102\n", "without a tensor's name"},
    };
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        tn_calibration *table = NULL;
        assert_failed(parse(*state, bad[i].text, &table), TN_ERROR_FORMAT, bad[i].message);
        assert_null(table);
    }
    tn_calibration *table = NULL;
    file_test *test = *state;
    assert_failed(tn_calibration_file_parse(test->runtime, "TRT-\0a: 1\n", 10, &table),
                  TN_ERROR_FORMAT, "zero byte");
}

static void read_text(const char *path, char *text, size_t bytes) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(text, 1, bytes - 1, file);
    text[length] = 0;
    fclose(file);
}

static void test_writes_sorted_entries_and_reads_them_again(void **state) {
    file_test *test = *state;
    tn_calibration *table = NULL, *again = NULL;
    char text[256];
    assert_int_equal(tn_calibration_create(test->runtime, &table), TN_OK);
    assert_int_equal(tn_calibration_set(table, "pool 1", 0.0268051028f), TN_OK);
    assert_int_equal(tn_calibration_set(table, "input:0", 1.0f), TN_OK);
    assert_int_equal(tn_calibration_set(table, "conv", INFINITY), TN_OK);
    assert_int_equal(tn_calibration_write(table, test->path), TN_OK);
    read_text(test->path, text, sizeof(text));
    assert_string_equal(text, "TRT-8600-EntropyCalibration2\nconv: 7f800000\ninput:0: 3f800000\n"
                              "pool 1: 3cdb9660\n");
    assert_int_equal(tn_calibration_table_set_header(table, "TRT-8600-MinMaxCalibration"), TN_OK);
    assert_int_equal(tn_calibration_write(table, test->path), TN_OK);
    assert_int_equal(tn_calibration_read(test->runtime, test->path, &again), TN_OK);
    assert_string_equal(tn_calibration_table_header(again), "TRT-8600-MinMaxCalibration");
    assert_true(scale_of(again, "pool 1") == 0.0268051028f);
    assert_int_equal(tn_calibration_count(again), 3);
    tn_calibration_destroy(again);
    tn_calibration_destroy(table);
}

static void test_refuses_what_cannot_be_written_or_read(void **state) {
    file_test *test = *state;
    tn_calibration *table = NULL, *again = NULL;
    assert_int_equal(tn_calibration_create(test->runtime, &table), TN_OK);
    assert_failed(tn_calibration_write(table, "no/such/folder/table"), TN_ERROR_NOT_FOUND,
                  "no/such");
    assert_int_equal(tn_calibration_set(table, "two\nlines", 1), TN_OK);
    assert_failed(tn_calibration_write(table, test->path), TN_ERROR_ARGUMENT, "line's end");
    assert_int_not_equal(access(test->path, F_OK), 0);
    assert_failed(tn_calibration_write(NULL, test->path), TN_ERROR_ARGUMENT, "path");
    assert_failed(tn_calibration_read(test->runtime, test->path, &again), TN_ERROR_NOT_FOUND,
                  test->path);
    assert_failed(tn_calibration_read(test->runtime, NULL, &again), TN_ERROR_ARGUMENT, "path");
    tn_calibration_destroy(table);
}

/* Reads and writes with each allocation refused in turn. */
static tn_status read_and_write(file_test *test) {
    tn_calibration *table = NULL;
    tn_status status =
        parse(test, "TRT-8600-EntropyCalibration2\na: 3f800000\nb: 3f800000\n", &table);
    if (status == TN_OK) status = tn_calibration_write(table, test->path);
    tn_calibration_destroy(table);
    return status;
}

static void test_each_refused_allocation_is_an_error_and_nothing_leaks(void **state) {
    file_test *test = *state;
    for (uint64_t n = 1;; n++) {
        const int64_t before = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + n;
        const tn_status status = read_and_write(test);
        const bool was_refused = test->allocator.allocations >= test->allocator.fail_at;
        test->allocator.fail_at = 0;
        assert_int_equal(test->allocator.live, before);
        if (!was_refused) {
            assert_int_equal(status, TN_OK);
            break;
        }
        /* A folder that cannot be synchronised for lack of memory is no failure. */
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
    }
}

#define FILE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_reads_every_header),
        FILE_TEST(test_splits_at_the_last_colon_and_keeps_names_as_they_are),
        FILE_TEST(test_odd_values_mean_no_range),
        FILE_TEST(test_says_the_line_of_what_is_wrong),
        FILE_TEST(test_writes_sorted_entries_and_reads_them_again),
        FILE_TEST(test_refuses_what_cannot_be_written_or_read),
        FILE_TEST(test_each_refused_allocation_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
