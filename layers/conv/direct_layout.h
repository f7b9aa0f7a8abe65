/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct convolution's input as its inner loop reads it: copies of one image (COLUMN_COPIES) or
 * rows of a ring (LINE_BUFFER). Where each number goes is direct_plan.h's; POINTWISE needs no copy.
 */
#ifndef TN_LAYERS_CONV_DIRECT_LAYOUT_H
#define TN_LAYERS_CONV_DIRECT_LAYOUT_H

#include "conv/direct_plan.h"

/* What a plane of the output sees of one group of one image or volume. */
typedef struct tn_direct_source {
    const float *input; /* of the group */
    int64_t plane;      /* that the first plane of the kernel sees; below 0 and from in_depth on:
                           padding */
    int64_t column;     /* LINE_BUFFER: of the padded row, that the piece's first output sees */
} tn_direct_source;

/* COLUMN_COPIES: lays it out. Rows are written in ascending order, so that an overrun is
 * overwritten. */
void tn_direct_layout_column_copies(const tn_direct_plan *plan, float *copy,
                                    const tn_direct_source *source);
/* LINE_BUFFER: copies row `padded_row`, counted from the first padded one, into its slot of the
 * ring. */
void tn_direct_layout_row(const tn_direct_plan *plan, float *ring, const tn_direct_source *source,
                          int64_t padded_row);

#endif
