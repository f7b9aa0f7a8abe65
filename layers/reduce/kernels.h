/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of reductions' kernels. It is included where a table is made of it (operator.c,
 * cuda.c), with a macro defined for one or more sorts of rows:
 *
 *     FLOATS(prefix, operator, what is joined, what becomes of the result)
 *         floats along adjacent axes: kit/reduce/reduce_kernel.h, kit/cuda/reduce/reduce.h
 *     HOST_FLOATS: the same on the processor alone
 *     TYPES(prefix, operator, what joins two cells, what is done with them before, and with the
 *           result; the lane and the combinations on CUDA)
 *         any type: kit/reduce/reduce_types.h, kit/cuda/any/lane_job.h
 */
#ifndef HOST_FLOATS
#define HOST_FLOATS(...)
#endif
#ifndef FLOATS
#define FLOATS(...)
#endif
#ifndef TYPES
#define TYPES(...)
#endif
FLOATS(reduce_l1, "ReduceL1", TN_REDUCE_SUM_ABSOLUTE, TN_REDUCE_AS_IT_IS)
TYPES(reduce_l1, "ReduceL1", ADD, ABSOLUTE, AS_IT_IS, L1, any)
FLOATS(reduce_l2, "ReduceL2", TN_REDUCE_SUM_SQUARE, TN_REDUCE_ROOT)
TYPES(reduce_l2, "ReduceL2", ADD, SQUARE, ROOT, L2, any)
TYPES(reduce_log_sum, "ReduceLogSum", ADD, PLAIN, LOG, LOG_SUM, any)
HOST_FLOATS(reduce_log_sum_exp, "ReduceLogSumExp", TN_REDUCE_LOG_SUM_EXP, TN_REDUCE_AS_IT_IS)
TYPES(reduce_log_sum_exp, "ReduceLogSumExp", ADD, PLAIN, LOG_SUM_EXP, LOG_SUM_EXP, any)
FLOATS(reduce_max, "ReduceMax", TN_REDUCE_MAX, TN_REDUCE_AS_IT_IS)
TYPES(reduce_max, "ReduceMax", MAX, PLAIN, AS_IT_IS, MAX, any)
FLOATS(reduce_mean, "ReduceMean", TN_REDUCE_SUM, TN_REDUCE_BY_COUNT)
TYPES(reduce_mean, "ReduceMean", ADD, PLAIN, MEAN, MEAN, any)
FLOATS(reduce_min, "ReduceMin", TN_REDUCE_MIN, TN_REDUCE_AS_IT_IS)
TYPES(reduce_min, "ReduceMin", MIN, PLAIN, AS_IT_IS, MIN, any)
HOST_FLOATS(reduce_prod, "ReduceProd", TN_REDUCE_PRODUCT, TN_REDUCE_AS_IT_IS)
TYPES(reduce_prod, "ReduceProd", MUL, PLAIN, AS_IT_IS, PROD, product)
FLOATS(reduce_sum, "ReduceSum", TN_REDUCE_SUM, TN_REDUCE_AS_IT_IS)
TYPES(reduce_sum, "ReduceSum", ADD, PLAIN, AS_IT_IS, SUM, any)
FLOATS(reduce_sum_square, "ReduceSumSquare", TN_REDUCE_SUM_SQUARE, TN_REDUCE_AS_IT_IS)
TYPES(reduce_sum_square, "ReduceSumSquare", ADD, SQUARE, AS_IT_IS, SUM_SQUARE, any)
#undef HOST_FLOATS
#undef FLOATS
#undef TYPES
