/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on CUDA: those of kernels.h along adjacent axes of floats, and all of any type along
 * any axes. */
#include "kit/cuda/any/lane_job.h"
#include "kit/cuda/reduce/reduce.h"
#include "kit/reduce/reduce.h"

#define KERNELS TN_CUDA_REDUCE_KERNEL
#include "reduce/kernels.h"
#undef KERNELS

static tn_status any_run(tn_call *call) {
    uint32_t mask = 0;
    TN_TRY(tn_reduce_axes(call, &mask));
    return tn_cuda_lane_run(call, mask, *(const tn_cuda_lane_kind *)call->user);
}

static const char *const any_combinations[] = {"* -> *",           "*, i64? -> *",
                                               "f16 -> f16",       "bf16 -> bf16",
                                               "f16, i64? -> f16", "bf16, i64? -> bf16"};
/* Products of lower types are below their smallest numbers: they are not offered. */
static const char *const product_combinations[] = {"* -> *", "*, i64? -> *"};
#define ANY(name, lane_kind, table)                                                                \
    static const tn_cuda_lane_kind any_##name##_kind = lane_kind;                                  \
    TN_CUDA_ANY_KERNEL(any_##name, "", "Reduce" #name, "blocks",                                   \
                       "Any axes and types, a lane a block.", TN_COMBINATIONS(table),              \
                       .accepts = tn_cuda_any_accepts, .run = any_run,                             \
                       .user = (void *)(uintptr_t)&any_##name##_kind)
ANY(L1, TN_CUDA_LANE_L1, any_combinations);
ANY(L2, TN_CUDA_LANE_L2, any_combinations);
ANY(LogSum, TN_CUDA_LANE_LOG_SUM, any_combinations);
ANY(LogSumExp, TN_CUDA_LANE_LOG_SUM_EXP, any_combinations);
ANY(Max, TN_CUDA_LANE_MAX, any_combinations);
ANY(Mean, TN_CUDA_LANE_MEAN, any_combinations);
ANY(Min, TN_CUDA_LANE_MIN, any_combinations);
ANY(Prod, TN_CUDA_LANE_PROD, product_combinations);
ANY(Sum, TN_CUDA_LANE_SUM, any_combinations);
ANY(SumSquare, TN_CUDA_LANE_SUM_SQUARE, any_combinations);

#define KERNELS(prefix, ...) &prefix##_lanes,
extern const tn_kernel *const tn_reduce_cuda_kernels[];
const tn_kernel *const tn_reduce_cuda_kernels[] = {
#include "reduce/kernels.h"
    &any_L1,  &any_L2,   &any_LogSum, &any_LogSumExp, &any_Max, &any_Mean,
    &any_Min, &any_Prod, &any_Sum,    &any_SumSquare, NULL};
