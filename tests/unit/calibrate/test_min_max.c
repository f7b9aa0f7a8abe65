/* SPDX-License-Identifier: Apache-2.0 */
/* The min-max calibrator: the largest magnitude, of either sign. */
#include "distributions.h"

static void test_answers_the_largest_magnitude(void **state) {
    (void)state;
    tn_histogram histogram;
    const float values[] = {0.5f, -2.25f, 1.0f}, more[] = {-1.0f, 2.0f};
    assert_int_equal(tn_histogram_init(&histogram, tn_allocator_default()), TN_OK);
    tn_histogram_add(&histogram, values, 3);
    tn_histogram_add(&histogram, more, 2);
    assert_true(tn_min_max_bound(&histogram) == 2.25);
    distribution_free(&histogram);
}

static void test_zeros_have_no_bound_and_one_value_is_its_own(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_one_value(0, 1, 3, &histogram);
    assert_true(tn_min_max_bound(&histogram) == 0);
    distribution_free(&histogram);
    distribution_one_value(-0.3f, 4, 3, &histogram);
    assert_true(tn_min_max_bound(&histogram) == (double)0.3f);
    distribution_free(&histogram);
}

static void test_nothing_is_cut_off(void **state) {
    (void)state;
    for (distribution kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        tn_histogram histogram;
        distribution_fill(kind, &histogram);
        const double bound = tn_min_max_bound(&histogram);
        assert_true(tn_histogram_clipped_share(&histogram, bound / 127) < 1e-12);
        distribution_free(&histogram);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_the_largest_magnitude),
        cmocka_unit_test(test_zeros_have_no_bound_and_one_value_is_its_own),
        cmocka_unit_test(test_nothing_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
