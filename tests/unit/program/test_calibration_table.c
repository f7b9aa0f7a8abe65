/* SPDX-License-Identifier: Apache-2.0 */
/* The table of scales: setting, finding, listing, scales that mean no range, no memory. */
#include "program/calibration_table.h"

#include <math.h>
#include <tenon/runtime.h>

#include "test.h"

typedef struct table_test {
    failing_allocator allocator;
    tn_runtime *runtime;
} table_test;

static int setup(void **state) {
    table_test *test = calloc(1, sizeof *test);
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    tn_runtime_options options = {.size = sizeof options,
                                  .allocator = &test->allocator.functions,
                                  .flags = TN_RUNTIME_NO_ENVIRONMENT};
    *state = test;
    return tn_runtime_create(&options, &test->runtime) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    table_test *test = *state;
    tn_runtime_release(test->runtime);
    int64_t left = test->allocator.live;
    free(test);
    return left == 0 ? 0 : -1;
}

static void test_finds_what_was_set_and_lists_it_in_order(void **state) {
    table_test *test = *state;
    tn_calibration *table = NULL;
    const char *name = NULL;
    float scale = -1;
    assert_int_equal(tn_calibration_create(test->runtime, &table), TN_OK);
    char buffer[] = "conv1: 0";
    assert_int_equal(tn_calibration_set(table, buffer, 0.5f), TN_OK);
    assert_int_equal(tn_calibration_set(table, "pool", 0.25f), TN_OK);
    assert_int_equal(tn_calibration_set(table, "conv1: 0", 2.0f), TN_OK);
    buffer[0] = 'x'; /* names are copied */
    assert_true(tn_calibration_find(table, "conv1: 0", &scale));
    assert_true(scale == 2.0f);
    assert_false(tn_calibration_find(table, "conv", &scale));
    assert_true(scale == 2.0f);
    assert_int_equal(tn_calibration_count(table), 2);
    assert_true(tn_calibration_entry(table, 1, &name, &scale));
    assert_string_equal(name, "pool");
    assert_true(scale == 0.25f);
    assert_false(tn_calibration_entry(table, 2, &name, &scale));
    tn_calibration_destroy(table);
}

static void test_keeps_scales_that_mean_no_range_and_does_not_find_them(void **state) {
    const float scales[] = {0, -1, NAN, INFINITY, -INFINITY};
    table_test *test = *state;
    tn_calibration *table = NULL;
    const char *name = NULL;
    float scale = 7;
    assert_int_equal(tn_calibration_create(test->runtime, &table), TN_OK);
    for (size_t i = 0; i < TEST_COUNT(scales); i++) {
        assert_int_equal(tn_calibration_set(table, "t", scales[i]), TN_OK);
        assert_false(tn_calibration_find(table, "t", &scale));
        assert_true(scale == 7);
    }
    assert_true(tn_calibration_entry(table, 0, &name, &scale));
    assert_true(scale == -INFINITY);
    tn_calibration_destroy(table);
}

static void test_refuses_missing_arguments(void **state) {
    table_test *test = *state;
    tn_calibration *table = NULL;
    float scale = 0;
    assert_failed(tn_calibration_create(NULL, &table), TN_ERROR_ARGUMENT, "runtime");
    assert_failed(tn_calibration_create(test->runtime, NULL), TN_ERROR_ARGUMENT, "pointer");
    assert_failed(tn_calibration_set(NULL, "t", 1), TN_ERROR_ARGUMENT, "table");
    assert_false(tn_calibration_find(NULL, "t", &scale));
    assert_int_equal(tn_calibration_count(NULL), 0);
    tn_calibration_destroy(NULL);
}

static tn_status fill(tn_runtime *runtime) {
    tn_calibration *table = NULL;
    tn_status status = tn_calibration_create(runtime, &table);
    for (int i = 0; status == TN_OK && i < 40; i++) {
        char name[24];
        snprintf(name, sizeof name, "tensor%d", i);
        status = tn_calibration_set(table, name, 1);
    }
    tn_calibration_destroy(table);
    return status;
}

static void test_each_refused_allocation_is_an_error(void **state) {
    table_test *test = *state;
    tn_status status = TN_ERROR_MEMORY;
    int failures = 0;
    for (uint64_t at = 1; status != TN_OK; at++) {
        test->allocator.fail_at = test->allocator.allocations + at;
        status = fill(test->runtime);
        test->allocator.fail_at = 0;
        failures += status == TN_ERROR_MEMORY;
        assert_true(status == TN_OK || status == TN_ERROR_MEMORY);
    }
    assert_true(failures > 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_finds_what_was_set_and_lists_it_in_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_keeps_scales_that_mean_no_range_and_does_not_find_them,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses_missing_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_refused_allocation_is_an_error, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
