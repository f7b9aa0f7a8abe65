/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSumSquare on CUDA: a row of the table of kit/cuda/reduce/reduce.h. */
#include "kit/cuda/reduce/reduce.h"

TN_CUDA_REDUCE_KERNEL(reduce_sum_square, "ReduceSumSquare", TN_REDUCE_SUM_SQUARE,
                      TN_REDUCE_AS_IT_IS);
