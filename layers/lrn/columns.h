/* SPDX-License-Identifier: Apache-2.0 */
/* LRN of floats down columns, a vector of them at a time; compiled once a processor level. */
#ifndef TN_LAYERS_LRN_COLUMNS_H
#define TN_LAYERS_LRN_COLUMNS_H

#include <stdint.h>

typedef struct tn_lrn_column_job {
    int64_t channels, stride; /* of a channel, in elements */
    int64_t before, after;    /* channels that count beside one's own */
    float scale, beta, bias;  /* scale: alpha / size */
} tn_lrn_column_job;

typedef struct tn_lrn_level {
    int64_t width; /* of a vector, in columns */
    /* 1..width columns beside each other, from their first channel on. */
    void (*columns)(const tn_lrn_column_job *job, int64_t columns, const float *x, float *y);
} tn_lrn_level;

extern const tn_lrn_level tn_lrn_baseline, tn_lrn_avx2, tn_lrn_avx512;

#endif
