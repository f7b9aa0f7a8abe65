/* SPDX-License-Identifier: Apache-2.0 */
/* What TopK and its kernels share. */
#ifndef TN_LAYERS_TOP_K_TOP_K_H
#define TN_LAYERS_TOP_K_TOP_K_H

#include "kit/operator/layer.h"
#include <tenon/kit/lanes.h>

/* The lanes along the axis, and how many of each are wanted. TN_ERROR_RANGE. */
tn_status tn_top_k_read(tn_call *call, tn_lanes *out_lanes, uint32_t *out_axis, int64_t *out_k);
bool tn_top_k_is_largest(const tn_call *call);

TN_LEVEL_KERNELS_EXTERN(tn_top_k);

#endif
