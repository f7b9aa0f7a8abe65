/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators along axes of a tensor of any type: each lane becomes one element (reductions), an
 * index, or a lane as long. What callbacks hand to lane.cu.
 */
#ifndef TN_KIT_CUDA_ANY_LANE_JOB_H
#define TN_KIT_CUDA_ANY_LANE_JOB_H

#include "kit/cuda/any/each.h"
#include <tenon/kit/lanes.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tn_cuda_lane_kind {
    /* to one element */
    TN_CUDA_LANE_SUM,
    TN_CUDA_LANE_MEAN,
    TN_CUDA_LANE_L1,
    TN_CUDA_LANE_L2,
    TN_CUDA_LANE_SUM_SQUARE,
    TN_CUDA_LANE_LOG_SUM,
    TN_CUDA_LANE_LOG_SUM_EXP,
    TN_CUDA_LANE_PROD,
    TN_CUDA_LANE_MAX,
    TN_CUDA_LANE_MIN,
    /* to an index */
    TN_CUDA_LANE_ARG_MAX,
    TN_CUDA_LANE_ARG_MIN,
    /* to a lane as long */
    TN_CUDA_LANE_SOFTMAX,
    TN_CUDA_LANE_LOG_SOFTMAX,
    TN_CUDA_LANE_HARDMAX,
    TN_CUDA_LANE_MEAN_VARIANCE,
    TN_CUDA_LANE_BY_L1,
    TN_CUDA_LANE_BY_L2,
    TN_CUDA_LANE_CUM_SUM,
    TN_CUDA_LANE_CUM_PROD
} tn_cuda_lane_kind;

/* `lanes`: where each begins, in x (its steps 0). `lane`: the elements of one. A result that is one
 * element is y's by the lane's number. */
typedef struct tn_cuda_lane_job {
    tn_cuda_lane_kind kind;
    const void *x;
    void *y;
    tn_type type, y_type;
    tn_cuda_box lanes, lane;
    bool is_empty;              /* lanes have no elements */
    bool is_last;               /* ARG_: of equal elements the last counts */
    bool exclusive, is_reverse; /* CUM_ */
} tn_cuda_lane_job;
cudaError_t tn_cuda_lane_launch(const void *job, cudaStream_t stream);

/* Input 0 along the axes in the mask, to output 0. [called: run] */
tn_status tn_cuda_lane_run(tn_call *call, uint32_t mask, tn_cuda_lane_kind kind);
/* The same along adjacent axes, with what the job has to say of its kind. */
tn_status tn_cuda_lane_run_along(tn_call *call, const tn_lanes *along, tn_cuda_lane_job *job);

#ifdef __cplusplus
}
#endif

#endif
