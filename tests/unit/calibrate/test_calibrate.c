/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration of small networks: scales by name, the report, odd networks, inputs that are wrong in
 * each respect, stopping, no memory. */
#include "batches.h"

#include "program/calibration_table.h"

static tn_tensor_id batch_input(run_test *test, const char *name) {
    return add_input(test->graph, name, TN_F32, 2, EXTENTS(-1, BATCH_EXTENT));
}

/* x -> Step "a" -> Gain "b" -> Sum with a "y" */
static void small_network(run_test *test) {
    const tn_tensor_id x = batch_input(test, "x");
    const tn_tensor_id a = run_unary(test->graph, "Step", "step", x);
    const tn_tensor_id b = run_unary(test->graph, "Gain", "gain", a);
    run_output(test->graph, run_node(test->graph, "Sum", "sum", 2, TENSORS(b, a)), "y");
}

static tn_status calibrate_by(run_test *test, test_batches *batches, uint32_t calibrator,
                              tn_calibration **out_table, char **out_report) {
    const tn_builder_options build = {.size = sizeof(build), .threads = 1};
    const tn_calibrate_options options = {.size = sizeof(options),
                                          .calibrator = calibrator,
                                          .build = &build,
                                          .batches = &batches->batches};
    return tn_calibrate(test->graph, &options, out_table, out_report);
}

static tn_status calibrate(run_test *test, test_batches *batches, tn_calibration **out_table) {
    return calibrate_by(test, batches, TN_CALIBRATOR_MIN_MAX, out_table, NULL);
}

static double scale_of(const tn_calibration *table, const char *tensor) {
    float scale = -1;
    return tn_calibration_find(table, tensor, &scale) ? (double)scale : -1;
}

static void assert_scale(const tn_calibration *table, const char *tensor, double largest) {
    const double scale = scale_of(table, tensor);
    if (!(fabs(scale * 127 / largest - 1) < 1e-6))
        fail_msg("the scale of '%s' is %g, expected %g", tensor, scale, largest / 127);
}

static const char *name_of_output(const run_test *test, uint32_t node) {
    return test->graph->tensors[test->graph->nodes[node].outputs[0]].name;
}

/* Values go from -9 to 12 over the batches: x; a = x + 1; b = 2 a; y = b + a. */
static void test_finds_the_scale_of_every_tensor_by_its_name(void **state) {
    run_test *test = *state;
    test_batches batches;
    tn_calibration *table = NULL;
    test_batches_init(&batches, 1);
    small_network(test);
    run_must(calibrate(test, &batches, &table));
    assert_int_equal(tn_calibration_count(table), 4);
    assert_scale(table, "x", 12);
    assert_scale(table, name_of_output(test, 0), 13);
    assert_scale(table, name_of_output(test, 1), 26);
    assert_scale(table, name_of_output(test, 2), 39);
    assert_string_equal(tn_calibration_table_header(table), "TRT-8600-MinMaxCalibration");
    assert_int_equal(tn_graph_output_count(test->graph), 1); /* the graph is as it was */
    assert_int_equal(batches.reads, BATCH_COUNT);
    tn_calibration_destroy(table);
}

/* The options of the build that the table is for may be given whole. */
static void test_what_is_said_of_a_lower_precision_changes_nothing(void **state) {
    static const struct {
        uint32_t first, second;
    } precisions[] = {{TN_PRECISION_TF32, 0},
                      {TN_PRECISION_BF16, 0},
                      {TN_PRECISION_F16, 0},
                      {TN_PRECISION_I8, 0},
                      {TN_PRECISION_I8, TN_PRECISION_F16},
                      {TN_PRECISION_I8, TN_PRECISION_BF16}};
    static const char *const keep[] = {"gain"};
    run_test *test = *state;
    test_batches batches;
    test_batches_init(&batches, 1);
    small_network(test);
    for (size_t i = 0; i < TN_COUNT(precisions); i++) {
        for (uint32_t calibrator = 0; calibrator < 3; calibrator++) {
            tn_calibration *table = NULL;
            const tn_builder_options build = {.size = sizeof(build),
                                              .threads = 1,
                                              .precision = precisions[i].first,
                                              .second_precision = precisions[i].second,
                                              .keep = keep,
                                              .keep_count = 1};
            const tn_calibrate_options options = {.size = sizeof(options),
                                                  .calibrator = calibrator,
                                                  .build = &build,
                                                  .batches = &batches.batches};
            run_must(tn_calibrate(test->graph, &options, &table, NULL));
            assert_int_equal(tn_calibration_count(table), 4);
            tn_calibration_destroy(table);
        }
    }
}

