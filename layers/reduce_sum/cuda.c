/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSum on CUDA: a row of the table of kit/cuda/reduce/reduce.h. */
#include "kit/cuda/reduce/reduce.h"

TN_CUDA_REDUCE_KERNEL(reduce_sum, "ReduceSum", TN_REDUCE_SUM, TN_REDUCE_AS_IT_IS);
