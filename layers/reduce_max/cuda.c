/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMax on CUDA: a row of the table of kit/cuda/reduce/reduce.h. */
#include "kit/cuda/reduce/reduce.h"

TN_CUDA_REDUCE_KERNEL(reduce_max, "ReduceMax", TN_REDUCE_MAX, TN_REDUCE_AS_IT_IS);