static void test_each_calibrator_names_itself_and_reports_every_tensor(void **state) {
    static const char *const headers[] = {
        "TRT-8600-EntropyCalibration2", "TRT-8600-MinMaxCalibration", "TRT-8600-LegacyCalibration"};
    static const char *const names[] = {"\"entropy\"", "\"minmax\"", "\"percentile\""};
    run_test *test = *state;
    test_batches batches;
    test_batches_init(&batches, 1);
    small_network(test);
    for (uint32_t calibrator = 0; calibrator < 3; calibrator++) {
        tn_calibration *table = NULL;
        char *report = NULL;
        run_must(calibrate_by(test, &batches, calibrator, &table, &report));
        assert_string_equal(tn_calibration_table_header(table), headers[calibrator]);
        assert_non_null(strstr(report, names[calibrator]));
        assert_non_null(strstr(report, "{\"tensor\": \"x\", \"node\": null"));
        assert_non_null(strstr(report, "\"node\": \"gain\", \"op\": \"Gain\", \"values\": 3072"));
        assert_non_null(strstr(report, "\"largest\": 26, \"lowest\": -16"));
        assert_true(scale_of(table, "x") > 0);
        tn_text_free(test->runtime, report);
        tn_calibration_destroy(table);
    }
}

static void test_several_inputs_views_and_values_of_other_types(void **state) {
    run_test *test = *state;
    test_batches batches;
    tn_calibration *table = NULL;
    test_batches_init(&batches, 2);
    const tn_tensor_id x = batch_input(test, "x"), y = batch_input(test, "y");
    const tn_tensor_id both = run_node(test->graph, "Sum", "sum", 2, TENSORS(x, y));
    const tn_tensor_id flat = run_unary(test->graph, "Flat", "flat", both);
    const tn_tensor_id ones = run_unary(test->graph, "Ones", "ones", x);
    const tn_tensor_id positive = run_unary(test->graph, "Positive", "positive", flat);
    run_output(test->graph, positive, "z");
    run_output(test->graph, ones, "o");
    run_must(calibrate(test, &batches, &table));
    assert_int_equal(tn_calibration_count(table), 6);
    assert_scale(table, "y", 12);
    assert_scale(table, name_of_output(test, 0), 24);
    assert_scale(table, name_of_output(test, 1), 24);
    tn_calibration_destroy(table);
}

static void test_a_tensor_that_is_zero_throughout_gets_no_scale(void **state) {
    run_test *test = *state;
    test_batches batches;
    tn_calibration *table = NULL;
    char *report = NULL;
    test_batches_init(&batches, 1);
    memset(batches.values, 0, sizeof(batches.values));
    small_network(test);
    run_must(calibrate_by(test, &batches, TN_CALIBRATOR_ENTROPY, &table, &report));
    assert_int_equal(tn_calibration_count(table), 3);
    assert_true(scale_of(table, "x") == -1);
    assert_non_null(strstr(report, "\"scale\": null, \"why\": \"zero throughout\""));
    tn_text_free(test->runtime, report);
    tn_calibration_destroy(table);
}

static void test_names_the_tensor_and_the_input_that_is_not_finite(void **state) {
    run_test *test = *state;
    test_batches batches;
    tn_calibration *table = NULL;
    test_batches_init(&batches, 1);
    small_network(test);
    batches.values[1][2] = NAN;
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_RANGE,
                  "sample input 1 makes element 2 of tensor 'x' not a number");
    batches.values[1][2] = 3e38f;
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_RANGE, "infinite");
    assert_null(table);
}

