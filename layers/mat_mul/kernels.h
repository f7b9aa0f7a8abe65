/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul's own kernels. */
#ifndef TN_LAYERS_MAT_MUL_KERNELS_H
#define TN_LAYERS_MAT_MUL_KERNELS_H

#include <tenon/plugin.h>

extern const tn_kernel *const tn_mat_mul_kernels[9];
extern const tn_kernel tn_mat_mul_batched_baseline, tn_mat_mul_batched_avx2,
    tn_mat_mul_batched_avx512;

#endif
