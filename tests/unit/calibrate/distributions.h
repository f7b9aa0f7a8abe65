/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions that the calibrators are tested with, as histograms. */
#ifndef TN_TESTS_DISTRIBUTIONS_H
#define TN_TESTS_DISTRIBUTIONS_H

#include "calibrate/calibrator.h"

#include <math.h>

#include "random.h"
#include "test.h"

#define DISTRIBUTION_COUNT 100000

typedef enum distribution {
    DISTRIBUTION_UNIFORM,
    DISTRIBUTION_NORMAL,
    DISTRIBUTION_HALF_NORMAL_WITH_OUTLIERS, /* after a ReLU: half of it zeros; 1 in 5000 is 20 */
    DISTRIBUTION_EXPONENTIAL,
    DISTRIBUTION_FEW_VALUES,
    DISTRIBUTION_KINDS
} distribution;

static inline double distribution_normal(test_random *random) {
    const double u = 1 - random_real(random, 0, 1), v = random_real(random, 0, 1);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static inline double distribution_value(distribution kind, test_random *random) {
    double x;
    switch (kind) {
    case DISTRIBUTION_UNIFORM:
        return random_real(random, -1, 1);
    case DISTRIBUTION_NORMAL:
        return distribution_normal(random);
    case DISTRIBUTION_HALF_NORMAL_WITH_OUTLIERS:
        x = distribution_normal(random);
        return random_between(random, 0, 4999) == 0 ? 20 : x > 0 ? x : 0;
    case DISTRIBUTION_EXPONENTIAL:
        return -log(1 - random_real(random, 0, 1));
    default:
        return 0.125 * (double)random_between(random, -3, 5);
    }
}

/* Adds the values in ten pieces, as batches come. */
static inline void distribution_fill(distribution kind, tn_histogram *histogram) {
    static float values[DISTRIBUTION_COUNT / 10];
    test_random random = {11};
    assert_int_equal(tn_histogram_init(histogram, tn_allocator_default()), TN_OK);
    for (int piece = 0; piece < 10; piece++) {
        for (size_t i = 0; i < TEST_COUNT(values); i++)
            values[i] = (float)distribution_value(kind, &random);
        assert_int_equal(tn_histogram_add(histogram, values, TEST_COUNT(values)),
                         TEST_COUNT(values));
    }
}

/* A histogram of one value, given some times, after some zeros. */
static inline void distribution_one_value(float value, size_t times, size_t zeros,
                                          tn_histogram *histogram) {
    const float zero = 0;
    assert_int_equal(tn_histogram_init(histogram, tn_allocator_default()), TN_OK);
    for (size_t i = 0; i < zeros; i++)
        assert_int_equal(tn_histogram_add(histogram, &zero, 1), 1);
    for (size_t i = 0; i < times; i++)
        assert_int_equal(tn_histogram_add(histogram, &value, 1), 1);
}

static inline void distribution_free(tn_histogram *histogram) {
    tn_histogram_deinit(histogram, tn_allocator_default());
}

#endif
