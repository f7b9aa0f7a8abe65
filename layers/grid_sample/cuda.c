/* SPDX-License-Identifier: Apache-2.0 */
/* GridSample on CUDA, by kit/cuda/any/spatial.cu. */
#include "kit/cuda/any/spatial_job.h"
#include "kit/operator/layer.h"

/* The kernels' own; a mode has another name from opset 20 on. */
typedef struct grid_params {
    uint64_t present;
    bool align_corners;
    uint32_t mode, padding_mode;
} grid_params;
#define FIELDS(mode_default, mode_choices)                                                         \
    {                                                                                              \
        TN_FIELD(grid_params, align_corners, TN_FIELD_BOOL, TN_OPTIONAL, "0",                      \
                 "whether -1 and 1 are the middles of the outer elements instead of their edges"), \
            TN_FIELD_CHOICE(grid_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, mode_default,           \
                            mode_choices, "how it is interpolated"),                               \
            TN_FIELD_CHOICE(grid_params, padding_mode, TN_FIELD_ENUM, TN_OPTIONAL, "zeros",        \
                            "zeros|border|reflection", "what lies outside"),                       \
    }
static const tn_field fields_16[] = FIELDS("bilinear", "bilinear|nearest|bicubic");
static const tn_field fields_20[] = FIELDS("linear", "linear|nearest|cubic");

static tn_status grid_run(tn_call *call) {
    const grid_params *params = call->kernel_params;
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
                       TN_FIELDS(grid_params, table))
GRID(grid_16, 16, 19, fields_16);
GRID(grid_20, 20, 0, fields_20);
TN_CUDA_LAYER(grid_sample, &grid_16, &grid_20);
