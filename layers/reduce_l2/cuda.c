/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceL2 on CUDA: a row of the table of kit/cuda/reduce/reduce.h. */
#include "kit/cuda/reduce/reduce.h"

TN_CUDA_REDUCE_KERNEL(reduce_l2, "ReduceL2", TN_REDUCE_SUM_SQUARE, TN_REDUCE_ROOT);
