/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the direct convolution lays out its input for one geometry, and how it cuts the work into
 * tiles. Pure numbers; the loops are in direct_layout.c and direct_run.c.
 *
 * Three layouts of one group's input x[c][h][w], for outputs y[k][p][q] and kernel elements (r, s):
 *
 *   POINTWISE      kernel 1x1, stride 1, no padding: x itself. All P x Q outputs are neighbours.
 *
 *   COLUMN_COPIES  for small images: a copy of x for each kernel column s, strided along w and cut
 *                  to the Q elements that the column sees, so that all outputs are neighbours
 *                  whatever Q. Rows of one vertical phase (h mod stride) are together:
 *
 *                      copy[c][s][phase][row][q] = x[c][row * stride + phase - pad_top]
 *                                                   [q * stride + s * dilation - pad_left]
 *
 *   LINE_BUFFER    for wide images: a ring of as many padded rows as the kernel sees at once, each
 *                  split into its horizontal phases. The outputs of a piece of a row, from `first`
 *                  on, are neighbours:
 *
 *                      ring[row mod slots][c][phase][i] = x[c][row - pad_top]
 *                                                          [(first + i) * stride + phase -
 * pad_left]
 *
 * Outside x both have zeros. Of volumes x[c][d][h][w] these are the planes that one plane of the
 * output sees, plane of the kernel after plane, the channels of each:
 *
 *     copy[plane * channels + c], ring[row mod slots][plane * channels + c]
 */
#ifndef TN_LAYERS_CONV_DIRECT_PLAN_H
#define TN_LAYERS_CONV_DIRECT_PLAN_H

#include "conv/direct.h"
#include "conv/geometry.h"

enum { TN_DIRECT_POINTWISE = 0, TN_DIRECT_COLUMN_COPIES = 1, TN_DIRECT_LINE_BUFFER = 2 };

typedef struct tn_direct_plan {
    tn_conv_geometry geometry;
    uint32_t layout;
    uint32_t vectors;      /* of a full tile */
    int64_t block, blocks; /* most channels of a block; blocks of a group */
    int64_t taps;
    int64_t positions;    /* neighbouring outputs: the image's, or a piece of a row (LINE_BUFFER) */
    int64_t row_floats;   /* of one stored row; LINE_BUFFER: of all its phases */
    int64_t phase_floats; /* LINE_BUFFER: of one phase of a row */
    int64_t plane_floats; /* COLUMN_COPIES: of one kernel column's copy of one vertical phase */
    int64_t phase_rows;   /* COLUMN_COPIES: rows of one vertical phase */
    int64_t slots;        /* LINE_BUFFER: rows of the ring */
    int64_t copy_floats;  /* of one laid-out input (a thread's, for LINE_BUFFER), slack for the last
                             vector  included */
    int64_t table_count;  /* offset tables, of `taps` each */
    int64_t copies;       /* laid-out inputs in the workspace: 1 or the threads */
    int64_t parts, pieces; /* LINE_BUFFER: of the image's rows, and of each row, that are done
                              independently */
} tn_direct_plan;

/* Of a filter: all of its planes', rows', channels' and columns'. */
static inline int64_t tn_direct_plan_taps(const tn_conv_geometry *geometry) {
    return geometry->channels * geometry->kernel_depth * geometry->kernel_height *
           geometry->kernel_width;
}

/* The size of the channel blocks that costs least for a geometry: 1..level->maximum_channels. */
int64_t tn_direct_plan_block(const tn_direct_level *level, const tn_conv_geometry *geometry);

/* What the tiles and the layout of a group take, over what its multiplications would with all lanes
 * of both units at work. */
double tn_direct_plan_work(const tn_direct_level *level, const tn_conv_geometry *geometry);

/* False when the geometry is beyond what offsets of 32 bits can say. */
bool tn_direct_plan_make(const tn_direct_level *level, const tn_conv_geometry *geometry,
                         int64_t block, uint32_t threads, tn_direct_plan *out_plan);
/* Fills table_count x taps offsets, in the order of taps: the kernel's planes, in each its rows, in
 * each the channels, in each the columns. */
void tn_direct_plan_offsets(const tn_direct_plan *plan, int32_t *offsets);
/* The kernel rows begin..end-1 through which some of the output rows first..last sees the image,
 * and not only padding above or below it. */
void tn_direct_plan_rows(const tn_conv_geometry *geometry, int64_t first, int64_t last,
                         int64_t *out_begin, int64_t *out_end);
/* The same of the kernel's planes and a plane of the output. */
void tn_direct_plan_planes(const tn_conv_geometry *geometry, int64_t plane, int64_t *out_begin,
                           int64_t *out_end);

#endif
