/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of 16-bit floats; see cuda_online.cuh. */
#include "attention/cuda/cuda_online.cuh"

extern "C" cudaError_t tn_cuda_attention_f16(const tn_cuda_attention *job, cudaStream_t stream) {
    return launch_all<__half>(*job, stream);
}
