/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of 32-bit floats, multiplied as they are; see cuda_online.cuh. */
#include "attention/cuda/cuda_online.cuh"

extern "C" cudaError_t tn_cuda_attention_f32(const tn_cuda_attention *job, cudaStream_t stream) {
    return launch_all<float>(*job, stream);
}
