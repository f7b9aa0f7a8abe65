/* SPDX-License-Identifier: Apache-2.0 */
/* The percentile calibrator: a fixed share of the values is kept; see calibrator.h. With 100 it is
 * min-max. */
#include "calibrate/calibrator.h"

#include <math.h>

double tn_percentile_bound(const tn_histogram *histogram, double percent) {
    const size_t used = tn_histogram_used_bins(histogram);
    const double wanted = percent / 100 * (double)histogram->value_count;
    double kept = 0;
    for (size_t i = 0; i < used; i++) {
        kept += (double)histogram->counts[i];
        if (kept >= wanted) return fmin((double)(i + 1) * histogram->width, histogram->largest);
    }
    return histogram->largest;
}
