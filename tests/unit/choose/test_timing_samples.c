/* SPDX-License-Identifier: Apache-2.0 */
/* What repeated timings of one thing say of it. */
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

static tn_timing_samples samples_of(uint32_t count, const double *ns, uint32_t disturbed) {
    tn_timing_samples samples = {0};
    for (uint32_t i = 0; i < count; i++)
        tn_timing_samples_add(&samples,
                              (tn_timing_sample){.ns = ns[i], .is_disturbed = disturbed >> i & 1});
    return samples;
}
#define SAMPLES(disturbed, ...)                                                                    \
    samples_of(sizeof((const double[]){__VA_ARGS__}) / sizeof(double),                             \
               (const double[]){__VA_ARGS__}, (disturbed))

static void assert_near(double value, double wanted) {
    if (fabs(value - wanted) > 1e-9) fail_msg("%g is not %g", value, wanted);
}

static void test_the_shortest_sample_counts(void **state) {
    (void)state;
    tn_timing_samples samples = SAMPLES(0, 130, 100, 900, 104);
    assert_near(samples.least, 100);
    assert_near(tn_timing_samples_noise(&samples), 0.04);
}

static void test_two_undisturbed_samples_have_to_agree(void **state) {
    (void)state;
    tn_timing_samples one = SAMPLES(0, 100), two = SAMPLES(0, 100, 101),
                      apart = SAMPLES(0, 100, 110), disturbed = SAMPLES(2, 100, 101),
                      third = SAMPLES(2, 110, 300, 111);
    assert_false(tn_timing_samples_agree(&one, 0.02));
    assert_true(tn_timing_samples_agree(&two, 0.02));
    assert_false(tn_timing_samples_agree(&apart, 0.02));
    assert_false(tn_timing_samples_agree(&disturbed, 0.02));
    assert_true(tn_timing_samples_agree(&third, 0.02));
}

/* It is an upper bound: what disturbs a run makes it longer. */
static void test_a_disturbed_sample_that_is_shorter_counts_and_is_not_agreed_with(void **state) {
    (void)state;
    tn_timing_samples samples = SAMPLES(4, 100, 101, 80);
    assert_near(samples.least, 80);
    assert_false(tn_timing_samples_agree(&samples, 0.02));
    assert_near(tn_timing_samples_noise(&samples), tn_timing_policy.most_noise);
}

static void test_few_undisturbed_samples_mean_much_noise(void **state) {
    (void)state;
    tn_timing_samples none = {0}, disturbed = SAMPLES(3, 100, 100), one = SAMPLES(2, 100, 100),
                      same = SAMPLES(0, 100, 100), far = SAMPLES(0, 100, 1000);
    assert_near(tn_timing_samples_noise(&none), tn_timing_policy.most_noise);
    assert_near(tn_timing_samples_noise(&disturbed), tn_timing_policy.most_noise);
    assert_near(tn_timing_samples_noise(&one), tn_timing_policy.most_noise);
    assert_near(tn_timing_samples_noise(&same), tn_timing_policy.least_noise);
    assert_near(tn_timing_samples_noise(&far), tn_timing_policy.most_noise);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_shortest_sample_counts),
        cmocka_unit_test(test_two_undisturbed_samples_have_to_agree),
        cmocka_unit_test(test_a_disturbed_sample_that_is_shorter_counts_and_is_not_agreed_with),
        cmocka_unit_test(test_few_undisturbed_samples_mean_much_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
