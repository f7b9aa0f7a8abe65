/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on CUDA: those of kernels.h along adjacent axes of floats, and all of any type along
 * any axes. */
#include "kit/cuda/any/lane_job.h"
#include "kit/cuda/reduce/reduce.h"
#include "kit/reduce/reduce.h"

#define FLOATS TN_CUDA_REDUCE_KERNEL
#include "reduce/kernels.h"

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
#define TYPES(prefix, name, combine, map, finish, lane, table)                                     \
    static const tn_cuda_lane_kind prefix##_lane = TN_CUDA_LANE_##lane;                            \
    TN_CUDA_ANY_KERNEL(prefix##_any, "", name, "blocks", "Any axes and types, a lane a block.",    \
                       TN_COMBINATIONS(table##_combinations), .accepts = tn_cuda_any_accepts,      \
                       .run = any_run, .user = (void *)(uintptr_t)&prefix##_lane);
#include "reduce/kernels.h"

extern const tn_kernel *const tn_reduce_cuda_kernels[];
const tn_kernel *const tn_reduce_cuda_kernels[] = {
#define FLOATS(prefix, ...) &prefix##_lanes,
#define TYPES(prefix, ...)  &prefix##_any,
#include "reduce/kernels.h"
    NULL};
