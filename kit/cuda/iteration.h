/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a CUDA kernel goes through an output and the inputs that its elements come from: axes in the
 * order in which the output lies, with each input's step along them. Formats may differ (linear and
 * channels last), inputs may be broadcast; neighbouring axes are merged where all steps allow it.
 */
#ifndef TN_KIT_CUDA_WALK_H
#define TN_KIT_CUDA_WALK_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_ITERATION_INPUTS = 8 };

typedef struct tn_cuda_iteration {
    uint32_t rank, input_count;
    int64_t extents[TN_MAX_RANK];
    int64_t strides[TN_CUDA_ITERATION_INPUTS][TN_MAX_RANK];
} tn_cuda_iteration;

/* Whether the tensor lies linear or with its channels last. */
bool tn_cuda_iteration_knows(const tn_tensor *tensor);

void tn_cuda_iteration_init(tn_cuda_iteration *iteration, const tn_tensor *output);
/* One more input, seen with these extents, which broadcast to the output's aligned at the last
 * axis; `tensor` says how it lies: packed, or, with its channels last and these extents its own, in
 * rows at one distance. `output` as in init. */
void tn_cuda_iteration_add(tn_cuda_iteration *iteration, const tn_tensor *output,
                           const tn_tensor *tensor, uint32_t rank, const int64_t *shape);
/* Drops axes of one element and merges others; rank is at least 1 then. False: no elements. */
bool tn_cuda_iteration_finish(tn_cuda_iteration *iteration);
/* Whether 32-bit numbers count the elements up to the last one of each input. */
bool tn_cuda_iteration_is_small(const tn_cuda_iteration *iteration);

#ifdef __cplusplus
}
#endif

#endif
