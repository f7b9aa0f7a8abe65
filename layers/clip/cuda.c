/* SPDX-License-Identifier: Apache-2.0 */
/* Clip on CUDA, with bounds that are constants: a row of the table of
 * kit/cuda/pointwise/pointwise.h. */
#include "clip/clip.h"
#include "kit/cuda/pointwise/pointwise.h"

static bool clip_read(const tn_call *call, float *out_low, float *out_high) {
    double low = 0, high = 0;
    if (!tn_clip_bounds(call, &low, &high)) return false;
    *out_low = (float)low;
    *out_high = (float)high;
    return true;
}

static const tn_cuda_map_user clip_user = {TN_ACTIVATION_CLIP, NULL, NULL, clip_read};
TN_CUDA_MAP_KERNEL_TABLE(clip, "", "Clip", tn_cuda_clip_combinations);
