/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Track, differences from a mean that goes on in its own memory, and Bad::Weigh, a weighted
 * sum of any number of tensors: and the mistakes with inputs that are no constants, with outputs on
 * inputs, with threads that fail, and with claims that hold without weights alone. */
#include "mistake.h"
#include "../support/steps.h"

enum { X, MEAN };

static const tn_port track_inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                       TN_PORT("mean", "f32", 0, "columns")};
static const tn_port track_outputs[] = {
    TN_PORT("y", "f32", 0, "x less the mean"),
    {"next", "f32", "the mean of the mean and the last row", TN_PORT_ALIAS, MEAN + 1, 0, 0}};

static tn_status infer_track(tn_call *call) {
    const tn_tensor *x = call->inputs[X], *mean = call->inputs[MEAN];
    if (x->rank != 2 || mean->rank != 1 || x->shape[0] < 1 || x->shape[1] != mean->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE, "x has rows of as many columns as the mean");
    if (call->outputs[0]) {
        call->outputs[0]->rank = 2;
        call->outputs[0]->shape[0] = x->shape[0];
        call->outputs[0]->shape[1] = x->shape[1];
    }
    if (call->output_count > 1 && call->outputs[1]) {
        call->outputs[1]->rank = 1;
        call->outputs[1]->shape[0] = mean->shape[0];
    }
    return TN_OK;
}

static tn_status describe_track(tn_call *call, tn_affine *out_affine) {
    const tn_tensor *mean = call->inputs[MEAN];
    const float *data = mean->data;
    if ((uint64_t)mean->shape[0] > out_affine->count) return TN_ERROR_UNSUPPORTED;
    if (!data && !WITH(affine_of_unknown)) return TN_ERROR_UNSUPPORTED;
    out_affine->axis = WITH(affine_axis_of_images) ? -3 : -1;
    out_affine->count = (uint64_t)mean->shape[0];
    for (uint64_t c = 0; c < out_affine->count; c++) {
        out_affine->factors[c] = 1;
        out_affine->shifts[c] = -data[c];
    }
    return TN_OK;
}

static tn_status is_track_identity(tn_call *call) {
    const float *mean = call->inputs[MEAN]->data;
    if (!mean && WITH(unknown_is_zero)) return TN_OK;
    for (int64_t c = 0; (mean || WITH(identity_of_unknown)) && c < count_of(call->inputs[MEAN]);
         c++)
        if (mean[c] != 0) return TN_ERROR_UNSUPPORTED;
    return mean ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct track_job {
    const float *x, *mean;
    float *y, *next;
    int64_t rows, columns;
    bool is_kernel;
} track_job;

static tn_status track_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const track_job *j = user;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        const float mean = j->mean[c];
        if (j->next) j->next[c] = 0.5f * (mean + j->x[(j->rows - 1) * j->columns + c]);
        for (int64_t r = 0; j->y && r < j->rows; r++)
            j->y[r * j->columns + c] =
                j->x[r * j->columns + c] -
                (j->is_kernel && WITH(reads_replaced_mean) ? j->mean[c] : mean);
    }
    return TN_OK;
}

static void fill_job(const tn_call *call, bool is_kernel, track_job *out_job) {
    const tn_tensor *y = call->outputs[0], *next = call->output_count > 1 ? call->outputs[1] : NULL;
    const tn_tensor *x = call->inputs[X];
    *out_job = (track_job){x->data,
                           call->inputs[MEAN]->data,
                           y ? y->data : NULL,
                           next ? next->data : NULL,
                           x->shape[0],
                           x->shape[1],
                           is_kernel};
}

static tn_status track_reference(tn_call *call) {
    track_job job;
    fill_job(call, false, &job);
    return track_columns(&job, 0, job.columns, 0);
}

