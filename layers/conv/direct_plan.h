/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the direct convolution lays out its input for one geometry, and how it cuts the work into
 * tiles. Pure numbers; the loops are in direct_layout.c and direct_walk.c.
 *
 * Three layouts of one group's input:
 *
 *   POINT  kernel 1x1, stride 1, no padding: the input itself; positions are all H*W in a row.
 *
 *   FLAT   a copy a kernel column: each input row, shifted and strided for that column and cut to
 *          the output's width, row after row, so that all output positions are neighbours whatever
 *          the width. For small images.
 *
 *   ROWS   a ring of padded rows, as many as the kernel sees at once, each split into its
 *          `stride_width` phases; positions are those of one output row. For wide images.
 */
#ifndef TN_LAYERS_CONV_DIRECT_PLAN_H
#define TN_LAYERS_CONV_DIRECT_PLAN_H

#include "conv/direct.h"

enum { TN_DIRECT_POINT = 0, TN_DIRECT_FLAT = 1, TN_DIRECT_ROWS = 2 };

typedef struct tn_direct_plan {
    tn_conv_geometry geometry;
    uint32_t layout;
    uint32_t vectors; /* of a full tile */
    int64_t taps;
    int64_t positions;    /* of one run of tiles: the image's (POINT, FLAT) or one row's */
    int64_t row_floats;   /* of one stored row, all phases (ROWS); of one row (FLAT) */
    int64_t phase_floats; /* ROWS: of one phase of a row */
    int64_t plane_floats; /* FLAT: of one kernel column's copy of one vertical phase */
    int64_t phase_rows;   /* FLAT: rows of one vertical phase */
    int64_t slots;        /* ROWS: rows of the ring */
    int64_t copy_floats;  /* of one laid-out input (a thread's, for ROWS), slack for the last vector
                             included */
    int64_t table_count;  /* offset tables, of `taps` each */
    int64_t copies;       /* laid-out inputs in the workspace: 1 or the threads */
    int64_t parts;        /* ROWS: pieces of the image's rows that are done independently */
} tn_direct_plan;

/* The size of the channel blocks that costs least for a geometry: 1..level->maximum_channels. */
int64_t tn_direct_plan_block(const tn_direct_level *level, const tn_conv_geometry *geometry);
/* First filter of block `index` of `count`, sizes differing by one at most. */
int64_t tn_direct_plan_first(int64_t filters, int64_t count, int64_t index);

/* False when the geometry is beyond what offsets of 32 bits can say. */
bool tn_direct_plan_make(const tn_direct_level *level, const tn_conv_geometry *geometry,
                         int64_t block, uint32_t threads, tn_direct_plan *out_plan);
/* Fills table_count x taps offsets. */
void tn_direct_plan_offsets(const tn_direct_plan *plan, int32_t *offsets);

#endif
