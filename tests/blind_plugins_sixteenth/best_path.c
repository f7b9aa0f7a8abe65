/* SPDX-License-Identifier: Apache-2.0 */
/* The best sequence of labels: emissions of each step plus transitions between neighbours. Of equal
 * labels the first one is taken. */
#include "sixteenth.h"

static const tn_port inputs[] = {TN_PORT("emissions", "f32", 0, "steps, labels"),
                                 TN_PORT("transitions", "f32", 0, "labels (from), labels (to)")};
static const tn_port outputs[] = {TN_PORT("path", "i64", 0, "steps"),
                                  TN_PORT("score", "f32", TN_PORT_OPTIONAL, "a scalar")};

static tn_status infer(tn_call *call) {
    const tn_tensor *emissions = call->inputs[0];
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, emissions->shape[1], emissions->shape[1]))
        return TN_ERROR_SHAPE;
    TN_TRY(set_shape(call, 1, 0, NULL));
    return set_shape(call, 0, 1, emissions->shape);
}

#if MISTAKE == 1
typedef uint8_t label;
#else
typedef int32_t label;
#endif

/* The first of the largest numbers. */
static int64_t best_of(const double *scores, int64_t labels) {
    int64_t best = 0;
    for (int64_t k = 1; k < labels; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

/* Label `to` of the next step: the best label before it, and its score. */
static int64_t before(const tn_call *call, const double *scores, int64_t to, double *out_score) {
    const int64_t labels = call->inputs[0]->shape[1];
    const float *transitions = call->inputs[1]->data;
    int64_t best = WRONG(2) ? -1 : 0;
    double most = WRONG(2) ? (double)-INFINITY : scores[0] + (double)transitions[to];
    for (int64_t k = WRONG(2) ? 0 : 1; k < labels; k++) {
        const double score = scores[k] + (double)transitions[k * labels + to];
        if (score > most) {
            most = score;
            best = k;
        }
    }
    *out_score = most;
    return best;
}

static tn_status decode(tn_call *call, double *scores, label *came_from) {
    const tn_tensor *emissions = call->inputs[0], *score = output(call, 1);
    const int64_t steps = emissions->shape[0], labels = emissions->shape[1];
    const float *given = emissions->data;
    double *next = scores + labels;
    for (int64_t k = 0; k < labels; k++)
        scores[k] = steps > 0 || WRONG(3) ? (double)given[k] : 0;
    for (int64_t t = 1; t < steps; t++) {
        for (int64_t k = 0; k < labels; k++) {
            double most;
            came_from[t * labels + k] = (label)before(call, scores, k, &most);
            next[k] = most + (double)given[t * labels + k];
        }
        memcpy(scores, next, (size_t)labels * sizeof(double));
    }
    int64_t at = best_of(scores, labels);
    if (score) *(float *)score->data = (float)scores[at];
    const tn_tensor *path = output(call, 0);
    for (int64_t t = steps - 1; path && t >= 0; t--) {
        ((int64_t *)path->data)[t] = at;
        if (t > 0) at = came_from[t * labels + at];
    }
    return TN_OK;
}

static uint64_t scratch(const tn_call *call) {
    const uint64_t steps = (uint64_t)call->inputs[0]->shape[0];
    const uint64_t labels = (uint64_t)call->inputs[0]->shape[1];
    return 2 * labels * sizeof(double) + steps * labels * sizeof(label);
}
TN_LAYER_WORKSPACE(scratch(call))

static tn_status run(tn_call *call) {
    double *scores = call->workspace;
    return decode(call, scores, (label *)(scores + 2 * call->inputs[0]->shape[1]));
}

/* By itself: all scores are kept, and the path back is looked for among them. */
static tn_status reference(tn_call *call) {
    const tn_tensor *emissions = call->inputs[0], *score = output(call, 1);
    const int64_t steps = emissions->shape[0], labels = emissions->shape[1];
    const float *given = emissions->data, *transitions = call->inputs[1]->data;
    double *all = call->host->allocate(call->host, (uint64_t)((steps + 1) * labels) * 8, 64);
    if (!all) return TN_ERROR_MEMORY;
    for (int64_t k = 0; k < labels; k++)
        all[k] = steps > 0 ? (double)given[k] : 0;
    for (int64_t t = 1; t < steps; t++)
        for (int64_t k = 0; k < labels; k++) {
            double most = all[(t - 1) * labels] + (double)transitions[k];
            for (int64_t j = 1; j < labels; j++) {
                const double other =
                    all[(t - 1) * labels + j] + (double)transitions[j * labels + k];
                most = other > most ? other : most;
            }
            all[t * labels + k] = most + (double)given[t * labels + k];
        }
    const int64_t last = steps > 0 ? steps - 1 : 0;
    int64_t at = best_of(all + last * labels, labels);
    if (score) *(float *)score->data = (float)all[last * labels + at];
    for (int64_t t = steps - 1; output(call, 0) && t >= 0; t--) {
        ((int64_t *)call->outputs[0]->data)[t] = at;
        if (t == 0) break;
        double most = all[(t - 1) * labels] + (double)transitions[at];
        int64_t best = 0;
        for (int64_t j = 1; j < labels; j++) {
            const double other = all[(t - 1) * labels + j] + (double)transitions[j * labels + at];
            if (other > most) {
                most = other;
                best = j;
            }
        }
        at = best;
    }
    call->host->deallocate(call->host, all);
    return TN_OK;
}

static const char *const cases[] = {
    "| emissions=f32[6,4] transitions=f32[4,4]",
    "| emissions=f32[1,3] transitions=f32[3,3]",
    "| emissions=f32[9,2] transitions=f32[2,2]",
};
static const tn_operator best_path = {
    OPERATOR,       .name = "BestPath",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> i64, f32?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "BestPath",
                                 .name = "forward",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("best_path", best_path, kernel)
