/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of magnitudes, and what a scale does to the values in them; see histogram.h. */
#include "calibrate/histogram.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define STEPS 127.0 /* the largest stored magnitude */

tn_status tn_histogram_init(tn_histogram *histogram, const tn_allocator *allocator) {
    *histogram = (tn_histogram){.lowest = INFINITY};
    histogram->counts = tn_allocate_zero(allocator, TN_HISTOGRAM_BINS_TOTAL, sizeof(uint64_t));
    return histogram->counts ? TN_OK : tn_fail_memory("a histogram");
}

void tn_histogram_deinit(tn_histogram *histogram, const tn_allocator *allocator) {
    tn_deallocate(allocator, histogram->counts);
    histogram->counts = NULL;
}

typedef struct value_range {
    double largest, lowest;
    size_t finite_count; /* values before the first that is not finite */
} value_range;

static value_range range_of(const float *values, size_t count) {
    float largest = 0, lowest = INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) return (value_range){largest, lowest, i};
        const float magnitude = fabsf(values[i]);
        largest = magnitude > largest ? magnitude : largest;
        lowest = values[i] < lowest ? values[i] : lowest;
    }
    return (value_range){largest, lowest, count};
}

static void merge_pairs(uint64_t *counts) {
    for (size_t i = 0; i < TN_HISTOGRAM_BINS_TOTAL / 2; i++)
        counts[i] = counts[2 * i] + counts[2 * i + 1];
    memset(counts + TN_HISTOGRAM_BINS_TOTAL / 2, 0, TN_HISTOGRAM_BINS_TOTAL / 2 * sizeof(*counts));
}

/* Makes room for magnitudes up to `largest`. */
static void widen_range(tn_histogram *histogram, double largest) {
    if (histogram->width == 0 && largest > 0) histogram->width = largest / TN_HISTOGRAM_BINS;
    while (largest >= histogram->width * TN_HISTOGRAM_BINS_TOTAL && largest > 0) {
        merge_pairs(histogram->counts);
        histogram->width *= 2;
    }
}

size_t tn_histogram_add(tn_histogram *histogram, const float *values, size_t count) {
    const value_range range = range_of(values, count);
    if (range.finite_count < count) return range.finite_count;
    widen_range(histogram, range.largest);
    const double bins_per_unit = histogram->width > 0 ? 1 / histogram->width : 0;
    uint64_t zeros = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        const double magnitude = fabs((double)values[i]);
        size_t bin = (size_t)(magnitude * bins_per_unit);
        if (bin >= TN_HISTOGRAM_BINS_TOTAL) bin = TN_HISTOGRAM_BINS_TOTAL - 1; /* by rounding */
        histogram->counts[bin]++;
        zeros += values[i] == 0;
        squares += magnitude * magnitude;
    }
    histogram->value_count += count;
    histogram->zero_count += zeros;
    histogram->sum_of_squares += squares;
    if (range.largest > histogram->largest) histogram->largest = range.largest;
    if (range.lowest < histogram->lowest) histogram->lowest = range.lowest;
    return count;
}

size_t tn_histogram_used_bins(const tn_histogram *histogram) {
    if (histogram->width == 0) return 0;
    size_t used = TN_HISTOGRAM_BINS_TOTAL;
    while (used > 0 && histogram->counts[used - 1] == 0)
        used--;
    return used;
}

/* Values in a bin that are not exact zeros. */
static double nonzero_in(const tn_histogram *histogram, size_t bin) {
    return (double)(histogram->counts[bin] - (bin == 0 ? histogram->zero_count : 0));
}

double tn_histogram_clipped_share(const tn_histogram *histogram, double scale) {
    const double bound = (STEPS + 0.5) * scale;
    const size_t used = tn_histogram_used_bins(histogram);
    double beyond = 0;
    if (bound >= histogram->largest) return 0;
    for (size_t i = 0; i < used; i++) {
        const double left = (double)i * histogram->width;
        const double part = (left + histogram->width - bound) / histogram->width;
        if (part > 0) beyond += nonzero_in(histogram, i) * (part < 1 ? part : 1);
    }
    return beyond / (double)histogram->value_count;
}

/* The integral from 0 to x of the squared error of rounding to multiples of `scale`, of which there
 * are 127: a whole step gives scale^3 / 12. */
static double squared_error_up_to(double x, double scale) {
    double step = floor(x / scale + 0.5);
    if (step > STEPS) step = STEPS;
    const double rest = x - step * scale;
    return step * scale * scale * scale / 12 + rest * rest * rest / 3;
}

double tn_histogram_quantization_error(const tn_histogram *histogram, double scale) {
    const size_t used = tn_histogram_used_bins(histogram);
    double sum = 0, before = 0;
    if (!(scale > 0) || histogram->sum_of_squares == 0) return 0;
    for (size_t i = 0; i < used; i++) {
        const double after = squared_error_up_to((double)(i + 1) * histogram->width, scale);
        sum += nonzero_in(histogram, i) * (after - before) / histogram->width;
        before = after;
    }
    return sqrt(sum > 0 ? sum / histogram->sum_of_squares : 0);
}
