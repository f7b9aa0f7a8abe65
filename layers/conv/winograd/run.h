/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of Winograd's algorithm needs to know; see kernel.c and run.c. */
#ifndef TN_LAYERS_CONV_WINOGRAD_RUN_H
#define TN_LAYERS_CONV_WINOGRAD_RUN_H

#include "conv/geometry.h"
#include "conv/winograd/tiles.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/epilogue.h>

enum { TN_WINOGRAD_CHUNK = 2 /* panels whose sums are stored together */ };

typedef struct tn_winograd_state {
    const tn_winograd_level *level;
    const float *weights; /* [panel][element][channel][filter of the panel] */
    int64_t panels;
    tn_float_epilogue epilogue;
} tn_winograd_state;

typedef struct tn_winograd_context {
    tn_kernel_context kept;
    tn_conv_geometry geometry;
    int64_t down, across;                             /* tiles of an image */
    int64_t channels;                                 /* as they are stored: whole vectors */
    int64_t tile_floats, element_floats, sums_floats; /* see describe_buffers */
    int64_t groups, blocks, parts; /* of tiles that are multiplied at once; of groups; of panels */
    int64_t thread_floats;
} tn_winograd_context;

typedef struct tn_winograd_run {
    const tn_winograd_state *state;
    const tn_winograd_context *context;
    const float *x, *residual;
    float *y;
    float *bias;    /* of the filters of all panels */
    float *buffers; /* thread_floats for each thread */
} tn_winograd_run;

/* On the threads of parallel_for. */
tn_status tn_winograd_run_all(tn_call *call, tn_winograd_run *run);

#endif
