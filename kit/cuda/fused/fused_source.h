/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA source of a node and of what it absorbs, from what their operators declare: expressions
 * are read first and printed anew from what was read, so that nothing but their language gets to a
 * compiler. Shapes and formats are not in it: a source serves all of them. Compiling it is
 * fused_program.h.
 */
#ifndef TN_KIT_CUDA_FUSED_FUSED_SOURCE_H
#define TN_KIT_CUDA_FUSED_FUSED_SOURCE_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_FUSED_INPUTS = 8, TN_CUDA_FUSED_THREADS = 256 };

/* The kernels of a source: 16 bytes a thread of rows that lie so, and element by element. */
#define TN_CUDA_FUSED_WIDE   "tenon_wide"
#define TN_CUDA_FUSED_NARROW "tenon_narrow"

/* What they get, as the source declares it too: division by an extent as in number.cuh. */
typedef struct tn_cuda_fused_divider {
    uint32_t divisor, multiplier, shift;
} tn_cuda_fused_divider;
typedef struct tn_cuda_fused_job {
    const void *from[TN_CUDA_FUSED_INPUTS];
    void *to;
    float scales[TN_CUDA_FUSED_INPUTS]; /* of inputs in 8 bits */
    float inverse;                      /* one over the output's scale */
    uint32_t count, rank;
    tn_cuda_fused_divider extents[TN_MAX_RANK];
    uint32_t strides[TN_CUDA_FUSED_INPUTS][TN_MAX_RANK];
} tn_cuda_fused_job;

/* The tensors that the kernels read, in the order of `from`: the node's inputs, then the operands
 * of its epilogues, as tn_epilogue_tensors says. False: too many, or none. */
bool tn_cuda_fused_tensors(const tn_call *call, const tn_tensor **out_tensors, uint32_t *out_count);

/* Elements that a thread of the wide kernel does; 0: the types are not served. */
uint32_t tn_cuda_fused_each(const tn_call *call);

/* The source; null with the reason in `out_why` (TN_ERROR_MEMORY or TN_ERROR_UNSUPPORTED in
 * *out_status). Given back by host->deallocate. */
char *tn_cuda_fused_source(const tn_call *call, tn_status *out_status, char *out_why,
                           size_t why_bytes);

#ifdef __cplusplus
}
#endif

#endif
