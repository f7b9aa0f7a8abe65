/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel does that may start while the one before it in the stream still runs; see
 * launch.cuh, which launches it so. For nvcc, and for what is compiled at run time.
 */
#ifndef TENON_KIT_CUDA_DEPENDENT_CUH
#define TENON_KIT_CUDA_DEPENDENT_CUH

/* The next kernel may start when all blocks are here. A kernel whose blocks take much shared memory
 * calls it behind its wait: else blocks of three kernels in a row fill some multiprocessors while
 * others have none (docs/decisions/starting-early.md). */
static __device__ __forceinline__ void tn_cuda_start_next() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Returns when the kernel before is done and its writes are seen. */
static __device__ __forceinline__ void tn_cuda_wait_for_last() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
