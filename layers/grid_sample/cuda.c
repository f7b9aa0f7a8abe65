/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample on CUDA, by kit/cuda/any/spatial.cu. */
#include "kit/cuda/any/spatial_job.h"
#include "grid_sample/fields.h"
#include "kit/operator/layer.h"

static tn_status grid_run(tn_call *call) {
    const tn_grid_sample_params *params = call->kernel_params;
    const tn_tensor *x = call->inputs[0], *grid = call->inputs[1], *y = call->outputs[0];
    if (tn_element_count(y) == 0) return TN_OK;
    tn_cuda_grid_job job = {.x = x->data,
                            .grid = grid->data,
                            .y = y->data,
                            .type = x->type,
                            .grid_type = grid->type,
                            .count = (uint32_t)tn_element_count(y),
                            .axes = x->rank - 2,
                            .mode = params->mode,
                            .padding = params->padding_mode,
                            .align_corners = params->align_corners,
                            .channels = tn_divider_make((uint32_t)x->shape[1]),
                            .positions =
                                tn_divider_make((uint32_t)tn_infer_product(y->shape, 2, y->rank)),
                            .plane = tn_infer_product(x->shape, 2, x->rank)};
    for (uint32_t i = 2; i < x->rank; i++)
        job.extents[i - 2] = x->shape[i];
    return tn_cuda_any_run(call, tn_cuda_grid_launch, &job);
}

#define GRID(symbol, low, high, table)                                                             \
    TN_CUDA_ANY_KERNEL(symbol, "", "GridSample", "elements", "An element of the output a thread.", \
                       .minimum_version = low, .maximum_version = high,                            \
                       .accepts = tn_cuda_any_accepts, .run = grid_run,                            \
                       TN_FIELDS(tn_grid_sample_params, table))
GRID(grid_16, 16, 19, grid_sample_16_fields);
GRID(grid_20, 20, 0, grid_sample_20_fields);
TN_CUDA_LAYER(grid_sample, &grid_16, &grid_20);
