/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of the direct convolution's kernels, and the geometry they read from a Conv node.
 */
#ifndef TN_LAYERS_CONV_DIRECT_KERNEL_H
#define TN_LAYERS_CONV_DIRECT_KERNEL_H

#include "conv/direct.h"

/* False for what the direct convolution does not do: ranks other than 3 and 4, extents of zero.
 * Reads shapes and fields of a Conv node (geometry.c). */
bool tn_conv_geometry_read(const tn_call *call, tn_conv_geometry *out_geometry);

tn_status tn_conv_direct_accepts(tn_call *call);
tn_status tn_conv_direct_prepare(tn_call *call);
void tn_conv_direct_release(tn_call *call);
tn_status tn_conv_direct_open(tn_call *call);
void tn_conv_direct_close(tn_call *call);
tn_status tn_conv_direct_reshape(tn_call *call);
tn_status tn_conv_direct_run(tn_call *call);

/* The kernels, one a processor level (call->user is the level). */
extern const tn_kernel tn_conv_direct_baseline, tn_conv_direct_avx2, tn_conv_direct_avx512;

#endif
