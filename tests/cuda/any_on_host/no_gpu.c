/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that callbacks beside those of kit/cuda/any name, and that any_on_host never does. */
#include "kit/cuda/pointwise/pointwise_job.h"
#include "kit/cuda/reduce/reduce_job.h"
#include "kit/cuda/reduce/softmax_job.h"

cudaError_t tn_cuda_reduce_launch(const tn_cuda_reduce_job *job, cudaStream_t stream) {
    (void)job, (void)stream;
    return cudaErrorNotSupported;
}
cudaError_t tn_cuda_softmax_launch(tn_type type, bool is_logarithm, const void *x, void *y,
                                   const tn_lanes *lanes, cudaStream_t stream) {
    (void)type, (void)is_logarithm, (void)x, (void)y, (void)lanes, (void)stream;
    return cudaErrorNotSupported;
}
cudaError_t tn_cuda_map_launch(tn_type type, const tn_cuda_map_job *job, cudaStream_t stream) {
    (void)type, (void)job, (void)stream;
    return cudaErrorNotSupported;
}
cudaError_t tn_cuda_combine_launch(tn_type type, tn_type b_type, bool is_wide,
                                   const tn_cuda_combine_job *job, cudaStream_t stream) {
    (void)type, (void)b_type, (void)is_wide, (void)job, (void)stream;
    return cudaErrorNotSupported;
}
