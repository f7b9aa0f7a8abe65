/* SPDX-License-Identifier: Apache-2.0 */
/* y = x * factor + shift of floats, a channel at a time, compiled once a processor level from
 * channels_body.h. y may be x. */
#ifndef TN_LAYERS_BATCH_NORMALIZATION_CHANNELS_H
#define TN_LAYERS_BATCH_NORMALIZATION_CHANNELS_H

#include <tenon/kit/rows.h>

typedef struct tn_channels_level {
    const tn_rows_level *rows; /* for the steps after it */
    /* `count` elements of one channel. */
    void (*plane)(int64_t count, float factor, float shift, const float *x, float *y);
    /* `count` positions of `channels` each, beside each other. */
    void (*lanes)(int64_t count, int64_t channels, const float *factors, const float *shifts,
                  const float *x, float *y);
} tn_channels_level;

extern const tn_channels_level tn_channels_baseline, tn_channels_avx2, tn_channels_avx512;

#endif
