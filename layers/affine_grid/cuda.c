/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid on CUDA, by kit/cuda/any/position/position.cu. */
#include "kit/cuda/any/position/position_job.h"
#include "affine_grid/fields.h"
#include "kit/operator/layer.h"

static tn_status affine_grid_run(tn_call *call) {
    const tn_affine_grid_params *params = call->kernel_params;
    const tn_tensor *theta = call->inputs[0], *grid = call->outputs[0];
    tn_cuda_affine_job job = {.theta = theta->data,
                              .y = grid->data,
                              .type = theta->type,
                              .count = (uint32_t)tn_element_count(grid),
                              .axes = grid->rank - 2,
                              .positions = tn_infer_product(grid->shape, 1, grid->rank - 1),
                              .align_corners = params->align_corners};
    for (uint32_t i = 0; i < job.axes; i++)
        job.extents[i] = grid->shape[1 + i];
    return tn_cuda_any_run(call, tn_cuda_affine_launch, &job);
}

TN_CUDA_ANY_KERNEL(affine_grid_elements, "", "AffineGrid", "elements",
                   "An element of the grid a thread, in double precision.",
                   .accepts = tn_cuda_any_accepts, .run = affine_grid_run,
                   TN_FIELDS(tn_affine_grid_params, affine_grid_fields));
TN_CUDA_LAYER(affine_grid, &affine_grid_elements);
