/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy decoding of CTC: the best class of each frame, repeats and blanks (class 0) left out. How
 * long the longest line is, the run finds; shorter ones end in -1. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("logits", "f32", 0, "B, T, C"),
                                 TN_PORT("lengths", "i32", TN_PORT_OPTIONAL, "B: frames of each")};
static const tn_port outputs[] = {TN_PORT("labels", "i32", TN_PORT_SIZED_BY_RUN, "B, longest")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0]))
        return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, 2, call->inputs[0]->shape);
}
static int64_t frames_of(const tn_call *call, int64_t b, bool is_reference) {
    const int32_t *lengths = tn_layer_data(call, 1);
    const int64_t t = call->inputs[0]->shape[1];
    if (!lengths) return t;
    if (WRONG(2) && !is_reference) return lengths[b];
    return lengths[b] < 0 ? 0 : lengths[b] < t ? lengths[b] : t;
}
static int32_t best_class(const tn_call *call, int64_t frame) {
    const int64_t classes = call->inputs[0]->shape[2];
    const float *row = (const float *)call->inputs[0]->data + frame * classes;
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
        if (row[c] > row[best]) best = c;
    return (int32_t)best;
}
/* Line b into `to`, null: its length alone. */
static int64_t decode(const tn_call *call, int64_t b, bool is_reference, int32_t *before,
                      int32_t *to) {
    int64_t count = 0;
    for (int64_t t = 0; t < frames_of(call, b, is_reference); t++) {
        const int32_t label = best_class(call, b * call->inputs[0]->shape[1] + t);
        if (label != *before && label != 0) {
            if (to) to[count] = label;
            count++;
        }
        *before = label;
    }
    return count;
}
static tn_status decode_all(tn_call *call, bool is_reference) {
    const int64_t lines = call->inputs[0]->shape[0];
    int32_t *labels = call->outputs[0]->data, before = 0;
    int64_t longest = 0;
    for (int64_t b = 0; b < lines; b++) {
        if (!WRONG(1) || is_reference) before = 0;
        const int64_t count = decode(call, b, is_reference, &before, NULL);
        longest = count > longest ? count : longest;
    }
    const int64_t pitch = WRONG(4) && !is_reference ? call->inputs[0]->shape[1] : longest;
    before = 0;
    for (int64_t b = 0; b < lines; b++) {
        if (!WRONG(1) || is_reference) before = 0;
        int64_t count = decode(call, b, is_reference, &before, labels + b * pitch);
        for (; count < longest && (!WRONG(3) || is_reference); count++)
            labels[b * pitch + count] = -1;
    }
    call->outputs[0]->shape[1] = longest;
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return decode_all(call, true);
}
static tn_status run(tn_call *call) {
    return decode_all(call, false);
}

static const char *const cases[] = {
#if MISTAKE != 1 && MISTAKE != 4 && MISTAKE != 3
    "| logits=f32[3,9,4]", "| logits=f32[2,6,3] lengths=i32[2]{4,6}",
#endif
    "| logits=f32[1,12,3]", "| logits=f32[1,5,7] lengths=i32[1]{3}"};
static const tn_operator ctc = {
    OPERATOR,       .name = "CtcGreedy",    TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, i32? -> i32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "CtcGreedy",
                                 .name = "lines",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("ctc_greedy", ctc, kernel)
