/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms against plain references: counting, growth, refusal of what is not finite, and what a
 * scale does to the values. */
#include "calibrate/histogram.h"

#include <math.h>

#include "random.h"
#include "test.h"

#define COUNT 20000

static void init(tn_histogram *histogram) {
    assert_int_equal(tn_histogram_init(histogram, tn_allocator_default()), TN_OK);
}

static void deinit(tn_histogram *histogram) {
    tn_histogram_deinit(histogram, tn_allocator_default());
}

static uint64_t total(const tn_histogram *histogram) {
    uint64_t sum = 0;
    for (size_t i = 0; i < TN_HISTOGRAM_BINS_TOTAL; i++)
        sum += histogram->counts[i];
    return sum;
}

static void fill_normal(float *values, size_t count, double deviation) {
    test_random random = {7};
    for (size_t i = 0; i < count; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++)
            sum += random_real(&random, 0, 1);
        values[i] = (float)(sum * deviation);
    }
}

static void test_counts_magnitudes_in_bins_of_one_width(void **state) {
    (void)state;
    tn_histogram histogram;
    const float values[] = {-1.0f, 0.0f, 0.25f, -0.25f, 0.5f};
    init(&histogram);
    assert_int_equal(tn_histogram_add(&histogram, values, 5), 5);
    assert_true(histogram.width == 1.0 / TN_HISTOGRAM_BINS);
    assert_int_equal(histogram.counts[0], 1);
    assert_int_equal(histogram.counts[TN_HISTOGRAM_BINS / 4], 2);
    assert_int_equal(histogram.counts[TN_HISTOGRAM_BINS / 2], 1);
    assert_int_equal(histogram.counts[TN_HISTOGRAM_BINS], 1);
    assert_int_equal(histogram.zero_count, 1);
    assert_int_equal(tn_histogram_used_bins(&histogram), TN_HISTOGRAM_BINS + 1);
    assert_true(histogram.largest == 1 && histogram.lowest == -1);
    assert_true(fabs(histogram.sum_of_squares - 1.375) < 1e-12);
    deinit(&histogram);
}

/* Merging bins loses resolution and nothing else: each bin is the sum of those that it came from.
 */
static void test_growing_merges_whole_bins(void **state) {
    (void)state;
    static float values[COUNT];
    tn_histogram small, grown;
    const float large = 300.0f;
    fill_normal(values, COUNT, 1.0);
    init(&small);
    init(&grown);
    tn_histogram_add(&small, values, COUNT);
    tn_histogram_add(&grown, values, COUNT);
    tn_histogram_add(&grown, &large, 1);
    const double ratio = grown.width / small.width;
    assert_true(ratio == 64 || ratio == 32 || ratio == 128);
    const size_t merged = (size_t)ratio;
    for (size_t i = 0; i < TN_HISTOGRAM_BINS_TOTAL / merged; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < merged; k++)
            sum += small.counts[i * merged + k];
        assert_int_equal(grown.counts[i], sum);
    }
    assert_int_equal(total(&grown), COUNT + 1);
    assert_true(tn_histogram_used_bins(&grown) > TN_HISTOGRAM_BINS);
    deinit(&small);
    deinit(&grown);
}

static void test_zeros_first_then_any_range_of_magnitudes(void **state) {
    (void)state;
    tn_histogram histogram;
    const float zeros[3] = {0, -0.0f, 0}, tiny = 1e-45f, huge = 3.4e38f;
    init(&histogram);
    tn_histogram_add(&histogram, zeros, 3);
    assert_int_equal(tn_histogram_used_bins(&histogram), 0);
    assert_true(tn_histogram_quantization_error(&histogram, 1.0) == 0);
    assert_true(tn_histogram_clipped_share(&histogram, 0.0) == 0);
    assert_int_equal(tn_histogram_add(&histogram, &tiny, 1), 1);
    assert_true(tn_histogram_used_bins(&histogram) > TN_HISTOGRAM_BINS - 1);
    assert_int_equal(tn_histogram_add(&histogram, &huge, 1), 1);
    assert_int_equal(total(&histogram), 5);
    assert_true(histogram.width * TN_HISTOGRAM_BINS_TOTAL > (double)huge);
    deinit(&histogram);
}

static void test_refuses_values_that_are_not_finite_and_stays_as_it_was(void **state) {
    (void)state;
    tn_histogram histogram;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    init(&histogram);
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        const float values[] = {1, 2, bad[i], 4};
        assert_int_equal(tn_histogram_add(&histogram, values, 4), 2);
        assert_int_equal(histogram.value_count, 0);
        assert_int_equal(total(&histogram), 0);
        assert_true(histogram.width == 0);
    }
    deinit(&histogram);
}

/* The shares and errors that the values themselves have. */
static void plain_reference(const float *values, size_t count, double scale, double *out_clipped,
                            double *out_error) {
    double beyond = 0, error = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = fabs((double)values[i]), step = fmin(nearbyint(x / scale), 127);
        beyond += x > 127.5 * scale;
        error += (x - step * scale) * (x - step * scale);
        squares += x * x;
    }
    *out_clipped = beyond / (double)count;
    *out_error = sqrt(error / squares);
}

static void test_clipping_and_error_are_those_of_the_values(void **state) {
    (void)state;
    static float values[COUNT];
    tn_histogram histogram;
    fill_normal(values, COUNT, 3.0);
    for (size_t i = 0; i < COUNT; i += 2)
        values[i] = values[i] < 0 ? 0 : values[i]; /* as after a ReLU */
    init(&histogram);
    tn_histogram_add(&histogram, values, COUNT);
    const double bounds[] = {histogram.largest, 0.7 * histogram.largest, 0.2 * histogram.largest};
    for (size_t i = 0; i < TEST_COUNT(bounds); i++) {
        double clipped, error;
        plain_reference(values, COUNT, bounds[i] / 127, &clipped, &error);
        assert_true(fabs(tn_histogram_clipped_share(&histogram, bounds[i] / 127) - clipped) < 1e-3);
        assert_true(fabs(tn_histogram_quantization_error(&histogram, bounds[i] / 127) / error - 1) <
                    0.03);
    }
    deinit(&histogram);
}

static void test_no_memory_is_an_error(void **state) {
    (void)state;
    failing_allocator allocator;
    tn_histogram histogram;
    failing_allocator_init(&allocator);
    allocator.fail_at = 1;
    assert_failed(tn_histogram_init(&histogram, &allocator.functions), TN_ERROR_MEMORY,
                  "histogram");
    assert_int_equal(allocator.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_magnitudes_in_bins_of_one_width),
        cmocka_unit_test(test_growing_merges_whole_bins),
        cmocka_unit_test(test_zeros_first_then_any_range_of_magnitudes),
        cmocka_unit_test(test_refuses_values_that_are_not_finite_and_stays_as_it_was),
        cmocka_unit_test(test_clipping_and_error_are_those_of_the_values),
        cmocka_unit_test(test_no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
