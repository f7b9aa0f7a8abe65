/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled sources, ready to be launched: from the process's table, where nodes share them, from
 * the cache on disk (fused_cache.h), or compiled now (nvrtc.h).
 */
#ifndef TN_KIT_CUDA_FUSED_FUSED_PROGRAM_H
#define TN_KIT_CUDA_FUSED_FUSED_PROGRAM_H

#include "kit/cuda/fused/fused_source.h"

#include <cuda_runtime_api.h>

typedef struct tn_cuda_fused_program tn_cuda_fused_program;

/* Whether sources can be compiled and loaded here at all. */
bool tn_cuda_fused_program_is_possible(const tn_host *host);

/* The program of a source on the call's GPU, which is the thread's current one. Given back by
 * release. [thread: any] */
tn_status tn_cuda_fused_program_retain(tn_call *call, const char *source,
                                       tn_cuda_fused_program **out_program);
void tn_cuda_fused_program_release(const tn_host *host, tn_cuda_fused_program *program);

/* Enqueues one of its kernels; the GPU is the thread's current one. */
cudaError_t tn_cuda_fused_program_launch(const tn_cuda_fused_program *program, bool is_wide,
                                         const tn_cuda_elements_job *job, unsigned int blocks,
                                         cudaStream_t stream);

#endif
