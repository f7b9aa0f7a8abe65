/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a row with constants, in double precision: eight sums beside each other, which the
 * compiler keeps in vectors. */
#ifndef TN_LAYERS_ML_DOT_H
#define TN_LAYERS_ML_DOT_H

#include <stdint.h>

enum { TN_ML_SUMS = 8 };

static inline double tn_ml_add_up(const double *sums) {
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
           ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

static inline double tn_ml_dot(const double *x, const float *y, int64_t count) {
    double sums[TN_ML_SUMS] = {0};
    int64_t i = 0;
    for (; i + TN_ML_SUMS <= count; i += TN_ML_SUMS)
        for (int k = 0; k < TN_ML_SUMS; k++)
            sums[k] += x[i + k] * (double)y[i + k];
    for (; i < count; i++)
        sums[0] += x[i] * (double)y[i];
    return tn_ml_add_up(sums);
}

/* The square of the distance. */
static inline double tn_ml_distance(const double *x, const float *y, int64_t count) {
    double sums[TN_ML_SUMS] = {0};
    int64_t i = 0;
    for (; i + TN_ML_SUMS <= count; i += TN_ML_SUMS)
        for (int k = 0; k < TN_ML_SUMS; k++)
            sums[k] += (x[i + k] - (double)y[i + k]) * (x[i + k] - (double)y[i + k]);
    for (; i < count; i++)
        sums[0] += (x[i] - (double)y[i]) * (x[i] - (double)y[i]);
    return tn_ml_add_up(sums);
}

#endif
