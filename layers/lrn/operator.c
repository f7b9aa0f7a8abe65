/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LRN, local response normalization: y = x / (bias + alpha / size * s)^beta, s the sum of squares
 * over `size` channels around one's own, as far as there are such (Krizhevsky, Sutskever and
 * Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", 2012).
 */
#include "lrn/columns.h"
#include <tenon/kit/lanes.h>
#include "lrn/fields.h"
#include "kit/operator/layer.h"

#include <math.h>

/* The channels before and after one that count. At least zero. */
static int64_t channels_before(const tn_lrn_params *params) {
    return (params->size - 1) / 2;
}
static int64_t channels_after(const tn_lrn_params *params) {
    return params->size / 2;
}

static tn_status lrn_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 2, TN_MAX_RANK));
    return tn_infer_copy_shape(call, 0, 0);
}

static double square_sum(const tn_tensor *x, const tn_lanes *lanes, const tn_lrn_params *params,
                         int64_t first, int64_t c) {
    const int64_t before = channels_before(params), after = channels_after(params);
    const int64_t begin = c < before ? 0 : c - before;
    const int64_t end = lanes->count - 1 - c < after ? lanes->count - 1 : c + after;
    double sum = 0;
    for (int64_t k = begin; k <= end; k++) {
        const double value = tn_element_f64(x, first + k * lanes->inner);
        sum += value * value;
    }
    return sum;
}

static tn_status lrn_reference(tn_call *call) {
    const tn_lrn_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const tn_lanes lanes = tn_lanes_along(x, 1, 2);
    const double scale = (double)params->alpha / (double)params->size;
    if (tn_element_count(y) == 0) return TN_OK;
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++) {
        const int64_t first = tn_lanes_first(&lanes, lane);
        for (int64_t c = 0; c < lanes.count; c++) {
            const int64_t at = first + c * lanes.inner;
            const double sum = square_sum(x, &lanes, params, first, c);
            const double base = (double)params->bias + scale * sum;
            tn_element_set_f64(y, at, tn_element_f64(x, at) * pow(base, -(double)params->beta));
        }
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * of floats by vectors (columns.h), a kernel a processor level */

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
                                      .before = channels_before(params),
                                      .after = channels_after(params),
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
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                 TN_COMBINATIONS(combinations), .accepts = lrn_accepts, .run = lrn_run);

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port lrn_inputs[] = {TN_PORT("X", "T:float", 0, "batch, channels, spatial axes")};
static const tn_port lrn_outputs[] = {
    TN_PORT("Y", "T", 0, "X, less where its neighbours are large")};
static const char *const lrn_cases[] = {
    "size=3 | X=f32[2,5,5,5]",         "size=5 alpha=1 beta=0.5 bias=2 | X=f32[1,7,3,11]",
    "size=2 alpha=0.5 | X=f64[2,4,3]", "size=9 alpha=2 | X=f32[2,3,17]",
    "size=1 alpha=1 | X=f32[3,4]",     "size=4 alpha=1 | X=f16[1,9,7]",
    "size=5 | X=bf16[1,6,4,4]",        "size=3 | X=f32[0,3,8,8]",
    "size=5 | X=f32[1,96,27,27]",
};

TN_OPERATOR(lrn, "", "LRN", 1, "Local response normalization across channels.",
            TN_FIELDS(tn_lrn_params, lrn_fields));

TN_LAYER(lrn, TN_OPERATORS(&lrn_1), TN_KERNELS(TN_LEVEL_LIST(columns)));
