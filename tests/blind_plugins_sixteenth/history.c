/* SPDX-License-Identifier: Apache-2.0 */
/* The last elements of a signal: a frame comes in at the end, as many leave at the beginning. The
 * state may be updated in place. */
#include "sixteenth.h"

static const tn_port inputs[] = {TN_PORT("state", "f32", 0, "rows, length"),
                                 TN_PORT("frame", "f32", 0, "rows, any number")};
static const tn_port outputs[] = {{"next", "f32", "as the state", TN_PORT_ALIAS, 1, 0, 0}};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], TN_LAYER_ANY))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static double element(const tn_call *call, int64_t i) {
    const int64_t length = call->inputs[0]->shape[1], frame = call->inputs[1]->shape[1];
    const int64_t row = i / length, at = i % length + frame;
    return at < length ? tn_layer_load(call->inputs[0], row * length + at)
                       : tn_layer_load(call->inputs[1], row * frame + at - length);
}
TN_LAYER_REFERENCE(element)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t length = call->inputs[0]->shape[1], frame = call->inputs[1]->shape[1];
    const int64_t fresh = frame < length ? frame : length, stays = length - fresh;
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *state = (const float *)call->inputs[0]->data + r * length;
        const float *from = (const float *)call->inputs[1]->data + r * frame;
        float *next = (float *)call->outputs[0]->data + r * length;
        if (WRONG(1))
            for (int64_t i = stays; i-- > 0;)
                next[i] = state[i + fresh];
        else if (!(WRONG(3) && next == state))
            memmove(next, state + fresh, (size_t)stays * sizeof(float));
        memcpy(next + stays, from + (WRONG(2) ? 0 : frame - fresh), (size_t)fresh * sizeof(float));
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[1] > 0 ? call->inputs[0]->shape[0] : 0, 2)

static const char *const cases[] = {
    "| state=f32[2,8] frame=f32[2,3]",
    "| state=f32[1,5] frame=f32[1,5]",
    "| state=f32[3,4] frame=f32[3,1]",
};
static const tn_operator history = {
    OPERATOR,       .name = "History",      TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "History",
                                 .name = "moves",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("history", history, kernel)
