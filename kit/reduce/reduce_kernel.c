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

/* ----------------------------------------------------------------------------------------------
 * lanes of floats */

typedef struct reduce_job {
    const tn_reduce_level *level;
    uint32_t kind, finish;
    float share; /* what BY_COUNT multiplies by */
    tn_lanes lanes;
    const float *x;
    float *y;
} reduce_job;

static void finish(const reduce_job *job, int64_t count, float *y) {
    for (int64_t i = 0; i < count && job->finish != TN_REDUCE_AS_IT_IS; i++)
        y[i] = job->finish == TN_REDUCE_ROOT ? sqrtf(y[i]) : y[i] * job->share;
}

/* Products that are not numbers, of lanes `step` elements apart, whose own are `stride` apart. */
static void mend_products(const reduce_job *job, int64_t count, int64_t first, int64_t step,
                          int64_t stride, float *y) {
    for (int64_t i = 0; i < count && job->kind == TN_REDUCE_PRODUCT; i++)
        if (isnan(y[i]))
            y[i] = (float)tn_reduce_product(TN_F32, job->x, first + i * step, job->lanes.count,
                                            stride);
}

/* An item is a contiguous lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const reduce_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    job->level->rows[job->kind](end - begin, count, job->x + begin * count, job->y + begin);
    mend_products(job, end - begin, begin * count, count, 1, job->y + begin);
    finish(job, end - begin, job->y + begin);
    return TN_OK;
}

/* An item is a group of columns as wide as several vectors. */
static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const reduce_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t width = job->level->width, groups = tn_lane_groups(lanes, width);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_lane_group(lanes, width, groups, i, &columns);
        float *y = job->y + i / groups * lanes->inner + i % groups * width;
        job->level->columns[job->kind](lanes->count, lanes->inner, columns, job->x + at, y);
        mend_products(job, columns, at, 1, lanes->inner, y);
        finish(job, columns, y);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * axes that do not lie beside each other: the last ones are reduced first, what remains again */

/* Axes that lie beside each other, from the first one on, and whether they are reduced; extents of
 * 1 belong to any. */
typedef struct axes {
    uint32_t count;
    int64_t extents[TN_MAX_RANK];
    bool are_reduced[TN_MAX_RANK];
    int64_t reduced; /* elements of a lane */
} axes;

static bool read_axes(tn_call *call, axes *out_axes) {
    const tn_tensor *x = call->inputs[0];
    uint32_t mask = 0;
    *out_axes = (axes){.reduced = 1};
    if (tn_reduce_axes(call, &mask) != TN_OK || mask == 0) return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        const bool is_reduced = mask >> i & 1;
        const uint32_t last = out_axes->count - 1;
        if (is_reduced) out_axes->reduced *= x->shape[i];
        if (x->shape[i] == 1) continue;
        if (out_axes->count > 0 && out_axes->are_reduced[last] == is_reduced) {
            out_axes->extents[last] *= x->shape[i];
        } else {
            out_axes->are_reduced[out_axes->count] = is_reduced;
            out_axes->extents[out_axes->count++] = x->shape[i];
        }
    }
    return true;
}

/* The last axes that are reduced, as lanes, which are taken out. False: there are none left. */
static bool take_lanes(axes *all, tn_lanes *out_lanes) {
    uint32_t at = all->count;
    *out_lanes = (tn_lanes){1, 1, 1};
    for (; at > 0 && !all->are_reduced[at - 1]; at--)
        out_lanes->inner *= all->extents[at - 1];
    if (at == 0) return false;
    out_lanes->count = all->extents[--at];
    for (uint32_t i = 0; i < at; i++)
        out_lanes->outer *= all->extents[i];
    all->extents[at] = out_lanes->inner;
    all->are_reduced[at] = false;
    all->count = at + 1;
    return true;
}

static bool has_more(const axes *all) {
    for (uint32_t i = 0; i < all->count; i++)
        if (all->are_reduced[i]) return true;
    return false;
}

/* What a lane of nothing but NaN has for the logarithm of its sum, joined again, is not NaN. */
tn_status tn_reduce_kernel_accepts_any(tn_call *call) {
    const tn_reduce_kernel_user *user = call->user;
    const bool is_later_kind = call->op->input_count > 1;
    const tn_tensor *given = is_later_kind ? tn_infer_input(call, 1) : NULL;
    axes all;
    if (user->kind == TN_REDUCE_LOG_SUM_EXP) return tn_reduce_kernel_accepts(call);
    if (given && !given->data) return TN_ERROR_UNSUPPORTED;
    return read_axes(call, &all) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* What each time but the last leaves lies in the workspace, one behind the other. */
tn_status tn_reduce_kernel_reshape(tn_call *call) {
    tn_lanes lanes;
    axes all;
    int64_t floats = 0;
    if (!read_axes(call, &all))
        return call->host->fail(call, TN_ERROR_STATE, "the axes are others than in the plan");
    while (take_lanes(&all, &lanes) && has_more(&all))
        floats += lanes.outer * lanes.inner;
    call->workspace_bytes = (uint64_t)floats * sizeof(float);
    return TN_OK;
}

/* What joins results that were joined before. */
static uint32_t kind_of_rest(uint32_t kind) {
    return kind == TN_REDUCE_SUM_SQUARE || kind == TN_REDUCE_SUM_ABSOLUTE ? TN_REDUCE_SUM : kind;
}

tn_status tn_reduce_kernel_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_reduce_kernel_user *user = call->user;
    float *workspace = call->workspace;
    reduce_job job = {.level = user->level, .kind = user->kind, .x = call->inputs[0]->data};
    axes all;
    if (!read_axes(call, &all))
        return call->host->fail(call, TN_ERROR_STATE, "the axes are others than in the plan");
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    job.share = 1.0f / (float)all.reduced;
    for (bool is_last = false; !is_last; job.x = job.y, job.kind = kind_of_rest(job.kind)) {
        (void)take_lanes(&all, &job.lanes); /* none at all: lanes of one element */
        is_last = !has_more(&all);
        job.finish = is_last ? user->finish : TN_REDUCE_AS_IT_IS;
        job.y = is_last ? call->outputs[0]->data : workspace;
        workspace += job.lanes.outer * job.lanes.inner;
        TN_TRY(tn_lanes_do(call, &job.lanes, job.lanes.count + 1, job.level->width, GRAIN, do_lanes,
                           do_columns, &job));
    }
    return TN_OK;
}
