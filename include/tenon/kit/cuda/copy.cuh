/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies from the GPU's memory to a block's shared memory that no register waits for: all are in
 * flight at once. Nothing of the host's.
 */
#ifndef TENON_KIT_CUDA_COPY_CUH
#define TENON_KIT_CUDA_COPY_CUH

#include <stdint.h>

/* 4 bytes; zeros where they are not wanted, and nothing is read then. */
static __device__ __forceinline__ void tn_copy_four(void *to, const void *from, bool is_wanted) {
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(to);
    const int bytes = is_wanted ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from),
                 "r"(bytes)
                 : "memory");
}

/* 16 bytes, both sides aligned to them. */
static __device__ __forceinline__ void tn_copy_sixteen(void *to, const void *from) {
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}

/* The same; zeros where they are not wanted, and nothing is read then. */
static __device__ __forceinline__ void tn_copy_sixteen(void *to, const void *from, bool is_wanted) {
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(to);
    const int bytes = is_wanted ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "r"(bytes)
                 : "memory");
}

/* Copies since the last such call are one group. */
static __device__ __forceinline__ void tn_copy_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for this thread's groups but for the last N of them. */
template <int N> static __device__ __forceinline__ void tn_copy_wait_for_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Waits for this thread's copies; other threads' need a barrier after it. */
static __device__ __forceinline__ void tn_copy_wait() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif
