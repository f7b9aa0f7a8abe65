/* SPDX-License-Identifier: Apache-2.0 */
/* DepthToSpace and SpaceToDepth on CUDA: copies of boxes with their axes in another order. */
#include "blocks/blocks.h"
#include "kit/cuda/region/region.h"

static tn_status depth_to_space_run(tn_call *call) {
    return tn_depth_to_space_move(call, tn_cuda_region_copy);
}
static tn_status space_to_depth_run(tn_call *call) {
    return tn_space_to_depth_move(call, tn_cuda_region_copy);
}

#define RUNS(prefix, name)                                                                         \
    static const tn_kernel prefix##_runs = {                                                       \
        TN_KERNEL_BEGIN("cuda", "", name, "runs", 1,                                               \
                        "An element a thread; tiles where axes are swapped."),                     \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE,                                  \
        TN_COMBINATIONS(tn_cuda_region_combinations),                                              \
        .accepts = tn_cuda_region_accepts,                                                         \
        .run = prefix##_run,                                                                       \
    }
RUNS(depth_to_space, "DepthToSpace");
RUNS(space_to_depth, "SpaceToDepth");
TN_CUDA_LAYER(blocks, &depth_to_space_runs, &space_to_depth_runs);
