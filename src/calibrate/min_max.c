/* SPDX-License-Identifier: Apache-2.0 */
/* The min-max calibrator: nothing is cut off; see calibrator.h. */
#include "calibrate/calibrator.h"

double tn_min_max_bound(const tn_histogram *histogram) {
    return histogram->largest;
}
