/* SPDX-License-Identifier: Apache-2.0 */
/* A step of a beam search: of all continuations of an item's beams the best ones. A beam that is
 * finished goes on as it is, with the end's token. Of equal scores the earlier one is better. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t end;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, end, "0", 0, 1 << 20, "the token that ends a text"),
};
static const tn_port inputs[] = {TN_PORT("log_probs", "f32", 0, "items, beams, tokens"),
                                 TN_PORT("scores", "f32", 0, "items, beams"),
                                 TN_PORT("finished", "bool", 0, "items, beams")};
static const tn_port outputs[] = {TN_PORT("next", "f32", 0, "items, beams"),
                                  TN_PORT("parents", "i64", TN_PORT_OPTIONAL, "items, beams"),
                                  TN_PORT("tokens", "i64", TN_PORT_OPTIONAL, "items, beams")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], call->inputs[0]->shape[1]) ||
        !TN_LAYER_FITS(call, 2, call->inputs[0]->shape[0], call->inputs[0]->shape[1]))
        return TN_ERROR_SHAPE;
    for (uint32_t i = 0; i < 3; i++)
        TN_TRY(set_shape(call, i, 2, call->inputs[1]->shape));
    return TN_OK;
}

/* The score of continuation `c` of an item; NaN counts as -infinity. False: there is none. */
static bool score_of(const tn_call *call, int64_t item, int64_t c, double *out_score,
                     bool is_kernel) {
    const int64_t beams = call->inputs[0]->shape[1], tokens = call->inputs[0]->shape[2];
    const int64_t beam = item * beams + c / tokens;
    const double before = (double)((const float *)call->inputs[1]->data)[beam];
    const bool is_finished =
        ((const uint8_t *)call->inputs[2]->data)[beam] && !(is_kernel && WRONG(1));
    *out_score = before;
    if (!is_finished)
        *out_score += (double)((const float *)call->inputs[0]->data)[item * beams * tokens + c];
    if (isnan(*out_score) && !(is_kernel && WRONG(2))) *out_score = (double)-INFINITY;
    return !is_finished || c % tokens == 0;
}

static void step(const tn_call *call, int64_t item, bool is_kernel) {
    const int64_t beams = call->inputs[0]->shape[1], tokens = call->inputs[0]->shape[2];
    const tn_tensor *next = output(call, 0), *parents = output(call, 1), *to = output(call, 2);
    double last = 0;
    int64_t last_at = -1;
    for (int64_t b = 0; b < beams; b++) {
        double best = 0, score;
        int64_t at = -1;
        for (int64_t c = 0; c < beams * tokens; c++) {
            if (!score_of(call, item, c, &score, is_kernel)) continue;
            /* Behind the last one that was taken, and before the best so far. */
            if (last_at >= 0 && (score > last || (score == last && c <= last_at))) continue;
            if (at < 0 || score > best) {
                best = score;
                at = c;
            }
        }
        last = best;
        last_at = at < 0 ? last_at : at;
        const int64_t parent = at < 0 ? 0 : at / (is_kernel && WRONG(3) ? beams : tokens);
        const bool is_finished = ((const uint8_t *)call->inputs[2]->data)[item * beams + parent];
        if (next) tn_layer_store(next, item * beams + b, best);
        if (parents) ((int64_t *)parents->data)[item * beams + b] = parent;
        if (to)
            ((int64_t *)to->data)[item * beams + b] =
                is_finished ? ((const params *)call->params)->end : at % tokens;
    }
}

static tn_status reference(tn_call *call) {
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        step(call, i, false);
    return TN_OK;
}
static tn_status items(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        step(call, i, true);
    return TN_OK;
}
TN_LAYER_RUN(items, call->inputs[0]->shape[0], 1)

static const char *const cases[] = {
    "| log_probs=f32[2,3,5] scores=f32[2,3] finished=bool[2,3]{0,0,0,0,0,0}",
    "end=1 | log_probs=f32[1,4,4] scores=f32[1,4] finished=bool[1,4]{0,1,0,1}",
    "| log_probs=f32[2,2,2] scores=f32[2,2] finished=bool[2,2]",
};
TN_LAYER_LIBRARY("beam_step", "Seventeenth", "BeamStep", "A step of a beam search.", params,
                 "f32, f32, bool -> f32, i64?, i64?", .run = run)
