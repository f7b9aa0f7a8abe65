/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of map_kernel.h. */
#include "common/map_kernel.h"
#include "common/physical.h"

const char *const tn_map_kernel_combinations[4] = {"f32 -> f32", "f32:nhwc -> f32:nhwc",
                                                   "f32:c16 -> f32:c16", "f32:c8 -> f32:c8"};

static tn_map_function map_of(const tn_call *call, float *out_alpha, float *out_beta) {
    const tn_map_kernel_user *user = call->user;
    uint32_t map = user->map;
    *out_alpha = *out_beta = 0;
    if (user->read) user->read(call, &map, out_alpha, out_beta);
    return user->level->maps[map];
}

/* Whether zero becomes zero, so that padded lanes stay what they must be. */
static bool keeps_zero(const tn_call *call) {
    const tn_map_kernel_user *user = call->user;
    float alpha, beta, y = 0;
    const tn_map_function function = map_of(call, &alpha, &beta);
    function(alpha, beta, 1, &y, &y);
    tn_row_chain_apply(call, user->level, 1, &y);
    return y == 0;
}

tn_status tn_map_kernel_accepts(tn_call *call) {
    if (!tn_row_chain_accepts(call)) return TN_ERROR_UNSUPPORTED;
    return tn_physical_is_padded(call->outputs[0]) && !keeps_zero(call) ? TN_ERROR_UNSUPPORTED
                                                                        : TN_OK;
}

typedef struct map_job {
    const tn_call *call;
    const tn_rows_level *level;
    tn_map_function function;
    float alpha, beta;
    const float *x;
    float *y;
} map_job;

/* An item is an element. */
static tn_status map_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const map_job *job = user;
    (void)thread;
    if (job->call->epilogue_count == 0) {
        job->function(job->alpha, job->beta, end - begin, job->x + begin, job->y + begin);
        return TN_OK;
    }
    for (int64_t i = begin; i < end; i += TN_ROW_BLOCK) {
        const int64_t count = end - i < TN_ROW_BLOCK ? end - i : TN_ROW_BLOCK;
        job->function(job->alpha, job->beta, count, job->x + i, job->y + i);
        tn_row_chain_apply(job->call, job->level, count, job->y + i);
    }
    return TN_OK;
}

tn_status tn_map_kernel_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_map_kernel_user *user = call->user;
    map_job job = {.call = call,
                   .level = user->level,
                   .x = call->inputs[0]->data,
                   .y = call->outputs[0]->data};
    const int64_t count = (int64_t)(call->outputs[0]->bytes / sizeof(float));
    if (count == 0) return TN_OK;
    job.function = map_of(call, &job.alpha, &job.beta);
    return call->host->parallel_for(call, count, GRAIN, map_elements, &job);
}
