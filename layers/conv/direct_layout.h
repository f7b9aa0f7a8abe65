/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct convolution's input as its inner loop reads it: copies of one image (COLUMN_COPIES) or
 * rows of a ring (LINE_BUFFER). Where each number goes is direct_plan.h's; POINTWISE needs no copy.
 */
#ifndef TN_LAYERS_CONV_DIRECT_LAYOUT_H
#define TN_LAYERS_CONV_DIRECT_LAYOUT_H

#include "conv/direct_plan.h"

/* COLUMN_COPIES: lays out one group of one image. Rows are written in ascending order, so that an
 * overrun is overwritten. */
void tn_direct_layout_column_copies(const tn_direct_plan *plan, float *copy, const float *input);
/* LINE_BUFFER: copies row `padded_row` of one group of one image, counted from the first padded
 * one, into its slot of the ring. */
void tn_direct_layout_row(const tn_direct_plan *plan, float *ring, const float *input,
                          int64_t padded_row);

#endif
