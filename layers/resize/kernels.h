/* SPDX-License-Identifier: Apache-2.0 */
/* Resize's own kernels. */
#ifndef TN_LAYERS_RESIZE_KERNELS_H
#define TN_LAYERS_RESIZE_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel *const tn_resize_kernels[7];
/* bytes.c: the nearest element of 8-bit tensors. */
extern const tn_kernel tn_resize_bytes;

#endif
