/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The convolution of few places (cuda_deep.cu): copies of many bytes that one thread begins, and
 * blocks of a cluster that write to each other's shared memory ("PTX ISA", asynchronous bulk
 * copies, mbarrier, barrier.cluster). Compute capability 9.0. Private to it.
 */
#ifndef TN_LAYERS_CONV_CUDA_DEEP_CLUSTER_CUH
#define TN_LAYERS_CONV_CUDA_DEEP_CLUSTER_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ __forceinline__ uint32_t address_of(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* One thread's: begins to bring `bytes`, of which `arrived` will tell. */
__device__ __forceinline__ void bring(void *to, const void *from, uint32_t bytes,
                                      uint64_t *arrived) {
    const uint32_t barrier = address_of(arrived);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(address_of(to)),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void wait_for(uint64_t *arrived) {
    const uint32_t barrier = address_of(arrived);
    uint32_t is_done = 0;
    while (!is_done)
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], 0;\n"
                     "selp.u32 %0, 1, 0, done;\n"
                     "}"
                     : "=r"(is_done)
                     : "r"(barrier)
                     : "memory");
}

__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* To the shared memory of another block of the cluster. */
__device__ __forceinline__ void push(const float *to, uint32_t block, float4 value) {
    uint32_t address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(address)
                 : "r"(address_of(to)), "r"(block));
    asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(value.x),
                 "f"(value.y), "f"(value.z), "f"(value.w)
                 : "memory");
}

#endif

} // namespace

#endif
