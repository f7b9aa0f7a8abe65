/* SPDX-License-Identifier: Apache-2.0 */
/* Half of the channels times a sigmoid of the other half. Rows may lie apart on both sides. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, bool gate_first;);
static const tn_field fields[] = {
    TN_LAYER_BOOL(params, gate_first, "false", "the first half goes through the sigmoid"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, channels (even), any others")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, half of the channels, the others")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' has rank %u, expected 2+",
                                x->rank);
    if (x->shape[1] % 2 != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' has %lld channels, expected even",
                                (long long)x->shape[1]);
    TN_TRY(infer_same(call));
    call->outputs[0]->shape[1] = x->shape[1] / 2;
    return TN_OK;
}

static float gate(float value, float through) {
    return (float)((double)value / (1 + exp(-(double)through)));
}

static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0];
    const int64_t half = extent(call->outputs[0], 1, x->rank);
    const float *row = (const float *)x->data + i / half * 2 * half;
    const bool gate_first = ((const params *)call->params)->gate_first;
    return (double)gate(row[i % half + (gate_first ? half : 0)],
                        row[i % half + (gate_first ? 0 : half)]);
}
TN_LAYER_REFERENCE(element)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t half = extent(y, 1, y->rank);
    const bool gate_first = ((const params *)call->params)->gate_first;
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        const float *from = (const float *)x->data + r * (WRONG(1) ? 2 * half : x->strides[0]);
        float *to = (float *)y->data + r * (WRONG(2) ? half : y->strides[0]);
        for (int64_t i = 0; i < half; i++)
            to[i] = gate(from[i + (gate_first ? half : 0)], from[i + (gate_first ? 0 : half)]);
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 8)

static const char *const cases[] = {
    "| x=f32[3,4,5]",
    "gate_first=true | x=f32[5,6]",
    "| x=f32[1,2,2,2]",
};
TN_LAYER_LIBRARY("gated_unit", "Sixteenth", "GatedUnit", "A gated half.", params,
                 "f32:strided -> f32:strided", .run = run)