static void test_refuses_inputs_that_are_not_as_the_graph_says(void **state) {
    run_test *test = *state;
    test_batches batches;
    tn_calibration *table = NULL;
    small_network(test);
    test_batches_init(&batches, 1);
    batches.fail_at = 2;
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_IO, "sample input 2");
    test_batches_init(&batches, 1);
    batches.tensor.type = TN_I32;
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_TYPE, "found i32");
    assert_non_null(strstr(tn_last_error()->where, "sample input 0: input 'x'"));
    test_batches_init(&batches, 1);
    batches.shape[1] = 5;
    assert_int_equal(calibrate(test, &batches, &table), TN_ERROR_SHAPE);
    test_batches_init(&batches, 1);
    batches.tensor.bytes = 4;
    assert_int_equal(calibrate(test, &batches, &table), TN_ERROR_ARGUMENT);
    test_batches_init(&batches, 0);
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_ARGUMENT, "nothing was given");
    assert_null(table);
}

static void test_stops_when_the_caller_says_so(void **state) {
    run_test *test = *state;
    test_batches batches;
    tn_calibration *table = NULL;
    small_network(test);
    test_batches_init(&batches, 1);
    batches.cancel_at = 2;
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_CANCELLED, "at 2 of 3");
    assert_int_equal(batches.reads, 2);
    assert_null(table);
}

static void test_refuses_options_that_make_no_sense(void **state) {
    run_test *test = *state;
    test_batches batches;
    tn_calibration *table = NULL;
    small_network(test);
    test_batches_init(&batches, 1);
    assert_failed(calibrate_by(test, &batches, 3, &table, NULL), TN_ERROR_ARGUMENT,
                  "no calibrator 3");
    batches.batches.count = 0;
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_ARGUMENT, "no sample inputs");
    batches.batches.count = 1;
    batches.batches.read = NULL;
    assert_failed(calibrate(test, &batches, &table), TN_ERROR_ARGUMENT, "`read`");
    const tn_calibrate_options options = {
        .size = sizeof(options), .percentile = 101, .batches = &batches.batches};
    assert_failed(tn_calibrate(test->graph, &options, &table, NULL), TN_ERROR_RANGE, "percentile");
    assert_failed(tn_calibrate(test->graph, NULL, &table, NULL), TN_ERROR_ARGUMENT, "options");
    assert_failed(tn_calibrate(NULL, &options, &table, NULL), TN_ERROR_ARGUMENT, "graph");
}

static void test_each_refused_allocation_is_an_error_and_nothing_leaks(void **state) {
    run_test *test = *state;
    test_batches batches;
    test_batches_init(&batches, 1);
    small_network(test);
    for (uint64_t n = 1;; n++) {
        tn_calibration *table = NULL;
        char *report = NULL;
        const int64_t before = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + n;
        const tn_status status =
            calibrate_by(test, &batches, TN_CALIBRATOR_PERCENTILE, &table, &report);
        const bool was_refused = test->allocator.allocations >= test->allocator.fail_at;
        test->allocator.fail_at = 0;
        if (status == TN_OK) {
            tn_text_free(test->runtime, report);
            tn_calibration_destroy(table);
        } else {
            assert_int_equal(status, TN_ERROR_MEMORY);
            assert_null(table);
            assert_null(report);
        }
        assert_int_equal(test->allocator.live, before);
        if (!was_refused) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_finds_the_scale_of_every_tensor_by_its_name),
        RUN_TEST(test_what_is_said_of_a_lower_precision_changes_nothing),
        RUN_TEST(test_each_calibrator_names_itself_and_reports_every_tensor),
        RUN_TEST(test_several_inputs_views_and_values_of_other_types),
        RUN_TEST(test_a_tensor_that_is_zero_throughout_gets_no_scale),
        RUN_TEST(test_names_the_tensor_and_the_input_that_is_not_finite),
        RUN_TEST(test_refuses_inputs_that_are_not_as_the_graph_says),
        RUN_TEST(test_stops_when_the_caller_says_so),
        RUN_TEST(test_refuses_options_that_make_no_sense),
        RUN_TEST(test_each_refused_allocation_is_an_error_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
