/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMin on CUDA: a row of the table of kit/cuda/reduce/reduce.h. */
#include "kit/cuda/reduce/reduce.h"

TN_CUDA_REDUCE_KERNEL(reduce_min, "ReduceMin", TN_REDUCE_MIN, TN_REDUCE_AS_IT_IS);
