/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv's kernels on the processor, one a level: direct_kernel.c, int8_kernel.c, depthwise.c,
 * winograd/; and the convolutions of integers, which are in integer/.
 */
#ifndef TN_LAYERS_CONV_KERNELS_H
#define TN_LAYERS_CONV_KERNELS_H

#include "kit/operator/layer.h"

TN_LEVEL_KERNELS_EXTERN(tn_conv_direct);
TN_LEVEL_KERNELS_EXTERN(tn_conv_int8);
TN_LEVEL_KERNELS_EXTERN(tn_conv_depthwise);

extern const tn_operator tn_conv_integer_10, tn_q_linear_conv_10, tn_q_linear_conv_add_1;
TN_LEVEL_KERNELS_EXTERN(tn_conv_integer);
TN_LEVEL_KERNELS_EXTERN(tn_q_linear_conv);

#if defined(__x86_64__)
extern const tn_kernel tn_conv_winograd_avx2, tn_conv_winograd_avx512; /* winograd/ */
/* integer/tiles.c, integer/scaled_tiles.c */
TN_LEVEL_KERNELS_EXTERN(tn_conv_scaled_tiles);
TN_LEVEL_KERNELS_EXTERN(tn_q_linear_conv_tiles);
TN_LEVEL_KERNELS_EXTERN(tn_q_linear_conv_add_tiles);
#endif

extern const tn_rewrite *const tn_conv_rewrites[4]; /* integer/rewrites.c */

#endif
