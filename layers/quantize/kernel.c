/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels' callbacks; see quantize.h. */
#include <tenon/kit/parallel.h>
#include "kit/math/element.h"
#include "quantize/quantize.h"

/* Other formats than linear are done in the order of their memory, for which one scale must serve.
 */
tn_status tn_quantize_accepts(tn_call *call) {
    tn_quantize_plan plan = {0};
    if (tn_quantize_read(call, &plan) != TN_OK || plan.is_blocked) return TN_ERROR_UNSUPPORTED;
    const bool is_linear = call->outputs[0]->format == TN_LINEAR;
    return is_linear || plan.scale_count == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct quantize_job {
    tn_quantize_row row;
    const char *x, *zero;
    char *y;
    const float *scale;
    int64_t x_bytes, y_bytes; /* of an element */
    int64_t count;            /* of a row */
    int64_t scales;           /* rows one after the other that have scales of their own */
    int64_t step;
} quantize_job;

static void do_row(const quantize_job *job, int64_t at, int64_t count, int64_t scale) {
    job->row(count, job->x + at * job->x_bytes, job->scale + scale,
             job->zero ? job->zero + scale : NULL, job->step, job->y + at * job->y_bytes);
}

/* An item is an element: one scale serves all. */
static tn_status do_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    do_row(user, begin, end - begin, 0);
    return TN_OK;
}

/* An item is a row. */
static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const quantize_job *job = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        do_row(job, i * job->count, job->count, i % job->scales);
    return TN_OK;
}

static tn_quantize_row choose_row(const tn_call *call) {
    const tn_quantize_level *level = call->user;
    const tn_type from = call->inputs[TN_QUANTIZE_X]->type, to = call->outputs[0]->type;
    if (from == TN_F32) return to == TN_I8 ? level->to_i8 : level->to_u8;
    return from == TN_I8 ? level->from_i8 : level->from_u8;
}

tn_status tn_quantize_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_tensor *x = call->inputs[TN_QUANTIZE_X], *y = call->outputs[0];
    const tn_tensor *zero = tn_infer_input(call, TN_QUANTIZE_ZERO_POINT);
    tn_quantize_plan plan = {0};
    TN_TRY(tn_quantize_read(call, &plan));
    const int64_t total = tn_element_count(y);
    quantize_job job = {.row = choose_row(call),
                        .x = x->data,
                        .zero = zero ? zero->data : NULL,
                        .y = y->data,
                        .scale = call->inputs[TN_QUANTIZE_SCALE]->data,
                        .x_bytes = (int64_t)tn_element_bytes(x->type),
                        .y_bytes = (int64_t)tn_element_bytes(y->type),
                        .count = plan.lanes.inner,
                        .scales = plan.scale_count};
    if (total == 0) return TN_OK;
    if (plan.scale_count == 1)
        return call->host->parallel_for(call, total, GRAIN, do_elements, &job);
    if (job.count == 1) { /* along the last axis: a row has all scales */
        job.count = plan.scale_count;
        job.scales = job.step = 1;
    }
    return call->host->parallel_for(call, total / job.count, tn_parallel_grain(GRAIN, job.count),
                                    do_rows, &job);
}
