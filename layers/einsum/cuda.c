/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum on CUDA, by kit/cuda/any/sum/sum.cu. */
#include "einsum/einsum.h"
#include "kit/cuda/any/sum/sum_job.h"
#include "kit/operator/layer.h"

/* Labels that the output lacks. */
static tn_einsum_list find_sums(const tn_einsum *einsum) {
    tn_einsum_list sums = {0};
    for (uint32_t label = 0; label < TN_EINSUM_LABELS; label++)
        if (einsum->extents[label] >= 0 && !tn_einsum_has(&einsum->output, (uint8_t)label))
            tn_einsum_add(&sums, (uint8_t)label);
    return sums;
}

static tn_status einsum_accepts(tn_call *call) {
    tn_einsum einsum;
    TN_TRY(tn_cuda_any_accepts(call));
    TN_TRY(tn_einsum_read(call, &einsum));
    return einsum.input_count <= TN_CUDA_EINSUM_INPUTS &&
                   find_sums(&einsum).count <= TN_CUDA_EINSUM_SUMS
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static void read_operand(const tn_call *call, const tn_einsum *einsum, const tn_einsum_list *sums,
                         uint32_t input, tn_cuda_einsum_job *job) {
    int64_t strides[TN_EINSUM_LABELS];
    tn_einsum_strides(call, einsum, input, strides);
    job->inputs[input] = call->inputs[input]->data;
    for (uint32_t i = 0; i < einsum->output.count; i++)
        job->steps[input][i] = strides[einsum->output.labels[i]];
    for (uint32_t i = 0; i < sums->count; i++)
        job->sum_steps[input][i] = strides[sums->labels[i]];
}

static tn_status einsum_run(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    tn_einsum einsum;
    TN_TRY(tn_einsum_read(call, &einsum));
    const tn_einsum_list sums = find_sums(&einsum);
    tn_cuda_einsum_job job = {.y = y->data,
                              .type = y->type,
                              .count = (uint32_t)tn_element_count(y),
                              .input_count = einsum.input_count,
                              .rank = y->rank,
                              .sums = sums.count,
                              .is_empty = tn_einsum_count(&einsum, &sums) == 0};
    if (job.count == 0) return TN_OK;
    for (uint32_t i = 0; i < y->rank; i++)
        job.extents[i] = y->shape[i];
    for (uint32_t i = 0; i < sums.count; i++)
        job.sum_extents[i] = einsum.extents[sums.labels[i]];
    for (uint32_t input = 0; input < einsum.input_count; input++)
        read_operand(call, &einsum, &sums, input, &job);
    return tn_cuda_any_run(call, tn_cuda_einsum_launch, &job);
}

TN_CUDA_ANY_KERNEL(einsum_elements, "", "Einsum", "elements",
                   "An element of the output a thread, of any type.", .accepts = einsum_accepts,
                   .run = einsum_run);
TN_CUDA_LAYER(einsum, &einsum_elements);
