/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose's own kernels. */
#ifndef TN_LAYERS_TRANSPOSE_KERNELS_H
#define TN_LAYERS_TRANSPOSE_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel *const tn_transpose_kernels[5];

#endif
