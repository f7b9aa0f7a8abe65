/* SPDX-License-Identifier: Apache-2.0 */
/* LpNormalization of floats by the rows of tenon/kit/reduce_rows.h: kernels, one a processor
 * level. */
#include "kit/operator/layer.h"
#include "kit/reduce/lane_groups.h"
#include "normalize/fields.h"
#include "normalize/lengths.h"
#include "normalize/row_sums.h"

#include <math.h>

enum { MOST_COLUMNS = 64 /* that a level has */ };

typedef struct length_job {
    const tn_normalize_level *user;
    tn_lanes lanes;
    bool is_square;
    const float *x;
    float *y;
} length_job;

/* What a lane that begins at `first` is divided by, from its sum in 32 bits. One that is out of
 * range there is summed again; of zeros alone it is 1. */
static float length_of(const length_job *job, float sum, int64_t first) {
    if (sum > 1e-30f && sum < INFINITY) return job->is_square ? sqrtf(sum) : sum;
    double exact = 0;
    for (int64_t k = 0; k < job->lanes.count; k++) {
        const double value = (double)job->x[first + k * job->lanes.inner];
        exact += job->is_square ? value * value : fabs(value);
    }
    return exact == 0 ? 1 : (float)(job->is_square ? sqrt(exact) : exact);
}

/* An item is a contiguous lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const length_job *job = user;
    const int64_t count = job->lanes.count;
    const uint32_t kind = job->is_square ? TN_REDUCE_SUM_SQUARE : TN_REDUCE_SUM_ABSOLUTE;
    (void)thread;
    for (int64_t at = begin * count; at < end * count; at += count) {
        const float sum = job->user->reduce->lanes[kind](count, job->x + at);
        const float length = length_of(job, sum, at);
        job->user->rows->combines[TN_COMBINE_DIV](count, job->x + at, 1, &length, 0, job->y + at);
    }
    return TN_OK;
}

/* An item is a group of columns. */
static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const length_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t width = job->user->reduce->width, groups = tn_lane_groups(lanes, width);
    const uint32_t kind = job->is_square ? TN_REDUCE_SUM_SQUARE : TN_REDUCE_SUM_ABSOLUTE;
    float lengths[MOST_COLUMNS];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_lane_group(lanes, width, groups, i, &columns);
        job->user->reduce->columns[kind](lanes->count, lanes->inner, columns, job->x + at, lengths);
        for (int64_t k = 0; k < columns; k++)
            lengths[k] = length_of(job, lengths[k], at + k);
        for (int64_t row = at; row < at + lanes->count * lanes->inner; row += lanes->inner)
            job->user->rows->combines[TN_COMBINE_DIV](columns, job->x + row, 1, lengths, 1,
                                                      job->y + row);
    }
    return TN_OK;
}

static tn_status lengths_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_lp_normalization_params *params = call->params;
    uint32_t axis = 0;
    length_job job = {.user = call->user,
                      .is_square = params->p == 2,
                      .x = call->inputs[0]->data,
                      .y = call->outputs[0]->data};
    TN_TRY(tn_lp_normalization_axis(call, &axis));
    job.lanes = tn_lanes_along(call->inputs[0], axis, axis + 1);
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return tn_lanes_do(call, &job.lanes, job.lanes.count, job.user->reduce->width, GRAIN, do_lanes,
                       do_columns, &job);
}

static const char *const lengths_combinations[] = {"f32 -> f32"};
TN_LEVEL_KERNELS_OF(, tn_lp_normalization, TN_LEVELS(tn_normalize), "", 1, "LpNormalization",
                    "rows", "Lanes of floats by vectors, on all threads.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                    TN_COMBINATIONS(lengths_combinations), .run = lengths_run);
