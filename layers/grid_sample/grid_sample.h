/* SPDX-License-Identifier: Apache-2.0 */
/* What GridSample and its kernel share: where a sample lies, and what it is made of. */
#ifndef TN_LAYERS_GRID_SAMPLE_GRID_SAMPLE_H
#define TN_LAYERS_GRID_SAMPLE_GRID_SAMPLE_H

#include "grid_sample/fields.h"
#include "kit/operator/layer.h"

#include <math.h>

enum { GRID_X = 0, GRID_GRID = 1 };
enum { GRID_LINEAR = 0, GRID_NEAREST = 1, GRID_CUBIC = 2 };
enum { GRID_ZEROS = 0, GRID_BORDER = 1, GRID_REFLECTION = 2 };
enum { GRID_MOST_AXES = TN_MAX_RANK - 2, GRID_MOST_TAPS = 4 };

/* The elements of one axis that a sample is made of; -1: outside. */
typedef struct tn_grid_taps {
    uint32_t count;
    int64_t index[GRID_MOST_TAPS];
    double weight[GRID_MOST_TAPS];
} tn_grid_taps;

typedef struct tn_grid_job {
    const tn_call *call;
    uint32_t axes;
    int64_t positions, plane; /* elements of a channel of the output, and of X */
} tn_grid_job;

tn_grid_job tn_grid_job_read(const tn_call *call);

/* A position of the grid along an axis, in elements of X. */
static inline double tn_grid_element(const tn_grid_sample_params *params, double position,
                                     int64_t extent) {
    const double length = (double)extent;
    return params->align_corners ? (position + 1) / 2 * (length - 1)
                                 : ((position + 1) * length - 1) / 2;
}

/* Weights of four neighbours for a position `t` behind the second of them. */
static inline void tn_grid_cubic_weights(double t, double *out_weights) {
    const double a = -0.75;
    for (int i = 0; i < 4; i++) {
        const double d = fabs(t + 1 - i);
        out_weights[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                                : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

tn_grid_taps tn_grid_taps_find(const tn_grid_sample_params *params, double position,
                               int64_t extent);

/* Any types; an item is a position of an image. */
tn_status tn_grid_positions_do(void *user, int64_t begin, int64_t end, uint32_t thread);

extern const tn_kernel tn_grid_positions;

#endif
