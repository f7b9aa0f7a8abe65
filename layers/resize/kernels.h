/* SPDX-License-Identifier: Apache-2.0 */
/* Resize's kernels on the processor: kernels.c, nearest.c. */
#ifndef TN_LAYERS_RESIZE_KERNELS_H
#define TN_LAYERS_RESIZE_KERNELS_H

#include "kit/operator/layer.h"
#include "resize/resize.h"
#include <tenon/plugin/rewrite.h>

extern const tn_kernel *const tn_resize_kernels[5];
extern const tn_kernel tn_resize_int8_nearest;

/* quantized/: of 8-bit integers by weights. */
extern const tn_operator tn_quantized_resize_1;
TN_LEVEL_KERNELS_EXTERN(tn_quantized_resize);
extern const tn_rewrite *const tn_quantized_resize_rewrites[2];

/* Whether the last two axes alone change, each output of them depends on `most_taps` inputs at
 * most, and none lies outside of a crop. */
bool tn_resize_changes_images(const tn_resize_plan *plan, int64_t most_taps);
/* The same as far as it can be said without the extents that a run alone knows: reshape asks for
 * them. */
bool tn_resize_may_change_images(const tn_call *call);

#endif
