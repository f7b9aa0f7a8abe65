/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalize of Caffe's SSD branch: a tensor divided by its Euclidean length, over channels at each
 * position or over a whole image, and multiplied by a scale (Liu, Rabinovich and Berg, "ParseNet:
 * Looking Wider to See Better", 2015).
 */
#include <tenon/kit/lanes.h>
#include <tenon/kit/parallel.h>
#include "caffe_normalize/fields.h"
#include "kit/operator/layer.h"

#include <math.h>

enum { NORMALIZE_X = 0, NORMALIZE_SCALE = 1 };

static tn_status normalize_infer(tn_call *call) {
    const tn_caffe_normalize_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, NORMALIZE_X, 2, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, NORMALIZE_SCALE, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[NORMALIZE_X];
    const int64_t wanted = params->channel_shared ? 1 : x->shape[1];
    const int64_t given = tn_element_count(call->inputs[NORMALIZE_SCALE]);
    if (given != wanted)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'scale' has %lld elements instead of %lld", (long long)given,
                                (long long)wanted);
    return tn_infer_copy_shape(call, 0, NORMALIZE_X);
}

typedef struct normalize_job {
    const tn_tensor *x, *scale, *y;
    tn_lanes lanes; /* the channels at one position */
    int64_t width;  /* elements of each channel that are taken together: all, or one */
    double eps;
    bool is_shared;
} normalize_job;

/* An item is an image, or a position of one. */
static tn_status do_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const normalize_job *job = user;
    const tn_tensor *x = job->x;
    const int64_t inner = job->lanes.inner, channels = job->lanes.count;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t first =
            job->width == 1 ? tn_lanes_first(&job->lanes, item) : item * channels * inner;
        double sum = job->eps;
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = first + c * inner; i < first + c * inner + job->width; i++)
                sum += tn_element_f64(x, i) * tn_element_f64(x, i);
        for (int64_t c = 0; c < channels; c++) {
            const double factor =
                1 / sqrt(sum) * tn_element_f64(job->scale, job->is_shared ? 0 : c);
            for (int64_t i = first + c * inner; i < first + c * inner + job->width; i++)
                tn_element_set_f64(job->y, i, tn_element_f64(x, i) * factor);
        }
    }
    return TN_OK;
}

static tn_status normalize(tn_call *call, bool is_parallel) {
    enum { GRAIN = 4096 };
    const tn_caffe_normalize_params *params = call->params;
    const tn_tensor *x = call->inputs[NORMALIZE_X];
    normalize_job job = {.x = x,
                         .scale = call->inputs[NORMALIZE_SCALE],
                         .y = call->outputs[0],
                         .lanes = tn_lanes_along(x, 1, 2),
                         .eps = (double)params->eps,
                         .is_shared = params->channel_shared};
    if (tn_element_count(job.y) == 0) return TN_OK;
    const bool is_image = params->across_spatial;
    const int64_t items = is_image ? job.lanes.outer : job.lanes.outer * job.lanes.inner;
    job.width = is_image ? job.lanes.inner : 1;
    if (!is_parallel) return do_items(&job, 0, items, 0);
    return call->host->parallel_for(
        call, items, is_image ? 1 : tn_parallel_grain(GRAIN, job.lanes.count), do_items, &job);
}

TN_SERIAL_AND_PARALLEL(normalize, normalize)

static const tn_port normalize_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("scale", "T", 0, "one number, or one for each channel"),
};
static const tn_port normalize_outputs[] = {
    TN_PORT("Y", "T", 0, "X divided by its lengths and scaled")};
static const char *const normalize_cases[] = {
    "| X=f32[2,3,5,7] scale=f32[1]",
    "across_spatial=0 | X=f32[2,3,5,7] scale=f32[]",
    "across_spatial=0 channel_shared=0 | X=f32[1,4,3,3] scale=f32[4]",
    "channel_shared=0 eps=0.5 | X=f64[2,4,3] scale=f64[4]",
    "across_spatial=0 channel_shared=0 | X=f16[2,9] scale=f16[9]",
    "| X=f32[0,3,2] scale=f32[1]",
    "| X=f32[1,2,2] scale=f32[1]",
    "across_spatial=0 channel_shared=0 | X=f32[1,512,38,38] scale=f32[512]",
};

TN_OPERATOR(normalize, "Caffe", "Normalize", 1,
            "Divides by Euclidean lengths and scales: y = scale * x / sqrt(sum(x^2) + eps).",
            TN_FIELDS(tn_caffe_normalize_params, normalize_fields));

TN_CPU_KERNEL(normalize_threads, "Caffe", "Normalize", "threads",
              "Images or pixels on all threads, in double precision.", .run = normalize_run);

TN_LAYER(caffe_normalize, TN_OPERATORS(&normalize_1), TN_KERNELS(&normalize_threads));
