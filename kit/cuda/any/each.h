/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of any type (element.cuh) that go through elements of boxes: positions, and what every
 * callback of theirs does. For C and CUDA C++. Counts of a launch are below 2^31, offsets have 64
 * bits.
 */
#ifndef TN_KIT_CUDA_ANY_EACH_H
#define TN_KIT_CUDA_ANY_EACH_H

#include <tenon/kit/cuda/divider.h>
#include <tenon/kit/cuda/launch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The axes of a box, slowest first, and a step along each of them for up to four tensors. */
enum { TN_CUDA_BOX_TENSORS = 4 };
typedef struct tn_cuda_box {
    uint32_t rank, count; /* of axes, of elements: the product of the extents */
    tn_divider extents[TN_MAX_RANK];
    int64_t steps[TN_CUDA_BOX_TENSORS][TN_MAX_RANK];
} tn_cuda_box;

/* Of a linear shape, steps zero. False: no elements, or more than a launch counts. */
bool tn_cuda_box_init(tn_cuda_box *box, uint32_t rank, const int64_t *shape);
/* Steps of tensor `k` of this linear shape, which is broadcast to the box's, aligned at the last
 * axis. */
void tn_cuda_box_broadcast(tn_cuda_box *box, uint32_t k, uint32_t rank, const int64_t *shape);

/* TN_OK where all tensors are linear and have few enough elements. An extent of -1 will be looked
 * at in run. [called: build, load] */
tn_status tn_cuda_any_accepts(tn_call *call) TN_NOEXCEPT;

/* The call's GPU is current while `launch` runs; its error becomes the node's. False in *out_runs:
 * outputs have no elements. */
typedef cudaError_t (*tn_cuda_any_launch)(const void *job, cudaStream_t stream);
tn_status tn_cuda_any_run(tn_call *call, tn_cuda_any_launch launch, const void *job);

/* What most such kernels' tables have. */
#define TN_CUDA_ANY_KERNEL(symbol, domain_name, operator_name, kernel_name, words, ...)            \
    static const tn_kernel symbol = {                                                              \
        TN_KERNEL_BEGIN("cuda", domain_name, operator_name, kernel_name, 1, words),                \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE, __VA_ARGS__}
/* Of ONNX's operators whose other kernels are faster but not of every type. */
#define TN_CUDA_ANY_FALLBACK(symbol, operator_name, run_function)                                  \
    const tn_kernel symbol = {TN_KERNEL_BEGIN("cuda", "", operator_name, "elements", 1,            \
                                              "An element of the output a thread, of any type."),  \
                              .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE |           \
                                        TN_KERNEL_FALLBACK,                                        \
                              .accepts = tn_cuda_any_accepts, .run = run_function}

#ifdef __cplusplus
}
#endif

#endif
