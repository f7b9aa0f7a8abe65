/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA source of a node and of what it absorbs, printed from the program that was read of them
 * (kit/elementwise/row_program.h), so that no character of an expression gets to a compiler. Shapes
 * and formats are not in it: a source serves all of them. Compiling it is fused_program.h.
 */
#ifndef TN_KIT_CUDA_FUSED_FUSED_SOURCE_H
#define TN_KIT_CUDA_FUSED_FUSED_SOURCE_H

#include "kit/cuda/pointwise/elements_job.h"

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_FUSED_INPUTS = TN_CUDA_ELEMENTS_INPUTS };

/* The kernels of a source: 16 bytes a thread of rows that lie so, and element by element. Both get
 * a tn_cuda_elements_job. */
#define TN_CUDA_FUSED_WIDE   "tenon_wide"
#define TN_CUDA_FUSED_NARROW "tenon_narrow"

/* The text of the headers that a source begins with; embedded when the library is built
 * (src/device/cuda/CMakeLists.txt). */
extern const char tn_cuda_fused_headers[];

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
