/* SPDX-License-Identifier: Apache-2.0 */
/* The entropy calibrator against the same divergence written plainly, and what it does with known
 * distributions. */
#include "distributions.h"

#define GROUPS 128

static double plain_p[TN_HISTOGRAM_BINS_TOTAL], plain_q[TN_HISTOGRAM_BINS_TOTAL];

/* The divergence of P and Q as the description of the algorithm builds them, bin by bin. */
static double plain_divergence(const double *counts, size_t kept, size_t used) {
    double p_sum = 0, q_sum = 0, divergence = 0;
    for (size_t i = 0; i < used; i++)
        p_sum += counts[i];
    for (size_t i = 0; i < kept; i++)
        plain_p[i] = counts[i];
    for (size_t i = kept; i < used; i++)
        plain_p[kept - 1] += counts[i];
    for (size_t group = 0; group < GROUPS; group++) {
        const size_t from = group * kept / GROUPS, to = (group + 1) * kept / GROUPS;
        double sum = 0, filled = 0;
        for (size_t i = from; i < to; i++) {
            sum += counts[i];
            filled += counts[i] > 0;
        }
        for (size_t i = from; i < to; i++)
            plain_q[i] = counts[i] > 0 ? sum / filled : 0;
        q_sum += sum;
    }
    for (size_t i = 0; i < kept; i++) {
        if (plain_p[i] > 0 && plain_q[i] == 0) return INFINITY;
        if (plain_p[i] > 0)
            divergence += plain_p[i] / p_sum * log(plain_p[i] / p_sum / (plain_q[i] / q_sum));
    }
    return divergence;
}

/* All candidates: the least divergence, and that of the bound that the calibrator chose. */
static void plain_search(const tn_histogram *histogram, double chosen, double *out_least,
                         double *out_of_chosen) {
    double counts[TN_HISTOGRAM_BINS_TOTAL];
    const size_t used = tn_histogram_used_bins(histogram);
    for (size_t i = 0; i < used; i++)
        counts[i] = (double)histogram->counts[i];
    counts[0] = counts[1];
    *out_least = *out_of_chosen = INFINITY;
    for (size_t kept = GROUPS; kept <= used; kept++) {
        const double divergence = plain_divergence(counts, kept, used);
        if (divergence < *out_least) *out_least = divergence;
        const double bound = fmin((double)kept * histogram->width, histogram->largest);
        if (fabs(bound - chosen) < histogram->width * 1e-6) *out_of_chosen = divergence;
    }
}

static void test_no_bound_loses_less_information(void **state) {
    (void)state;
    for (distribution kind = 0; kind < DISTRIBUTION_KINDS; kind++) {
        tn_histogram histogram;
        double least, of_chosen;
        distribution_fill(kind, &histogram);
        plain_search(&histogram, tn_entropy_bound(&histogram), &least, &of_chosen);
        if (!(fabs(of_chosen - least) < 1e-9))
            fail_msg("distribution %d: divergence %g, the least is %g", (int)kind, of_chosen,
                     least);
        distribution_free(&histogram);
    }
}

static void test_keeps_all_of_a_uniform_distribution(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_fill(DISTRIBUTION_UNIFORM, &histogram);
    assert_true(tn_entropy_bound(&histogram) > 0.95);
    distribution_free(&histogram);
}

/* The best bound of a normal distribution for 8 bits lies at about 4 deviations. */
static void test_cuts_the_far_tail_of_a_normal_distribution(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_fill(DISTRIBUTION_NORMAL, &histogram);
    const double bound = tn_entropy_bound(&histogram);
    assert_true(bound > 2.5 && bound <= histogram.largest);
    distribution_free(&histogram);
}

static void test_cuts_rare_outliers_after_a_relu(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_fill(DISTRIBUTION_HALF_NORMAL_WITH_OUTLIERS, &histogram);
    const double bound = tn_entropy_bound(&histogram);
    assert_true(bound > 2.5 && bound < 10);
    assert_true(tn_histogram_quantization_error(&histogram, bound / 127) > 0);
    distribution_free(&histogram);
}

static void test_keeps_each_of_a_few_values(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_fill(DISTRIBUTION_FEW_VALUES, &histogram);
    assert_true(tn_entropy_bound(&histogram) == 0.625);
    distribution_free(&histogram);
}

static void test_zeros_have_no_bound_and_one_value_is_its_own(void **state) {
    (void)state;
    tn_histogram histogram;
    distribution_one_value(0, 1, 3, &histogram);
    assert_true(tn_entropy_bound(&histogram) == 0);
    distribution_free(&histogram);
    distribution_one_value(-7.5f, 2, 100, &histogram);
    assert_true(tn_entropy_bound(&histogram) == 7.5);
    distribution_free(&histogram);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_bound_loses_less_information),
        cmocka_unit_test(test_keeps_all_of_a_uniform_distribution),
        cmocka_unit_test(test_cuts_the_far_tail_of_a_normal_distribution),
        cmocka_unit_test(test_cuts_rare_outliers_after_a_relu),
        cmocka_unit_test(test_keeps_each_of_a_few_values),
        cmocka_unit_test(test_zeros_have_no_bound_and_one_value_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
