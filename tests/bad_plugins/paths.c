/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Path, the best sequence of labels (of equal ones the first), with the labels before each one
 * in the workspace; and the mistakes that are made there. */
#include "mistake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *steps = call->inputs[1];
    if (x->rank != 2 || steps->rank != 2 || x->shape[1] < 1 || x->shape[0] < 1 ||
        steps->shape[0] != x->shape[1] || steps->shape[1] != x->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "scores of steps and of pairs of labels");
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = x->shape[0];
    return TN_OK;
}

#if WITH(labels_of_8_bits)
typedef uint8_t label;
#else
typedef int32_t label;
#endif

/* The label before `to`, and the score that leads there. */
static int64_t before(const double *scores, const float *steps, int64_t labels, int64_t to,
                      double *out_score) {
    const bool is_late = WITH(begins_before_all);
    int64_t best = is_late ? -1 : 0;
    double most = is_late ? (double)-INFINITY : scores[0] + (double)steps[to];
    for (int64_t k = is_late ? 0 : 1; k < labels; k++) {
        const double score = scores[k] + (double)steps[k * labels + to];
        if (!(score > most)) continue;
        most = score;
        best = k;
    }
    *out_score = most;
    return best;
}

static int64_t greatest(const double *scores, int64_t labels) {
    int64_t best = 0;
    for (int64_t k = 1; k < labels; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

static void decode(tn_call *call, double *scores, label *from) {
    const int64_t count = call->inputs[0]->shape[0], labels = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data, *steps = call->inputs[1]->data;
    int64_t *y = call->outputs[0]->data;
    double *next = scores + labels;
    for (int64_t k = 0; k < labels; k++)
        scores[k] = (double)x[k];
    for (int64_t t = 1; t < count; t++) {
        for (int64_t k = 0; k < labels; k++) {
            from[t * labels + k] = (label)before(scores, steps, labels, k, &next[k]);
            next[k] += (double)x[t * labels + k];
        }
        memcpy(scores, next, (size_t)labels * sizeof(*scores));
    }
    int64_t at = greatest(scores, labels);
    for (int64_t t = count; t-- > 0;) {
        y[t] = at;
        if (t > 0) at = from[t * labels + at];
    }
}

static tn_status reshape(tn_call *call) {
    const uint64_t labels = (uint64_t)call->inputs[0]->shape[1];
    const uint64_t all = (uint64_t)call->inputs[0]->shape[0] * labels;
    call->workspace_bytes = 2 * labels * sizeof(double) + all * sizeof(label);
    if (WITH(workspace_in_32_bits)) call->workspace_bytes = (uint32_t)call->workspace_bytes;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    double *scores = call->workspace;
    decode(call, scores, (label *)(scores + 2 * call->inputs[0]->shape[1]));
    return TN_OK;
}

/* By itself: the scores of all steps are kept, and the labels before are looked for in them. */
static tn_status reference(tn_call *call) {
    const int64_t count = call->inputs[0]->shape[0], labels = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data, *steps = call->inputs[1]->data;
    int64_t *y = call->outputs[0]->data;
    double *all = malloc((size_t)(count * labels) * sizeof(*all)), *sums = NULL;
    if (all) sums = malloc((size_t)labels * sizeof(*sums));
    for (int64_t t = 0; t < count && sums; t++)
        for (int64_t k = 0; k < labels; k++) {
            for (int64_t j = 0; j < labels && t > 0; j++)
                sums[j] = all[(t - 1) * labels + j] + (double)steps[j * labels + k];
            all[t * labels + k] = (double)x[t * labels + k];
            if (t > 0) all[t * labels + k] += sums[greatest(sums, labels)];
        }
    for (int64_t t = count - 1; t >= 0 && sums; t--) {
        for (int64_t j = 0; j < labels; j++)
            sums[j] =
                all[t * labels + j] + (t + 1 < count ? (double)steps[j * labels + y[t + 1]] : 0);
        y[t] = greatest(sums, labels);
    }
    const bool is_done = sums != NULL;
    free(sums);
    free(all);
    return is_done ? TN_OK : TN_ERROR_MEMORY;
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "steps, labels"),
                                 TN_PORT("steps", "f32", 0, "labels (from), labels (to)")};
static const tn_port outputs[] = {TN_PORT("path", "i64", 0, "steps")};
static const char *const cases[] = {"| x=f32[6,4] steps=f32[4,4]", "| x=f32[1,3] steps=f32[3,3]"};
static const tn_operator path = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Path",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> i64"};
static const tn_kernel path_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Path",
                                   .device = "cpu",
                                   .name = "forward",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .reshape = reshape,
                                   .run = run};
static const tn_operator *const operators[] = {&path};
static const tn_kernel *const kernels[] = {&path_cpu};
TN_LIBRARY("bad_paths", "1", operators, kernels)
