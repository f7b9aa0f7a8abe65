/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes, and what callbacks of kernels of any type share; see each.h. */
#include "kit/cuda/any/each.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/region.h>

bool tn_cuda_box_init(tn_cuda_box *box, uint32_t rank, const int64_t *shape) {
    *box = (tn_cuda_box){.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        if (shape[i] == 0) return false;
    const int64_t count = tn_infer_product(shape, 0, rank);
    if (count <= 0 || count > TN_CUDA_MOST_ELEMENTS) return false;
    box->count = (uint32_t)count;
    for (uint32_t i = 0; i < rank; i++)
        box->extents[i] = tn_divider_make((uint32_t)shape[i]);
    return true;
}

void tn_cuda_box_broadcast(tn_cuda_box *box, uint32_t k, uint32_t rank, const int64_t *shape) {
    int64_t strides[TN_MAX_RANK];
    tn_region_strides(rank, shape, strides);
    for (uint32_t i = 0; i < rank; i++)
        box->steps[k][box->rank - rank + i] = shape[i] == 1 ? 0 : strides[i];
}

static bool is_readable(const tn_tensor *tensor) {
    return !tensor || (tensor->format == TN_LINEAR && tensor->kind == 0 &&
                       tn_element_count(tensor) <= TN_CUDA_MOST_ELEMENTS);
}

tn_status tn_cuda_any_accepts(tn_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++)
        if (!is_readable(call->inputs[i])) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < call->output_count; i++)
        if (!is_readable(call->outputs[i])) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status tn_cuda_any_run(tn_call *call, tn_cuda_any_launch launch, const void *job) {
    if (tn_cuda_any_accepts(call) != TN_OK)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "a tensor of more than 2^31 - 1 elements");
    const int before = tn_cuda_enter(call);
    const cudaError_t error = launch(job, call->stream);
    tn_cuda_leave(call, before);
    return tn_cuda_status(call, error, "launching a kernel");
}
