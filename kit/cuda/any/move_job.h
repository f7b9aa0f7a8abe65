/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are moved, and filled in: what callbacks hand to move.cu. */
#ifndef TN_KIT_CUDA_ANY_MOVE_JOB_H
#define TN_KIT_CUDA_ANY_MOVE_JOB_H

#include "kit/cuda/any/each.h"
#include "kit/cuda/any/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Along each axis the output's position o is the input's o - begin, where that lies within
 * low..high-1; all else is of a mode as Pad's (layers/pad/pad.h), whose numbers these are. */
enum {
    TN_CUDA_PAD_CONSTANT = 0,
    TN_CUDA_PAD_REFLECT = 1,
    TN_CUDA_PAD_EDGE = 2,
    TN_CUDA_PAD_WRAP = 3
};
typedef struct tn_cuda_pad_job {
    const void *x;
    void *y;
    const void *constant; /* in the device's memory; null: `value` */
    uint8_t value[8];
    uint32_t bytes, mode;
    tn_cuda_box box; /* of the output; steps 0: of the input */
    int64_t begin[TN_MAX_RANK], low[TN_MAX_RANK], high[TN_MAX_RANK];
} tn_cuda_pad_job;
cudaError_t tn_cuda_pad_launch(const void *job, cudaStream_t stream);

/* A triangle of each matrix, zeros elsewhere. */
typedef struct tn_cuda_trilu_job {
    const void *x, *k; /* k: of i64, in the device's memory, or null: 0 */
    void *y;
    uint32_t bytes, count;
    bool is_upper;
    tn_divider height, width;
} tn_cuda_trilu_job;
cudaError_t tn_cuda_trilu_launch(const void *job, cudaStream_t stream);

/* The same bits as another type; as bool whether a byte is not 0. */
typedef struct tn_cuda_bits_job {
    const void *x;
    void *y;
    uint32_t bytes, count;
    bool is_bool;
} tn_cuda_bits_job;
cudaError_t tn_cuda_bits_launch(const void *job, cudaStream_t stream);

/* One value everywhere. */
typedef struct tn_cuda_fill_job {
    void *y;
    uint8_t value[8];
    uint32_t bytes, count;
} tn_cuda_fill_job;
cudaError_t tn_cuda_fill_launch(const void *job, cudaStream_t stream);

/* The first elements of sequences in the opposite order: items of `pieces` pieces are counted along
 * two axes, one of them the time. A length that is none of 0 ... `extent` is a fault. */
typedef struct tn_cuda_reverse_job {
    const void *x;
    const int64_t *lengths;
    void *y;
    uint32_t bytes, count;
    tn_divider pieces, rows;
    bool is_time_first;
    int64_t extent;
    tn_cuda_fault *fault;
} tn_cuda_reverse_job;
cudaError_t tn_cuda_reverse_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
