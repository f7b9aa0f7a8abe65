/* SPDX-License-Identifier: Apache-2.0 */
/* What LpNormalization and its kernels of 32-bit floats share. */
#ifndef TN_LAYERS_NORMALIZE_LENGTHS_H
#define TN_LAYERS_NORMALIZE_LENGTHS_H

#include "kit/operator/layer.h"

/* The axis of a node. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_lp_normalization_axis(tn_call *call, uint32_t *out_axis);

TN_LEVEL_KERNELS_EXTERN(tn_lp_normalization);

#endif
