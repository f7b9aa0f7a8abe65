/* SPDX-License-Identifier: Apache-2.0 */
/* Tile on CUDA, by kit/cuda/any/move.cu: axes that go on with themselves. */
#include "kit/cuda/any/move_job.h"
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>

static tn_status tile_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_cuda_pad_job job = {.x = x->data,
                           .y = y->data,
                           .bytes = (uint32_t)tn_element_bytes(x->type),
                           .mode = TN_CUDA_PAD_WRAP};
    if (!tn_cuda_box_init(&job.box, y->rank, y->shape)) return TN_OK;
    tn_region_strides(x->rank, x->shape, job.box.steps[0]);
    for (uint32_t i = 0; i < x->rank; i++)
        job.high[i] = x->shape[i];
    return tn_cuda_any_run(call, tn_cuda_pad_launch, &job);
}

static const char *const combinations[] = {"*, i64 -> *", "f16, i64 -> f16", "bf16, i64 -> bf16"};
TN_CUDA_ANY_KERNEL(tile_elements, "", "Tile", "elements", "An element of the output a thread.",
                   TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts, .run = tile_run);
TN_CUDA_LAYER(tile, &tile_elements);
