/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators whose output is as long as their data says: items are kept or not, those that are get a
 * number in their order, and outputs have a slot for each number. How many there are stays in the
 * device's memory (tenon/plugin/counted.h). What callbacks hand to select.cu, distinct.cu and
 * boxes.cu, and how they hand out the count. For C and CUDA C++.
 */
#ifndef TN_KIT_CUDA_ANY_SELECT_SELECT_JOB_H
#define TN_KIT_CUDA_ANY_SELECT_SELECT_JOB_H

#include "kit/cuda/any/each.h"
#include <tenon/kit/lanes.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CUDA_SELECT_PART = 2048 /* items of a block */ };

/* Parts of `count` items, at least one. */
static inline int64_t tn_cuda_select_parts(int64_t count) {
    return count > 0 ? (count + TN_CUDA_SELECT_PART - 1) / TN_CUDA_SELECT_PART : 1;
}

/* Items are kept where their element of `flags` is not zero (NaN is not zero). */
typedef struct tn_cuda_select_job {
    const void *flags;
    tn_type type;
    int64_t count;
    int64_t *firsts;  /* scratch: a number for each part */
    int64_t *found;   /* how many items are kept */
    int64_t *sources; /* scratch: `count` numbers: the item that has each number */
    int64_t *numbers; /* null, or of each item: how many are kept before it */
} tn_cuda_select_job;

/* The distance between two rows of an output that has a count: its capacity, or the count where
 * `is_packed`. */
typedef struct tn_cuda_select_rows {
    const int64_t *found;
    int64_t capacity;
    bool is_packed;
} tn_cuda_select_rows;

/* y[o, number, i] = x[o, sources[number], i]; x has outer x count x inner elements. */
typedef struct tn_cuda_pick_job {
    tn_cuda_select_job select; /* of `lanes.count` items at most */
    const void *x;
    void *y;
    uint32_t bytes;
    tn_lanes lanes;
    tn_cuda_select_rows rows;
} tn_cuda_pick_job;
cudaError_t tn_cuda_pick_launch(const void *job, cudaStream_t stream);

/* y[axis, number] = the item's index along that axis of the box. */
typedef struct tn_cuda_non_zero_job {
    tn_cuda_select_job select;
    tn_cuda_box box;
    int64_t *y;
    tn_cuda_select_rows rows;
} tn_cuda_non_zero_job;
cudaError_t tn_cuda_non_zero_launch(const void *job, cudaStream_t stream);

/* Distinct items of outer x count x inner elements: each is compared with all others. */
enum { TN_CUDA_DISTINCT_MOST = 65536 };
typedef struct tn_cuda_distinct_job {
    tn_cuda_pick_job pick; /* its flags are `is_first`; y null: not wanted */
    tn_type type;
    bool is_sorted;
    uint8_t *is_first;         /* scratch: whether no item before it is equal */
    int64_t *firsts, *numbers; /* scratch: of each item the first one that equals it, its number */
    int64_t *indices, *inverse, *counts; /* null: not wanted */
} tn_cuda_distinct_job;
cudaError_t tn_cuda_distinct_launch(const void *job, cudaStream_t stream);

/* NonMaxSuppression: a block for each class of an image takes the best box that is left and drops
 * those that overlap it too much. */
typedef struct tn_cuda_boxes_job {
    const float *boxes, *scores;
    const float *iou, *score; /* null: 0, nothing */
    int64_t *y;               /* rows of image, class, box */
    int64_t images, classes, count, most;
    bool is_centre;
    uint8_t *is_dropped; /* scratch: of each class of an image, a box each */
    int64_t *kept;       /* scratch: of each class of an image `most` boxes */
    int64_t *firsts;     /* scratch: of each how many, then the number of its first one */
    int64_t *found;
} tn_cuda_boxes_job;
cudaError_t tn_cuda_boxes_launch(const void *job, cudaStream_t stream);

/* A count that is handed out: to the tensors that have room for it, and to the host where one has
 * not. */
enum { TN_CUDA_SELECT_OUTPUTS = 4 };
typedef struct tn_cuda_count_job {
    const int64_t *found;
    int64_t *to[TN_CUDA_SELECT_OUTPUTS];
    int64_t *host; /* null: nobody waits for it */
} tn_cuda_count_job;
cudaError_t tn_cuda_count_launch(const void *job, cudaStream_t stream);

/* Output `index` is counted along `axis`; false: its shape has to say so, and it is packed. Call it
 * before the launch for each output that is sized by run; absent ones are counted. */
bool tn_cuda_count_offered(const tn_call *call, uint32_t index, uint32_t axis);
/* Hands out *found, after the launch: where an output has no room for it, the host waits and writes
 * its shape. `axes[i]`: of output i; -1: it is not sized by run. [called: run] */
tn_status tn_cuda_count_hand_out(tn_call *call, const int64_t *found, const int32_t *axes);

#ifdef __cplusplus
}
#endif

#endif
