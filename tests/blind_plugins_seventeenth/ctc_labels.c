/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy decoding of a connectionist classifier: of each step the best label, without repetitions
 * and blanks, how many there are, and the sum of their scores. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t blank; int64_t fill;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, blank, "0", 0, 1 << 20, "the label that stands for nothing"),
    TN_LAYER_I64(params, fill, "-1", -1000, 1000, "stands behind the last label"),
};
static const tn_port inputs[] = {TN_PORT("scores", "f32", 0, "steps, items, labels"),
                                 TN_PORT("lengths", "i64", TN_PORT_OPTIONAL, "items: steps")};
static const tn_port outputs[] = {TN_PORT("labels", "i64", 0, "items, steps"),
                                  TN_PORT("counts", "i64", TN_PORT_OPTIONAL, "items"),
                                  TN_PORT("sums", "f32", TN_PORT_OPTIONAL, "items")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[1]))
        return TN_ERROR_SHAPE;
    const int64_t shape[] = {call->inputs[0]->shape[1], call->inputs[0]->shape[0]};
    TN_TRY(set_shape(call, 0, 2, shape));
    TN_TRY(set_shape(call, 1, 1, shape));
    return set_shape(call, 2, 1, shape);
}

/* What goes from step to step. */
typedef struct path {
    int64_t last, count;
    double sum;
} path;

static int64_t best_of(const float *row, int64_t labels) {
    int64_t best = 0;
    for (int64_t k = 1; k < labels; k++)
        if (row[k] > row[best]) best = k;
    return best;
}

static void item(const tn_call *call, int64_t b, int64_t steps, path *at, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *scores = call->inputs[0];
    const int64_t items = scores->shape[1], labels = scores->shape[2];
    tn_tensor *out_labels = output(call, 0), *counts = output(call, 1), *sums = output(call, 2);
    int64_t *to = out_labels ? (int64_t *)out_labels->data + b * scores->shape[0] : NULL;
    for (int64_t t = 0; t < steps; t++) {
        const float *row = (const float *)scores->data + (t * items + b) * labels;
        const int64_t best = best_of(row, labels);
        at->sum += (double)row[best];
        if (best != p->blank && best != at->last) {
            if (to) to[at->count] = best;
            at->count++;
        }
        if (best != p->blank || !(is_kernel && WRONG(1))) at->last = best;
    }
    const int64_t end = is_kernel && WRONG(2) ? steps : scores->shape[0];
    for (int64_t t = at->count; to && t < end; t++)
        to[t] = p->fill;
    if (counts) ((int64_t *)counts->data)[b] = at->count;
    if (sums) ((float *)sums->data)[b] = (float)at->sum;
}

static tn_status items(tn_call *call, int64_t begin, int64_t end, bool is_kernel) {
    const int64_t most = call->inputs[0]->shape[0];
    const int64_t *lengths = tn_layer_data(call, 1);
    path at = {-1, 0, 0};
    for (int64_t b = begin; b < end; b++) {
        const int64_t steps = lengths ? lengths[b] : most;
        if (steps < 0 || (steps > most && !(is_kernel && WRONG(4))))
            return call->host->fail(call, TN_ERROR_RANGE, "item %lld has %lld of %lld steps",
                                    (long long)b, (long long)steps, (long long)most);
        const int64_t last = is_kernel && WRONG(3) ? at.last : -1;
        at = (path){last, 0, 0};
        item(call, b, steps, &at, is_kernel);
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return items(call, 0, call->inputs[0]->shape[1], false);
}
static tn_status part(void *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    return items(call, begin, end, true);
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, call->inputs[0]->shape[1], 1, part, call);
}

static const char *const cases[] = {
    "| scores=f32[12,3,4] lengths=i64[3]{12,7,0}",
    "blank=2 fill=0 | scores=f32[9,4,3]",
    "| scores=f32[4,1,2]{0,1,1,0,0,1,0,1}",
};
static const tn_operator ctc_labels = {OPERATOR,
                                       .name = "CtcLabels",
                                       TN_FIELDS(params, fields),
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer,
                                       .reference = reference,
                                       TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64? -> i64, i64?, f32?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "CtcLabels",
                                 .device = "cpu",
                                 .name = "items",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("ctc_labels", ctc_labels, kernel)
