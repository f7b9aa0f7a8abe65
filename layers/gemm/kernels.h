/* SPDX-License-Identifier: Apache-2.0 */
/* Gemm's own kernels. */
#ifndef TN_LAYERS_GEMM_KERNELS_H
#define TN_LAYERS_GEMM_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel *const tn_gemm_kernels[6];

#endif
