/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceL1 on CUDA: a row of the table of kit/cuda/reduce/reduce.h. */
#include "kit/cuda/reduce/reduce.h"

TN_CUDA_REDUCE_KERNEL(reduce_l1, "ReduceL1", TN_REDUCE_SUM_ABSOLUTE, TN_REDUCE_AS_IT_IS);
