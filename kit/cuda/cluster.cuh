/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of many bytes that one thread begins and a barrier counts, and blocks of a cluster that
 * read and write each other's shared memory ("PTX ISA", asynchronous bulk copies, mbarrier,
 * barrier.cluster). Compute capability 9.0, but for tn_cuda_shared_address; elsewhere what a kernel
 * of one block a cluster calls does nothing. Nothing of the host's.
 */
#ifndef TN_KIT_CUDA_CLUSTER_CUH
#define TN_KIT_CUDA_CLUSTER_CUH

#include <cuda_runtime.h>
#include <stdint.h>

static __device__ __forceinline__ uint32_t tn_cuda_shared_address(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* One thread's: a barrier that is passed once, when `bytes` have arrived. */
static __device__ __forceinline__ void tn_cuda_barrier_expect(uint64_t *barrier, uint32_t bytes) {
    const uint32_t address = tn_cuda_shared_address(barrier);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes)
                 : "memory");
}

/* One thread's: begins to copy what `barrier` expects. */
static __device__ __forceinline__ void tn_cuda_bulk_copy(void *to, const void *from, uint32_t bytes,
                                                         uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(tn_cuda_shared_address(to)),
                 "l"(from), "r"(bytes), "r"(tn_cuda_shared_address(barrier))
                 : "memory");
}

static __device__ __forceinline__ void tn_cuda_barrier_wait(uint64_t *barrier) {
    uint32_t is_done = 0;
    while (!is_done)
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, done;\n"
                     "}"
                     : "=r"(is_done)
                     : "r"(tn_cuda_shared_address(barrier))
                     : "memory");
}

/* All blocks of the cluster have initialised their barriers: each says so, and waits for the
 * others.
 */
static __device__ __forceinline__ void tn_cuda_cluster_arrive() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
static __device__ __forceinline__ void tn_cuda_cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Every block sees what the others have written. */
static __device__ __forceinline__ void tn_cuda_cluster_sync() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

/* An address of this block's shared memory as another block of the cluster has it. */
static __device__ __forceinline__ uint32_t tn_cuda_cluster_address(uint32_t address,
                                                                   uint32_t block) {
    uint32_t theirs;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(address), "r"(block));
    return theirs;
}

/* 16 bytes to another block, whose barrier counts them; both are addresses there. */
static __device__ __forceinline__ void tn_cuda_cluster_push(uint32_t to, float4 value,
                                                            uint32_t barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, "
                 "%3, %4}, [%5];" ::"r"(to),
                 "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(barrier)
                 : "memory");
}
static __device__ __forceinline__ void tn_cuda_cluster_push(uint32_t to, int4 value,
                                                            uint32_t barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%0], {%1, %2, "
                 "%3, %4}, [%5];" ::"r"(to),
                 "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier)
                 : "memory");
}

#else

static __device__ __forceinline__ void tn_cuda_cluster_sync() {}

#endif

/* A number in this block's shared memory as it is in that of another block of the cluster; before
 * capability 9.0 there is none. */
static __device__ __forceinline__ float tn_cuda_cluster_load(const float *at, uint32_t block) {
    float value = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(value)
                 : "r"(tn_cuda_cluster_address(tn_cuda_shared_address(at), block))
                 : "memory");
#else
    (void)at, (void)block;
#endif
    return value;
}

#endif
