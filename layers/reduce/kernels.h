/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of reductions that have kernels of their own, by kit/reduce/reduce_kernel.h and by
 * kit/cuda/reduce/reduce.h; it is included where a table of kernels is made of it (operator.c,
 * cuda.c), with this macro defined for one row:
 *
 *     KERNELS(prefix, operator, what is joined, what becomes of the result)
 */
KERNELS(reduce_l1, "ReduceL1", TN_REDUCE_SUM_ABSOLUTE, TN_REDUCE_AS_IT_IS)
KERNELS(reduce_l2, "ReduceL2", TN_REDUCE_SUM_SQUARE, TN_REDUCE_ROOT)
KERNELS(reduce_max, "ReduceMax", TN_REDUCE_MAX, TN_REDUCE_AS_IT_IS)
KERNELS(reduce_mean, "ReduceMean", TN_REDUCE_SUM, TN_REDUCE_BY_COUNT)
KERNELS(reduce_min, "ReduceMin", TN_REDUCE_MIN, TN_REDUCE_AS_IT_IS)
KERNELS(reduce_sum, "ReduceSum", TN_REDUCE_SUM, TN_REDUCE_AS_IT_IS)
KERNELS(reduce_sum_square, "ReduceSumSquare", TN_REDUCE_SUM_SQUARE, TN_REDUCE_AS_IT_IS)
