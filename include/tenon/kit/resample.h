/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separable resampling of planes of 32-bit floats: each axis is a table of taps (input index and
 * weight for every output), so nearest, linear, cubic and antialiased resizing are one loop. Rows
 * are resampled horizontally once, kept in a ring, and combined vertically. The loops over a row
 * are compiled once a processor level. [thread: any]
 */
#ifndef TENON_KIT_RESAMPLE_H
#define TENON_KIT_RESAMPLE_H

#include <tenon/kit/levels.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One axis: output i is the sum over t of weight[t * out + i] * input[index[t * out + i]]; every
 * index lies in 0..in-1. */
typedef struct tn_resample_axis {
    int64_t in, out, taps;
    const int32_t *index;
    const float *weight;
} tn_resample_axis;

typedef struct tn_resample_level {
    /* to[0..axis->out) from a row of axis->in. */
    void (*horizontal)(const tn_resample_axis *axis, const float *from, float *to);
    /* to[i] = sum over t of weights[t * weight_stride] * rows[t][i], i < count. */
    void (*vertical)(int64_t taps, const float *const *rows, const float *weights,
                     int64_t weight_stride, int64_t count, float *to);
    /* Output row `y` of positions of `lanes` elements each, beside each other. */
    void (*lanes)(const tn_resample_axis *vertical, const tn_resample_axis *horizontal, int64_t y,
                  int64_t lanes, const float *from, float *to);
} tn_resample_level;

extern const tn_resample_level tn_resample_baseline, tn_resample_avx2, tn_resample_avx512;

#define TN_RESAMPLE_MAXIMUM_TAPS 64

/* Floats of scratch for one thread, and the work: output rows first..last-1 of one plane. The
 * vertical axis has at most TN_RESAMPLE_MAXIMUM_TAPS taps, whose indices for one output lie within
 * `vertical->taps` neighbouring rows. */
int64_t tn_resample_scratch_floats(const tn_resample_axis *vertical,
                                   const tn_resample_axis *horizontal);
void tn_resample_plane(const tn_resample_level *level, const tn_resample_axis *vertical,
                       const tn_resample_axis *horizontal, const float *input, float *output,
                       int64_t first, int64_t last, float *scratch);

#ifdef __cplusplus
}
#endif

#endif
