/* SPDX-License-Identifier: Apache-2.0 */
/* Products of any type on CUDA, for cuda.c's table. */
#ifndef TN_LAYERS_MAT_MUL_CUDA_ANY_H
#define TN_LAYERS_MAT_MUL_CUDA_ANY_H

#include <tenon/plugin.h>

extern const tn_kernel tn_mat_mul_cuda_any, tn_mat_mul_integer_cuda_any,
    tn_q_linear_mat_mul_cuda_any;

#endif
