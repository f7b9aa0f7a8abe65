/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ArgMax and ArgMin by keys (kit/order/order.h): along the last axis the smallest key of each block
 * and where it is; along another one columns side by side, whose best keys are kept.
 */
#include "arg_reduce/arg_reduce.h"
#include "kit/operator/layer.h"
#include "kit/order/order.h"
#include <tenon/kit/parallel.h>

enum { COLUMNS = 512 };

typedef struct arg_job {
    const tn_order_functions *functions;
    const tn_tensor *x;
    int64_t *y;
    tn_lanes lanes;
    int64_t pieces; /* of the columns of an outer index */
    tn_order_best best;
    bool is_last;
} arg_job;

typedef struct arg_user {
    const tn_order_level *level;
    tn_order_best best;
} arg_user;

static const char *element_at(const arg_job *job, int64_t at) {
    return (const char *)job->x->data + (size_t)at * tn_element_bytes(job->x->type);
}

/* Lanes of elements beside each other. An item is a lane. */
static tn_status find_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    _Alignas(64) uint64_t keys[TN_ORDER_BLOCK];
    const arg_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    for (int64_t lane = begin; lane < end; lane++) {
        uint64_t least = 0, key = 0;
        for (int64_t at = 0; at < count; at += TN_ORDER_BLOCK) {
            const int64_t some = count - at < TN_ORDER_BLOCK ? count - at : TN_ORDER_BLOCK;
            job->functions->read(job->x->type, element_at(job, lane * count + at), 1, some,
                                 job->best, keys);
            const int64_t found = job->functions->least(keys, some, job->is_last, &key);
            if (at > 0 && (job->is_last ? key > least : key >= least)) continue;
            least = key;
            job->y[lane] = at + found;
        }
    }
    return TN_OK;
}

/* The columns first..first + count - 1 of an outer index. */
static void find_columns(const arg_job *job, int64_t outer, int64_t first, int64_t count) {
    _Alignas(64) uint64_t keys[COLUMNS], best[COLUMNS], numbers[COLUMNS];
    const tn_order_functions *functions = job->functions;
    int64_t *to = job->y + outer * job->lanes.inner + first;
    for (int64_t k = 0; k < job->lanes.count; k++) {
        const int64_t row = (outer * job->lanes.count + k) * job->lanes.inner + first;
        functions->read(job->x->type, element_at(job, row), 1, count, job->best,
                        k == 0 ? best : keys);
        if (k == 0)
            memset(numbers, 0, sizeof(numbers));
        else
            functions->improve(keys, count, (uint64_t)k, job->is_last, best, numbers);
    }
    const uint32_t *narrow = (const uint32_t *)(const void *)numbers;
    for (int64_t i = 0; i < count; i++)
        to[i] = functions->key_bytes == 4 ? (int64_t)narrow[i] : (int64_t)numbers[i];
}

/* An item is a piece of the columns of an outer index. */
static tn_status find_pieces(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const arg_job *job = user;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = item % job->pieces * COLUMNS, left = job->lanes.inner - first;
        find_columns(job, item / job->pieces, first, left < COLUMNS ? left : COLUMNS);
    }
    return TN_OK;
}

static tn_status arg_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const arg_user *user = call->user;
    arg_job job = {.x = call->inputs[0],
                   .y = call->outputs[0]->data,
                   .best = user->best,
                   .is_last = tn_arg_reduce_is_last(call)};
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    TN_TRY(tn_arg_reduce_read(call, &job.lanes));
    job.functions = tn_order_of(user->level, job.x->type, job.lanes.count);
    if (job.lanes.inner == 1)
        return call->host->parallel_for(call, job.lanes.outer,
                                        tn_parallel_grain(GRAIN, job.lanes.count), find_rows, &job);
    job.pieces = (job.lanes.inner + COLUMNS - 1) / COLUMNS;
    const int64_t columns = job.lanes.inner < COLUMNS ? job.lanes.inner : COLUMNS;
    return call->host->parallel_for(call, job.lanes.outer * job.pieces,
                                    tn_parallel_grain(GRAIN, columns * job.lanes.count),
                                    find_pieces, &job);
}

#define ARG_KERNEL(prefix, operator_name, of_best, level)                                          \
    static const arg_user prefix##_user_##level = {&tn_order_##level, of_best};                    \
    const tn_kernel tn_##prefix##_##level = {                                                      \
        TN_KERNEL_BEGIN("cpu", "", operator_name, "keys_" #level, 1,                               \
                        "Elements as keys, in rows or columns, on all threads."),                  \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, .run = arg_run,                   \
        .user = (void *)(uintptr_t)&prefix##_user_##level}
#define ARG_KERNELS(prefix, operator_name, of_best)                                                \
    ARG_KERNEL(prefix, operator_name, of_best, baseline);                                          \
    ARG_KERNEL(prefix, operator_name, of_best, avx2);                                              \
    ARG_KERNEL(prefix, operator_name, of_best, avx512)
ARG_KERNELS(arg_max, "ArgMax", TN_ORDER_LARGEST);
ARG_KERNELS(arg_min, "ArgMin", TN_ORDER_SMALLEST_OR_NAN);
