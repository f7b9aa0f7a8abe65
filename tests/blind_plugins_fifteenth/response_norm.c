/* SPDX-License-Identifier: Apache-2.0 */
/* Global response normalisation: g = the norm of each channel's plane, y = gamma * x * g / (mean of
 * g over channels + epsilon) + beta + x. */
#include "fifteenth.h"

TN_LAYER_PARAMS(params, float epsilon; bool residual;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, epsilon, "1e-3", 1e-9, 1, "added to the mean of the norms"),
    TN_LAYER_BOOL(params, residual, "true", "adds x"),
};
static const tn_port inputs[] = {
    TN_PORT("x", "T:f32|f64", 0, "images, channels, any axes"),
    TN_PORT("gamma", "T", 0, "channels"),
    TN_PORT("beta", "T", TN_PORT_OPTIONAL, "channels"),
};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 3)
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rank %u, expected 3 or more", x->rank);
    if (!TN_LAYER_FITS(call, 1, x->shape[1]) || !TN_LAYER_FITS(call, 2, x->shape[1]))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0], *beta = tn_layer_input(call, 2);
    const int64_t channels = x->shape[1], plane = extent(x, 2, x->rank);
    for (int64_t n = 0; n < x->shape[0]; n++) {
        double mean = 0;
        for (int64_t c = 0; c < channels; c++) {
            double sum = 0;
            for (int64_t i = 0; i < plane; i++) {
                const double v = tn_layer_load(x, (n * channels + c) * plane + i);
                sum += v * v;
            }
            mean += sqrt(sum) / (double)channels;
        }
        for (int64_t c = 0; c < channels; c++) {
            double sum = 0;
            for (int64_t i = 0; i < plane; i++) {
                const double v = tn_layer_load(x, (n * channels + c) * plane + i);
                sum += v * v;
            }
            const double factor = sqrt(sum) / (mean + (double)p->epsilon);
            for (int64_t i = 0; i < plane; i++) {
                const int64_t at = (n * channels + c) * plane + i;
                const double v = tn_layer_load(x, at);
                tn_layer_store(call->outputs[0], at,
                               tn_layer_load(call->inputs[1], c) * v * factor +
                                   (beta ? tn_layer_load(beta, c) : 0) + (p->residual ? v : 0));
            }
        }
    }
    return TN_OK;
}

typedef struct job {
    tn_call *call;
    int64_t channels, plane;
    double *norms;
    double *sums;
} job;

static tn_status norms(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const float *x = j->call->inputs[0]->data;
    for (int64_t k = begin; k < end; k++) {
        double sum = 0;
        for (int64_t i = 0; i < j->plane; i++)
            sum += (double)x[k * j->plane + i] * (double)x[k * j->plane + i];
        j->norms[k] = sqrt(sum);
        if (WRONG(5)) j->sums[k / j->channels] += j->norms[k];
    }
    return TN_OK;
}

static tn_status apply(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const params *p = j->call->params;
    const float *x = j->call->inputs[0]->data, *gamma = j->call->inputs[1]->data;
    const float *beta = WRONG(6) ? j->call->inputs[2]->data : tn_layer_data(j->call, 2);
    float *y = j->call->outputs[0]->data;
    for (int64_t k = begin; k < end; k++) {
        const int64_t c = k % j->channels;
        const double factor = (double)gamma[c] * j->norms[k] + (p->residual ? 1 : 0);
        for (int64_t i = 0; i < j->plane; i++)
            y[k * j->plane + i] =
                (float)(factor * (double)x[k * j->plane + i] + (beta ? (double)beta[c] : 0));
    }
    return TN_OK;
}

TN_LAYER_WORKSPACE((WRONG(1) ? call->inputs[0]->shape[1] : extent(call->inputs[0], 0, 2)) * 8 +
                   call->inputs[0]->shape[0] * 8)

static tn_status run(tn_call *call) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t images = x->shape[0], channels = x->shape[1];
    const int64_t plane = WRONG(4) ? x->shape[2] * x->shape[3] : extent(x, 2, x->rank);
    const double epsilon = (double)p->epsilon;
    double *sums = call->workspace;
    job j = {call, channels, plane, sums + images, sums};
    if (images * channels == 0 || plane == 0) return TN_OK;
    if (WRONG(5)) memset(sums, 0, (size_t)images * 8);
    TN_TRY(call->host->parallel_for(call, images * channels, 1, norms, &j));
    for (int64_t n = 0; n < images; n++) {
        double sum = WRONG(3) || WRONG(5) ? sums[n] : 0;
        for (int64_t c = 0; c < channels && !WRONG(5); c++)
            sum += j.norms[n * channels + c];
        sums[n] = sum;
        const double mean = sum / (double)(WRONG(2) ? images * channels : channels);
        for (int64_t c = 0; c < channels; c++)
            j.norms[n * channels + c] /= mean + epsilon;
    }
    return call->host->parallel_for(call, images * channels, 1, apply, &j);
}

static const char *const cases[] = {
    "| x=f32[1,4,3,5] gamma=f32[4] beta=f32[4]",
    "epsilon=1e-6 residual=false | x=f32[1,8,2,2] gamma=f32[8] beta=f32[8]",
    "| x=f32[1,3,1,7] gamma=f32[3]",
    "| x=f64[2,3,4] gamma=f64[3]",
};
TN_LAYER_LIBRARY("response_norm", "Fifteenth", "ResponseNorm", "Normalises by channels' norms.",
                 params, "f32, f32, f32? -> f32", .reshape = reshape, .run = run)