static tn_status track_run(tn_call *call) {
    track_job *job = call->host->allocate(call->host, sizeof(*job), 64);
    if (!job) return TN_ERROR_MEMORY;
    fill_job(call, true, job);
    const tn_status status = call->host->parallel_for(call, job->columns, 1, track_columns, job);
    if (status != TN_OK && WITH(keeps_job_of_failed_threads)) return status;
    call->host->deallocate(call->host, job);
    return WITH(drops_failure_of_threads) ? TN_OK : status;
}

/* ----------------------------------------------------------------------------------------------
 * a weighted sum */

typedef struct weigh_params {
    uint64_t present;
    tn_f32s weights;
} weigh_params;
static const tn_field weigh_fields[] = {TN_FIELD_LIST(weigh_params, weights, TN_FIELD_F32S,
                                                      TN_OPTIONAL, NULL, 0, 0, -100, 100,
                                                      "a factor for each tensor, or none")};
static const tn_port weigh_inputs[] = {{"xs", "f32", "of one shape", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port weigh_outputs[] = {TN_PORT("y", "f32", 0, "as each of xs")};

static tn_status infer_weigh(tn_call *call) {
    const uint64_t count = ((const weigh_params *)call->params)->weights.count;
    if (count && count != call->input_count)
        return call->host->fail(call, TN_ERROR_SHAPE, "as many weights as tensors, or none");
    for (uint32_t k = 1; k < call->input_count; k++) {
        if (call->inputs[k]->rank != call->inputs[0]->rank)
            return call->host->fail(call, TN_ERROR_SHAPE, "the tensors have one rank");
        for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
            if (call->inputs[k]->shape[i] != call->inputs[0]->shape[i])
                return call->host->fail(call, TN_ERROR_SHAPE, "the tensors have one shape");
    }
    return infer_same(call);
}

static tn_status weigh(tn_call *call) {
    const tn_f32s *weights = &((const weigh_params *)call->params)->weights;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++) {
        double sum = -0.0;
        for (uint32_t k = 0; k < call->input_count; k++)
            sum += (weights->count ? (double)weights->items[k] : 1) *
                   (double)((const float *)call->inputs[k]->data)[i];
        y[i] = (float)sum;
    }
    return TN_OK;
}

static const char *const track_cases[] = {"| x=f32[3,5] mean=f32[5]",
                                          "| x=f32[2,2]{1,2,3,4} mean=f32[2]{0,0} | "
                                          "y=f32[2,2]{1,2,3,4} next=f32[2]{1.5,2}"};
static const char *const weigh_cases[] = {"| xs=f32[3,5] xs=f32[3,5]",
                                          "| xs=f32[7] xs=f32[7] xs=f32[7]"};
DESCRIBES(describe_facet, NULL, describe_track, NULL)
static const tn_operator track_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .traits = TN_OPERATOR_IDENTITY,
                                           .domain = "Bad",
                                           .name = "Track",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(track_inputs),
                                           TN_OUTPUTS(track_outputs),
                                           .infer = infer_track,
                                           .reference = track_reference,
                                           .is_identity = is_track_identity,
                                           .facet = describe_facet,
                                           TN_CASES(track_cases)};
static const tn_operator weigh_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = WITH(commutes_without_weights) ? TN_OPERATOR_COMMUTATIVE : 0,
    .domain = "Bad",
    .name = "Weigh",
    TN_FIELDS(weigh_params, weigh_fields),
    TN_INPUTS(weigh_inputs),
    TN_OUTPUTS(weigh_outputs),
    .infer = infer_weigh,
    .reference = weigh,
    TN_CASES(weigh_cases)};
static const char *const combinations[] = {"f32, f32 -> f32, f32"};
static const tn_kernel track_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Track",
                                    .device = "cpu",
                                    .name = "columns",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(combinations),
                                    .run = track_run};
static const tn_operator *const operators[] = {&track_operator, &weigh_operator};
static const tn_kernel *const kernels[] = {&track_cpu};
TN_LIBRARY("bad_tracks", "1", operators, kernels)
