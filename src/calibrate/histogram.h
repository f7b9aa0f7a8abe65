/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The histogram of one tensor's magnitudes over all calibration inputs. Its bins are of one width
 * and begin at zero; the first values decide the width, and larger ones later take first the other
 * half of the bins, then bins twice as wide (pairs are merged, so nothing is estimated). What is
 * made of it: calibrator.h. Knows nothing of graphs.
 */
#ifndef TN_CALIBRATE_HISTOGRAM_H
#define TN_CALIBRATE_HISTOGRAM_H

#include "base/memory.h"

/* The largest value so far lies above half of the first, so that at least as many bins hold the
 * values as TensorRT's calibrators use. */
#define TN_HISTOGRAM_BINS       2048
#define TN_HISTOGRAM_BINS_TOTAL 4096

typedef struct tn_histogram {
    uint64_t *counts; /* TN_HISTOGRAM_BINS_TOTAL; exact zeros are in the first bin */
    double width; /* of a bin: bin i holds [i * width, (i + 1) * width); 0: zeros alone so far */
    uint64_t value_count, zero_count;
    double largest; /* magnitude */
    double lowest;  /* value; above 0 when all are */
    double sum_of_squares;
} tn_histogram;

/* TN_ERROR_MEMORY. */
tn_status tn_histogram_init(tn_histogram *histogram, const tn_allocator *allocator);
void tn_histogram_deinit(tn_histogram *histogram, const tn_allocator *allocator); /* zeroed: fine */

/* Adds values. Returns `count` when all are finite; otherwise the index of the first that is not,
 * and the histogram is as it was before the call. */
size_t tn_histogram_add(tn_histogram *histogram, const float *values, size_t count);

/* Bins up to the last one that holds a value; 0 without values, or with zeros alone. */
size_t tn_histogram_used_bins(const tn_histogram *histogram);
/* The share of values that a scale cuts off: those beyond the half step after the last one, 127.5 *
 * scale, up to which rounding to the last step is as good as any. A bin that the bound cuts counts
 * by the part beyond. */
double tn_histogram_clipped_share(const tn_histogram *histogram, double scale);
/* The error of storing the values as round(x / scale) * scale with 127 steps, as the root of the
 * sum of squared errors over that of squared values; 0 when all are zero. Values count as spread
 * evenly over their bin; exact zeros have no error. */
double tn_histogram_quantization_error(const tn_histogram *histogram, double scale);

#endif
