/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the direct convolution has prepared, and one run of it, tile after tile. Packing and the
 * kernel's callbacks are direct_kernel.c, the input's layout direct_layout.c, a tile direct_body.h.
 */
#ifndef TN_LAYERS_CONV_DIRECT_RUN_H
#define TN_LAYERS_CONV_DIRECT_RUN_H

#include "conv/direct_plan.h"
#include <tenon/kit/epilogue.h>

typedef struct tn_direct_state {
    const tn_direct_level *level;
    const float *weights; /* null: each run packs them, of its own shape; group after group, block
                             after block: taps x channels of the block; then 1, NaN where one is not
                             finite */
    int64_t block;        /* that they are packed for */
    tn_float_epilogue epilogue;
} tn_direct_state;

/* One run, as the bodies of parallel_for see it. */
typedef struct tn_direct_run {
    const tn_direct_state *state;
    const tn_direct_plan *plan;
    const int32_t *offsets;
    const float *weights; /* packed */
    const float *input, *residual, *bias;
    float *output, *copies;
    int64_t input_pitch, residual_pitch, output_pitch; /* from an image of the batch to the next */
    int64_t image;                                     /* COLUMN_COPIES: whose input is laid out */
    int64_t chunk_tiles, chunks;
} tn_direct_run;

/* All images; sets `chunk_tiles`, `chunks` and `image` itself. */
tn_status tn_direct_run_all(tn_call *call, tn_direct_run *run);

#endif
