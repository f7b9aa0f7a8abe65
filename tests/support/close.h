/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of arrays of floats: |actual - expected| <= atol + rtol * |expected|, NaN equals NaN.
 */
#ifndef TN_TESTS_CLOSE_H
#define TN_TESTS_CLOSE_H

#include "test.h"

#include <math.h>

static inline bool is_close(double actual, double expected, double rtol, double atol) {
    if (isnan(expected) || isnan(actual)) return isnan(expected) && isnan(actual);
    if (isinf(expected) || isinf(actual)) return expected == actual;
    return fabs(actual - expected) <= atol + rtol * fabs(expected);
}

static inline void assert_floats_close(const float *actual, const float *expected, size_t count,
                                       double rtol, double atol) {
    for (size_t i = 0; i < count; i++) {
        if (!is_close((double)actual[i], (double)expected[i], rtol, atol))
            fail_msg("element %zu is %.9g: expected %.9g", i, (double)actual[i],
                     (double)expected[i]);
    }
}

#endif
