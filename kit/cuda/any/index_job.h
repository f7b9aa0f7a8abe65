/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers and scatters, and what they hand to the launches of index.cu. For C and CUDA C++. */
#ifndef TN_KIT_CUDA_ANY_INDEX_JOB_H
#define TN_KIT_CUDA_ANY_INDEX_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of `units` pieces of `bytes` each, 1, 2, 4, 8 or 16, as wide as a slice allows. A row of the
 * box has a position in the data (its steps 0, in pieces) to which `width` indices add, which lie
 * beside each other from a position on (its steps 1): index k is one of extents[k], steps[k] pieces
 * apart. The other tensor has the rows one after the other. */
typedef struct tn_cuda_index_job {
    const void *from, *indices;
    void *to;
    tn_type index_type, type;
    tn_cuda_box rows;
    uint32_t width, bytes;
    tn_divider units;
    int64_t extents[TN_MAX_RANK], steps[TN_MAX_RANK];
    uint32_t reduction; /* of tn_cuda_scatter_launch; 0: none, add, mul, max, min */
    tn_cuda_fault *fault;
    const void *data; /* of tn_cuda_scatter_launch: copied to the output first, where it lies
                         elsewhere */
    int64_t data_bytes;
} tn_cuda_index_job;

/* Rows of the data, found by indices, to the output; outside ones are faults, and zeros. */
cudaError_t tn_cuda_gather_launch(const void *job, cudaStream_t stream);
/* The updates' rows to positions of the output by indices; those outside are faults. Of rows at one
 * position any is the last; by a reduction all count, in any order, a piece being an element. */
cudaError_t tn_cuda_scatter_launch(const void *job, cudaStream_t stream);

/* Pieces for slices of so many bytes. */
static inline void tn_cuda_index_pieces(tn_cuda_index_job *job, int64_t slice, uint32_t least) {
    uint32_t bytes = 16;
    while (bytes > least && slice % bytes != 0)
        bytes /= 2;
    job->bytes = bytes;
    job->units = tn_divider_make((uint32_t)(slice / bytes));
}

/* An element of 1 in a new axis where an index says so; the others are 0 (values[0]). */
typedef struct tn_cuda_one_hot_job {
    const void *indices, *values;
    void *to;
    tn_type index_type;
    uint32_t bytes, count;
    int64_t depth;
    tn_divider depths, inner;
} tn_cuda_one_hot_job;
cudaError_t tn_cuda_one_hot_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
