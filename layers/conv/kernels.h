/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv's kernels on the processor, one a level: direct_kernel.c, int8_kernel.c, depthwise.c,
 * winograd/; and the convolutions of integers, which are in integer/.
 */
#ifndef TN_LAYERS_CONV_KERNELS_H
#define TN_LAYERS_CONV_KERNELS_H

#include <tenon/plugin/rewrite.h>

extern const tn_kernel tn_conv_direct_baseline, tn_conv_direct_avx2, tn_conv_direct_avx512;
extern const tn_kernel tn_conv_int8_baseline, tn_conv_int8_avx2, tn_conv_int8_avx512vnni;
extern const tn_kernel tn_conv_depthwise_baseline, tn_conv_depthwise_avx2,
    tn_conv_depthwise_avx512vnni;

extern const tn_operator tn_conv_integer_10, tn_q_linear_conv_10, tn_q_linear_conv_add_1;
extern const tn_kernel tn_conv_integer_baseline, tn_conv_integer_avx2, tn_conv_integer_avx512vnni,
    tn_q_linear_conv_baseline, tn_q_linear_conv_avx2, tn_q_linear_conv_avx512vnni;

#if defined(__x86_64__)
extern const tn_kernel tn_conv_winograd_avx2, tn_conv_winograd_avx512; /* winograd/ */
/* integer/tiles.c */
extern const tn_kernel tn_q_linear_conv_tiles_amx, tn_q_linear_conv_add_tiles_amx,
    tn_q_linear_conv_tiles_avx512vnni, tn_q_linear_conv_add_tiles_avx512vnni;
#endif

extern const tn_rewrite *const tn_conv_rewrites[4]; /* integer/rewrites.c */

#endif
