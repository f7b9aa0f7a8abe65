/* SPDX-License-Identifier: Apache-2.0 */
/* LRN of floats by vectors (columns.h), as kernels: one a processor level. */
#include "kit/operator/layer.h"
#include "lrn/columns.h"
#include "lrn/lrn.h"

typedef struct column_job {
    const tn_lrn_level *level;
    tn_lrn_column_job columns;
    int64_t groups; /* of columns, in each image */
    const float *x;
    float *y;
} column_job;

/* An item is a group of columns as wide as a vector. */
static tn_status do_groups(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const column_job *job = user;
    const int64_t stride = job->columns.stride, width = job->level->width;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % job->groups * width;
        const int64_t offset = i / job->groups * job->columns.channels * stride + first;
        job->level->columns(&job->columns, stride - first < width ? stride - first : width,
                            job->x + offset, job->y + offset);
    }
    return TN_OK;
}

static tn_status lrn_run(tn_call *call) {
    enum { GRAIN = 4096 };
    const tn_lrn_params *params = call->params;
    const tn_tensor *x = call->inputs[0];
    if (tn_element_count(x) == 0) return TN_OK;
    column_job job = {.level = call->user, .x = x->data, .y = call->outputs[0]->data};
    job.columns = (tn_lrn_column_job){.channels = x->shape[1],
                                      .stride = tn_infer_product(x->shape, 2, x->rank),
                                      .before = tn_lrn_before(params),
                                      .after = tn_lrn_after(params),
                                      .scale = params->alpha / (float)params->size,
                                      .beta = params->beta,
                                      .bias = params->bias};
    job.groups = (job.columns.stride + job.level->width - 1) / job.level->width;
    return call->host->parallel_for(call, x->shape[0] * job.groups,
                                    GRAIN / job.level->width / job.columns.channels + 1, do_groups,
                                    &job);
}

/* The power is taken by a logarithm: what it is taken of may not be negative. */
static tn_status lrn_accepts(tn_call *call) {
    const tn_lrn_params *params = call->params;
    return params->alpha >= 0 && params->bias >= 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const char *const combinations[] = {"f32 -> f32"};
TN_LEVEL_KERNELS(columns, tn_lrn, "LRN", "columns",
                 "Columns of channels by vectors, on all threads.",
                 .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(combinations),
                 .accepts = lrn_accepts, .run = lrn_run);

const tn_kernel *const tn_lrn_kernels[3] = {TN_LEVEL_LIST(columns)};
