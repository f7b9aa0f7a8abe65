/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibrators: from a histogram of magnitudes to the largest magnitude that 8 bits should hold
 * (amax; the scale is amax / 127). One file each: min_max.c, percentile.c, entropy.c. All answer 0
 * for a tensor that was zero in all inputs: nothing is known of its range.
 */
#ifndef TN_CALIBRATE_CALIBRATOR_H
#define TN_CALIBRATE_CALIBRATOR_H

#include "calibrate/histogram.h"

/* The largest magnitude. */
double tn_min_max_bound(const tn_histogram *histogram);
/* The smallest right edge of a bin, the largest magnitude at most, up to which at least `percent`
 * of 100 of the values lie. */
double tn_percentile_bound(const tn_histogram *histogram, double percent);
/* The right edge of a bin, the largest magnitude at most, that loses the least information. */
double tn_entropy_bound(const tn_histogram *histogram);

#endif
