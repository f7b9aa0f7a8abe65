/* SPDX-License-Identifier: Apache-2.0 */
/* The reductions of kernels.h on CUDA. */
#include "kit/cuda/reduce/reduce.h"

#define KERNELS TN_CUDA_REDUCE_KERNEL
#include "reduce/kernels.h"
#undef KERNELS

#define KERNELS(prefix, ...) &prefix##_lanes,
extern const tn_kernel *const tn_reduce_cuda_kernels[];
const tn_kernel *const tn_reduce_cuda_kernels[] = {
#include "reduce/kernels.h"
    NULL};
