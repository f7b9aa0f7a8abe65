/* SPDX-License-Identifier: Apache-2.0 */
/* The boxes that stay when, from the best score down, those go that overlap one that stays. Scores
 * that are not above the least one, NaN among them, do not take part. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, float overlap, least; int64_t most;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, overlap, "0.5", 0, 1, "boxes that share more than this go"),
    TN_LAYER_F32(params, least, "0", -1000, 1000, "scores above it take part"),
    TN_LAYER_I64(params, most, "0", 0, 1 << 20, "boxes that stay at most; 0: any number"),
};
static const tn_port inputs[] = {TN_PORT("boxes", "f32", 0, "boxes, left top right bottom"),
                                 TN_PORT("scores", "f32", 0, "boxes")};
static const tn_port outputs[] = {
    TN_PORT("kept", "i64", TN_PORT_SIZED_BY_RUN, "boxes that stay, the best one first"),
    TN_PORT("best", "f32", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "their scores")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, 4) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0]))
        return TN_ERROR_SHAPE;
    const int64_t most = ((const params *)call->params)->most, n = call->inputs[0]->shape[0];
    const int64_t bound = most > 0 && most < n ? most : n;
    TN_TRY(set_shape(call, 1, 1, &bound));
    return set_shape(call, 0, 1, &bound);
}

static double side(float low, float high) {
    const double length = (double)high - (double)low;
    return length > 0 ? length : 0;
}
static double shared(const float *a, const float *b) {
    const double across = side(fmaxf(a[0], b[0]), fminf(a[2], b[2]));
    const double common = across * side(fmaxf(a[1], b[1]), fminf(a[3], b[3]));
    const double all = side(a[0], a[2]) * side(a[1], a[3]) + side(b[0], b[2]) * side(b[1], b[3]);
    return common > 0 ? common / (all - common) : 0;
}

/* `is_gone` has a byte for each box. */
static int64_t suppress(tn_call *call, char *is_gone, bool is_kernel) {
    const params *p = call->params;
    const float *boxes = call->inputs[0]->data, *scores = call->inputs[1]->data;
    tn_tensor *kept = output(call, 0), *best_scores = output(call, 1);
    const int64_t n = call->inputs[0]->shape[0], most = p->most > 0 ? p->most : n;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++)
        is_gone[i] = !(scores[i] > p->least);
    while (found < most) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!is_gone[i] && (best < 0 || scores[i] > scores[best] ||
                                (is_kernel && WRONG(1) && scores[i] == scores[best])))
                best = i;
        if (best < 0) break;
        for (int64_t i = 0; i < n; i++)
            if (shared(boxes + 4 * best, boxes + 4 * i) > (double)p->overlap) is_gone[i] = 1;
        is_gone[best] = 1;
        if (kept) ((int64_t *)kept->data)[found] = best;
        if (best_scores) ((float *)best_scores->data)[found] = scores[best];
        found++;
    }
    if (kept) kept->shape[0] = found;
    if (best_scores) best_scores->shape[0] = found;
    return found;
}

static tn_status reference(tn_call *call) {
    char *is_gone = call->host->allocate(call->host, (uint64_t)call->inputs[0]->shape[0] + 1, 64);
    if (!is_gone) return TN_ERROR_MEMORY;
    suppress(call, is_gone, false);
    call->host->deallocate(call->host, is_gone);
    return TN_OK;
}

TN_LAYER_WORKSPACE(WRONG(2) ? (call->inputs[0]->shape[0] + 7) / 8 : call->inputs[0]->shape[0])

static tn_status run(tn_call *call) {
    suppress(call, call->workspace, true);
    return TN_OK;
}

static const char *const cases[] = {
    "| boxes=f32[4,4]{0,0,4,4,0,0,4,3,5,5,9,9,1,1,2,2} scores=f32[4]{0.5,0.9,0.9,0.3}",
    "overlap=0.1 most=2 | "
    "boxes=f32[5,4]{0,0,2,2,1,0,3,2,4,0,6,2,5,0,7,2,8,0,9,1} scores=f32[5]{1,2,3,2,1}",
    "least=0.5 | boxes=f32[40,4] scores=f32[40]",
};
static const tn_operator suppression = {OPERATOR,
                                        .name = "Suppress",
                                        TN_FIELDS(params, fields),
                                        TN_INPUTS(inputs),
                                        TN_OUTPUTS(outputs),
                                        .infer = infer,
                                        .reference = reference,
                                        TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> i64, f32?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Suppress",
                                 .device = "cpu",
                                 .name = "scan",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("suppress", suppression, kernel)
