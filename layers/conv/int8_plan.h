/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the quantised convolution (int8_kernel.c) lays out its input for one geometry, and how it
 * cuts the work. Pure numbers.
 *
 * A band of output rows is done at a time: the input rows that it sees are copied, channels last,
 * with the padding written out, as the level's activations (dot.h):
 *
 *     copy[row][w][c] = x[c][top + row][w - pad_left], 0 outside x
 *
 * With a dilation of 1 along the width, the inputs of one kernel row are then neighbours, and are
 * multiplied as one run of kernel width x channels, cut into groups; otherwise each kernel column
 * is a run of its own. Groups that reach past a run's end meet zero weights there.
 *
 * Few filters would leave most lanes of a vector empty. Then `join` neighbouring outputs of a row
 * are taken as one of as many more filters, whose kernel is as much wider: each lane has the
 * filter's weights where its own output's window is, and zeros beside them. Channels last, these
 * filters lie in the output as the lanes have them. The geometry of a plan is the joined one.
 */
#ifndef TN_LAYERS_CONV_INT8_PLAN_H
#define TN_LAYERS_CONV_INT8_PLAN_H

#include "conv/geometry.h"
#include <tenon/kit/dot.h>

typedef struct tn_int8_plan {
    tn_conv_geometry geometry;
    int64_t join;             /* outputs of a row that are one; 1: none */
    int64_t out_width;        /* of the node, where the geometry has that of joined ones */
    int64_t last_outputs;     /* of the last joined one of a row: join or fewer */
    int64_t runs, run_groups; /* groups of each run */
    int64_t groups;           /* of all runs */
    int64_t row_elements;     /* of one padded input row */
    int64_t band_rows, bands; /* output rows of a band; the last may have fewer */
    bool is_by_row;           /* a tile stays in one output row */
    int64_t positions;        /* of the table of rows: one output row's or a band's */
    int64_t copy_bytes;       /* of one band's input */
} tn_int8_plan;

/* How many outputs to join, for the weights' sizes and an output row of so many; 1 where it does
 * not pay. */
int64_t tn_int8_plan_join(const tn_dot_level *level, const tn_conv_geometry *geometry);
/* False when the geometry, a node's own, is beyond what offsets of 32 bits can say. */
bool tn_int8_plan_make(const tn_dot_level *level, const tn_conv_geometry *geometry, int64_t join,
                       uint32_t threads, tn_int8_plan *out_plan);
/* Where in a filter's weights element k of the runs lies, or -1: join x groups x group entries. */
void tn_int8_plan_elements(const tn_dot_level *level, const tn_int8_plan *plan,
                           int32_t *out_elements);
/* Offsets of the groups (plan->groups) and of the output positions (plan->positions). */
void tn_int8_plan_offsets(const tn_dot_level *level, const tn_int8_plan *plan, int32_t *out_groups,
                          int32_t *out_positions);

#endif
