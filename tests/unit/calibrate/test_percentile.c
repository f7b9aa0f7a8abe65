/* SPDX-License-Identifier: Apache-2.0 */
/* The percentile calibrator against the sorted values and the quantiles of known distributions. */
#include "distributions.h"

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The smallest of the magnitudes up to which `percent` of them lie. */
static double plain_percentile(distribution kind, double percent) {
    static double magnitudes[DISTRIBUTION_COUNT];
    test_random random = {11};
    for (size_t i = 0; i < DISTRIBUTION_COUNT; i++)
        magnitudes[i] = fabs((double)(float)distribution_value(kind, &random));
    qsort(magnitudes, DISTRIBUTION_COUNT, sizeof(double), compare);
    size_t wanted = (size_t)ceil(percent / 100 * DISTRIBUTION_COUNT);
    return magnitudes[wanted > 0 ? wanted - 1 : 0];
}

static void test_lies_within_a_bin_of_the_sorted_values(void **state) {
    (void)state;
    const double percents[] = {50, 90, 99, 99.9, 99.99, 100};
    for (distribution kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        tn_histogram histogram;
        distribution_fill(kind, &histogram);
        for (size_t i = 0; i < TEST_COUNT(percents); i++) {
            const double bound = tn_percentile_bound(&histogram, percents[i]);
            const double expected = plain_percentile(kind, percents[i]);
            if (bound < expected * (1 - 1e-9) || bound > expected + histogram.width * 1.001)
                fail_msg("distribution %d, %g%%: %g, expected %g and a bin (%g) at most", (int)kind,
                         percents[i], bound, expected, histogram.width);
        }
        distribution_free(&histogram);
    }
}

static void test_known_quantiles(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_fill(DISTRIBUTION_NORMAL, &histogram);
    assert_true(fabs(tn_percentile_bound(&histogram, 68.27) - 1) < 0.02);
    assert_true(fabs(tn_percentile_bound(&histogram, 99.73) - 3) < 0.1);
    distribution_free(&histogram);
    distribution_fill(DISTRIBUTION_UNIFORM, &histogram);
    assert_true(fabs(tn_percentile_bound(&histogram, 90) - 0.9) < 0.01);
    distribution_free(&histogram);
}

static void test_outliers_are_cut_off_and_all_is_min_max(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_fill(DISTRIBUTION_HALF_NORMAL_WITH_OUTLIERS, &histogram);
    assert_true(tn_percentile_bound(&histogram, 99.9) < 5);
    assert_true(tn_percentile_bound(&histogram, 99.99) == 20);
    assert_true(tn_percentile_bound(&histogram, 100) == tn_min_max_bound(&histogram));
    distribution_free(&histogram);
}

static void test_zeros_have_no_bound_and_one_value_is_its_own(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_one_value(0, 1, 3, &histogram);
    assert_true(tn_percentile_bound(&histogram, 99.99) == 0);
    distribution_free(&histogram);
    distribution_one_value(7.5f, 2, 1, &histogram);
    assert_true(tn_percentile_bound(&histogram, 99.99) == 7.5);
    distribution_free(&histogram);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies_within_a_bin_of_the_sorted_values),
        cmocka_unit_test(test_known_quantiles),
        cmocka_unit_test(test_outliers_are_cut_off_and_all_is_min_max),
        cmocka_unit_test(test_zeros_have_no_bound_and_one_value_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
