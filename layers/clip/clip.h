/* SPDX-License-Identifier: Apache-2.0 */
/* Clip's parameters and bounds, shared by its operator (operator.c) and kernels (kernels.c). */
#ifndef TN_LAYERS_CLIP_H
#define TN_LAYERS_CLIP_H

#include <tenon/plugin.h>

typedef struct tn_clip_params {
    uint64_t present;
    float min, max; /* before opset 11 */
} tn_clip_params;

/* The bounds of a clip of real numbers: infinite where there are none. False where they are inputs
 * without a value yet. */
bool tn_clip_bounds(const tn_call *call, double *out_low, double *out_high);

#endif
