/* SPDX-License-Identifier: Apache-2.0 */
/* Col2Im on CUDA, by kit/cuda/any/window/window.cu. */
#include "col2im/col2im.h"
#include "kit/cuda/any/window/window_job.h"
#include "kit/operator/layer.h"

static tn_status col2im_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_cuda_col2im_job job = {
        .x = x->data, .y = y->data, .type = x->type, .count = (uint32_t)tn_element_count(y)};
    if (job.count == 0) return TN_OK;
    TN_TRY(tn_col2im_window(call, &job.window));
    job.taps = tn_infer_product(job.window.kernel, 0, job.window.rank);
    job.columns = tn_infer_product(job.window.output, 0, job.window.rank);
    job.pixels = tn_infer_product(job.window.input, 0, job.window.rank);
    return tn_cuda_any_run(call, tn_cuda_col2im_launch, &job);
}

TN_CUDA_ANY_KERNEL(col2im_elements, "", "Col2Im", "elements", "An element of an image a thread.",
                   .accepts = tn_cuda_any_accepts, .run = col2im_run);
TN_CUDA_LAYER(col2im, &col2im_elements);
