/* SPDX-License-Identifier: Apache-2.0 */
/* Hardmax by keys (kit/order/best.h): the element with the best key of each lane becomes one. */
#include "kit/operator/layer.h"
#include "kit/order/best.h"
#include "kit/reduce/lane_groups.h"
#include "softmax/softmax.h"

typedef struct hardmax_job {
    tn_order_search search;
    tn_lanes lanes;
    const tn_tensor *y;
} hardmax_job;

/* An item is a contiguous lane. */
static tn_status mark_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const hardmax_job *job = user;
    const int64_t count = job->lanes.count;
    const size_t bytes = tn_element_bytes(job->y->type);
    (void)thread;
    memset((char *)job->y->data + (size_t)(begin * count) * bytes, 0,
           (size_t)((end - begin) * count) * bytes);
    for (int64_t i = begin; i < end; i++)
        tn_element_set_f64(job->y, i * count + tn_order_best_of_row(&job->search, i * count, count),
                           1);
    return TN_OK;
}

/* An item is a group of columns. */
static tn_status mark_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const hardmax_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t groups = tn_lane_groups(lanes, TN_ORDER_COLUMNS);
    const size_t bytes = tn_element_bytes(job->y->type);
    int64_t best[TN_ORDER_COLUMNS];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_lane_group(lanes, TN_ORDER_COLUMNS, groups, i, &columns);
        tn_order_best_of_columns(&job->search, at, lanes->count, lanes->inner, columns, best);
        for (int64_t k = 0; k < lanes->count; k++)
            memset((char *)job->y->data + (size_t)(at + k * lanes->inner) * bytes, 0,
                   (size_t)columns * bytes);
        for (int64_t k = 0; k < columns; k++)
            tn_element_set_f64(job->y, at + best[k] * lanes->inner + k, 1);
    }
    return TN_OK;
}

static tn_status hardmax_run(tn_call *call) {
    enum { GRAIN = 16384 };
    hardmax_job job = {.y = call->outputs[0]};
    TN_TRY(tn_softmax_read(call, &job.lanes));
    if (tn_element_count(job.y) == 0) return TN_OK;
    tn_order_search_init(call->user, call->inputs[0], job.lanes.count, TN_ORDER_LARGEST, false,
                         &job.search);
    return tn_lanes_do(call, &job.lanes, job.lanes.count, TN_ORDER_COLUMNS, GRAIN, mark_lanes,
                       mark_columns, &job);
}

TN_LEVEL_KERNELS_OF(, tn_hardmax, TN_LEVELS(tn_order), "", 1, "Hardmax", "keys",
                    "Elements as keys, in rows or columns.", .traits = TN_KERNEL_DETERMINISTIC,
                    .run = hardmax_run);
