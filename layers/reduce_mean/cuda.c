/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceMean on CUDA: a row of the table of kit/cuda/reduce/reduce.h. */
#include "kit/cuda/reduce/reduce.h"

TN_CUDA_REDUCE_KERNEL(reduce_mean, "ReduceMean", TN_REDUCE_SUM, TN_REDUCE_BY_COUNT);
