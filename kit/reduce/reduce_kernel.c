/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of reduce_kernel.h. */
#include "kit/reduce/reduce_kernel.h"
#include "kit/math/element.h"
#include "kit/reduce/lane_groups.h"
#include "kit/reduce/reduce.h"

#include <math.h>

const char *const tn_reduce_kernel_combinations[2] = {"f32 -> f32", "f32, i64? -> f32"};

bool tn_reduce_kernel_lanes(tn_call *call, tn_lanes *out_lanes) {
    uint32_t mask = 0, begin = 0;
    if (tn_reduce_axes(call, &mask) != TN_OK || mask == 0) return false;
    while (!(mask >> begin & 1))
        begin++;
    const uint32_t block = mask >> begin;
    if (block & (block + 1)) return false;
    *out_lanes =
        tn_lanes_along(call->inputs[0], begin, begin + (uint32_t)__builtin_popcount(block));
    return true;
}

tn_status tn_reduce_kernel_accepts(tn_call *call) {
    tn_lanes lanes;
    const bool is_later_kind = call->op->input_count > 1;
    const tn_tensor *axes = is_later_kind ? tn_infer_input(call, 1) : NULL;
    if (axes && !axes->data) return TN_ERROR_UNSUPPORTED;
    return tn_reduce_kernel_lanes(call, &lanes) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct reduce_job {
    const tn_reduce_kernel_user *user;
    tn_lanes lanes;
    const float *x;
    float *y;
} reduce_job;

static void finish(const reduce_job *job, int64_t count, float *y) {
    const float share = 1.0f / (float)job->lanes.count;
    for (int64_t i = 0; i < count && job->user->finish != TN_REDUCE_AS_IT_IS; i++)
        y[i] = job->user->finish == TN_REDUCE_ROOT ? sqrtf(y[i]) : y[i] * share;
}

/* An item is a contiguous lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const reduce_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    job->user->level->rows[job->user->kind](end - begin, count, job->x + begin * count,
                                            job->y + begin);
    finish(job, end - begin, job->y + begin);
    return TN_OK;
}

/* An item is a group of columns as wide as several vectors. */
static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const reduce_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t width = job->user->level->width, groups = tn_lane_groups(lanes, width);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_lane_group(lanes, width, groups, i, &columns);
        float *y = job->y + i / groups * lanes->inner + i % groups * width;
        job->user->level->columns[job->user->kind](lanes->count, lanes->inner, columns, job->x + at,
                                                   y);
        finish(job, columns, y);
    }
    return TN_OK;
}

tn_status tn_reduce_kernel_run(tn_call *call) {
    enum { GRAIN = 16384 };
    reduce_job job = {.user = call->user, .x = call->inputs[0]->data, .y = call->outputs[0]->data};
    if (!tn_reduce_kernel_lanes(call, &job.lanes))
        return call->host->fail(call, TN_ERROR_STATE, "the axes are others than in the plan");
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return tn_lanes_do(call, &job.lanes, job.lanes.count + 1, job.user->level->width, GRAIN,
                       do_lanes, do_columns, &job);
}
