/* SPDX-License-Identifier: Apache-2.0 */
/* The first half of an axis and the rest, and counts of what is above 0 in each. */
#include "fourteenth.h"

TN_LAYER_PARAMS(pieces_params, int64_t axis;);
static const tn_field fields[] = {TN_LAYER_I64(pieces_params, axis, "0", 0, 7, "which is cut")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("first", "f32", 0, "the first half, rounded up"),
                                  TN_PORT("rest", "f32", 0, "the others"),
                                  TN_PORT("positive", "i64", 0, "2: above 0 in each")};

static tn_status infer(tn_call *call) {
    const int64_t axis = ((const pieces_params *)call->params)->axis;
    const tn_tensor *x = call->inputs[0];
    if (axis >= x->rank) return call->host->fail(call, TN_ERROR_RANGE, "'axis' is beyond the rank");
    for (int o = 0; o < 2; o++) {
        same_shape(x, call->outputs[o]);
        call->outputs[o]->shape[axis] = (x->shape[axis] + 1 - o) / 2;
    }
    return TN_LAYER_SET_SHAPE(call, 2, 2);
}
static void cut(const tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = ((const pieces_params *)call->params)->axis, n = x->shape[axis];
    const int64_t outer = product(x->shape, 0, axis), inner = product(x->shape, axis + 1, x->rank);
    int64_t counts[2] = {0, 0};
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++) {
            const bool is_rest = i >= (is_kernel && WRONG(4) ? n / 2 : (n + 1) / 2);
            const int64_t half = is_rest ? n / 2 : (n + 1) / 2, first = is_rest ? (n + 1) / 2 : 0;
            const int64_t at = is_kernel && WRONG(4) && i < first ? 0 : i - first;
            const tn_tensor *y =
                call->outputs[is_kernel && WRONG(1) && n % 2 == 0 ? !is_rest : is_rest];
            for (int64_t k = 0; k < inner; k++) {
                const float v = ((const float *)x->data)[(o * n + i) * inner + k];
                if (y) ((float *)y->data)[(o * half + at) * inner + k] = v;
                if (y || !(is_kernel && WRONG(2)))
                    counts[is_rest] += v > 0 || (is_kernel && WRONG(3) && v != v);
            }
        }
    if (call->outputs[2]) memcpy(call->outputs[2]->data, counts, sizeof(counts));
}
static tn_status reference(tn_call *call) {
    cut(call, false);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    cut(call, true);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[5,3]", "axis=1 | x=f32[2,7,2]", "| x=f32[1]"};
static const tn_operator pieces = {OPERATOR,
                                   .name = "Pieces",
                                   .doc = "Halves of an axis.",
                                   TN_FIELDS(pieces_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32, f32, i64"};
static const tn_kernel pieces_cpu = {KERNEL, .op = "Pieces", TN_COMBINATIONS(combinations),
                                     .run = run};
LIBRARY("pieces", pieces, pieces_cpu)
