/* SPDX-License-Identifier: Apache-2.0 */
/* DFT and STFT on CUDA, by kit/cuda/any/sum/fourier.cu. */
#include "fourier/fourier.h"
#include "kit/cuda/any/sum/sum_job.h"
#include "kit/operator/layer.h"

/* The largest factor of a length that is no more than its root. */
static int64_t factor_of(int64_t length) {
    int64_t factor = 1;
    for (int64_t k = 2; k * k <= length; k++)
        if (length % k == 0) factor = k;
    return factor;
}

/* Rows of a prime length take its square: those are the processor's. */
static tn_status fourier_accepts(tn_call *call) {
    enum { LONGEST = 1 << 24, LONGEST_SUM = 1 << 14 };
    tn_fourier node = {0};
    TN_TRY(tn_cuda_any_accepts(call));
    TN_TRY(tn_fourier_read(call, &node));
    if (node.length > LONGEST) return TN_ERROR_UNSUPPORTED;
    return node.length / factor_of(node.length) <= LONGEST_SUM ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status fourier_reshape(tn_call *call) {
    tn_fourier node = {0};
    int64_t doubles = 0;
    TN_TRY(tn_fourier_read(call, &node));
    if (factor_of(node.length) > 1) doubles = node.rows;
    if (!tn_infer_add(doubles, 1, &doubles) ||
        !tn_infer_multiply(doubles, 2 * node.length, &doubles) || doubles > INT64_MAX / 16)
        return call->host->fail(call, TN_ERROR_MEMORY, "there are too many rows");
    call->workspace_bytes = (uint64_t)doubles * sizeof(double);
    return TN_OK;
}

static tn_cuda_fourier_steps steps_of(const tn_fourier_strides *strides) {
    return (tn_cuda_fourier_steps){strides->outer, strides->inner, strides->element};
}

static tn_status fourier_run(tn_call *call) {
    tn_fourier node = {0};
    TN_TRY(tn_fourier_read(call, &node));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    double *roots = call->workspace;
    const tn_cuda_fourier_job job = {.x = node.input->data,
                                     .window = node.window ? node.window->data : NULL,
                                     .y = node.output->data,
                                     .type = node.input->type,
                                     .window_type = node.window ? node.window->type : TN_F32,
                                     .length = node.length,
                                     .given = node.given,
                                     .bins = node.bins,
                                     .rows = node.rows,
                                     .inner = node.inner,
                                     .in = steps_of(&node.in),
                                     .out = steps_of(&node.out),
                                     .in_parts = node.in_parts,
                                     .is_inverse = node.is_inverse,
                                     .to_real = node.to_real,
                                     .factor = factor_of(node.length),
                                     .roots = roots,
                                     .middle = roots + 2 * node.length};
    return tn_cuda_any_run(call, tn_cuda_fourier_launch, &job);
}

#define STEPS(prefix, name)                                                                        \
    TN_CUDA_ANY_KERNEL(prefix##_two_steps, "", name, "two_steps",                                  \
                       "Sums over two factors of the length, an element a thread, in double "      \
                       "precision.",                                                               \
                       .accepts = fourier_accepts, .reshape = fourier_reshape, .run = fourier_run)
STEPS(dft, "DFT");
STEPS(stft, "STFT");
TN_CUDA_LAYER(fourier, &dft_two_steps, &stft_two_steps);
