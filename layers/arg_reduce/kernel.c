/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArgMax and ArgMin by keys (kit/order/best.h): along the last axis the smallest key of each block
 * and where it is; along another one columns side by side, whose best keys are kept.
 */
#include "arg_reduce/arg_reduce.h"
#include "kit/operator/layer.h"
#include "kit/order/best.h"
#include "kit/reduce/lane_groups.h"

typedef struct arg_job {
    tn_order_search search;
    tn_lanes lanes;
    int64_t *y;
} arg_job;

typedef struct arg_user {
    const tn_order_level *level;
    tn_order_best best;
} arg_user;

/* An item is a lane of elements beside each other. */
static tn_status find_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const arg_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    tn_order_best_of_rows(&job->search, begin * count, end - begin, count, job->y + begin);
    return TN_OK;
}

/* An item is a group of columns of an outer index. */
static tn_status find_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const arg_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t groups = tn_lane_groups(lanes, TN_ORDER_COLUMNS);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_lane_group(lanes, TN_ORDER_COLUMNS, groups, i, &columns);
        tn_order_best_of_columns(&job->search, at, lanes->count, lanes->inner, columns,
                                 job->y + i / groups * lanes->inner +
                                     i % groups * TN_ORDER_COLUMNS);
    }
    return TN_OK;
}

static tn_status arg_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const arg_user *user = call->user;
    arg_job job = {.y = call->outputs[0]->data};
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    TN_TRY(tn_arg_reduce_read(call, &job.lanes));
    tn_order_search_init(user->level, call->inputs[0], job.lanes.count, user->best,
                         tn_arg_reduce_is_last(call), &job.search);
    return tn_lanes_do(call, &job.lanes, job.lanes.count, TN_ORDER_COLUMNS, GRAIN, find_rows,
                       find_columns, &job);
}

#define ARG_USER(prefix, of_best, level)                                                           \
    static const arg_user prefix##_user_##level = {&tn_order_##level, of_best}
#define ARG_KERNELS(prefix, operator_name, of_best)                                                \
    ARG_USER(prefix, of_best, baseline);                                                           \
    ARG_USER(prefix, of_best, avx2);                                                               \
    ARG_USER(prefix, of_best, avx512);                                                             \
    TN_LEVEL_KERNELS_OF(, tn_##prefix, TN_LEVELS(prefix##_user), "", 1, operator_name, "keys",     \
                        "Elements as keys, in rows or columns, on all threads.",                   \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, .run = arg_run)
ARG_KERNELS(arg_max, "ArgMax", TN_ORDER_LARGEST);
ARG_KERNELS(arg_min, "ArgMin", TN_ORDER_SMALLEST_OR_NAN);
