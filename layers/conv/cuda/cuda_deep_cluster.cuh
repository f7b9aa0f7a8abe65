/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of few places (cuda_deep.cu): copies of many bytes that one thread begins, and
 * blocks of a cluster that write to each other's shared memory ("PTX ISA", asynchronous bulk
 * copies, mbarrier, barrier.cluster). Compute capability 9.0. Private to it.
 */
#ifndef TN_LAYERS_CONV_CUDA_CUDA_DEEP_CLUSTER_CUH
#define TN_LAYERS_CONV_CUDA_CUDA_DEEP_CLUSTER_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ __forceinline__ uint32_t address_of(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* One thread's: a barrier that is passed once, when `bytes` have arrived. */
__device__ __forceinline__ void expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address_of(barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)),
        "r"(bytes)
        : "memory");
}

/* One thread's: begins to bring what `barrier` expects. */
__device__ __forceinline__ void bring(void *to, const void *from, uint32_t bytes,
                                      uint64_t *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(address_of(to)),
                 "l"(from), "r"(bytes), "r"(address_of(barrier))
                 : "memory");
}

__device__ __forceinline__ void wait_for(uint64_t *barrier) {
    uint32_t is_done = 0;
    while (!is_done)
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, done;\n"
                     "}"
                     : "=r"(is_done)
                     : "r"(address_of(barrier))
                     : "memory");
}

/* All blocks of the cluster have made their barriers: each says so, and waits for the others. */
__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* An address of this block's shared memory as another block of the cluster has it. */
__device__ __forceinline__ uint32_t address_in(uint32_t address, uint32_t block) {
    uint32_t theirs;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(address), "r"(block));
    return theirs;
}

/* 16 bytes to another block, whose barrier counts them; both as address_in says. */
__device__ __forceinline__ void push(uint32_t to, float4 value, uint32_t barrier) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, "
                 "%3, %4}, [%5];" ::"r"(to),
                 "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(barrier)
                 : "memory");
}

#endif

} // namespace

#endif
