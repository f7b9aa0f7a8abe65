/* SPDX-License-Identifier: Apache-2.0 */
/* Roll: x moved along its last axis, over the ends, by a sum of steps, and scaled; two variants of
 * doing it, and callbacks that say how a node is run. */
#include <stdio.h>

#include "ninth.h"

TN_LAYER_PARAMS(roll, tn_i64s steps;);
static const tn_field fields[] = {
    TN_FIELD_RANGE(roll, steps, TN_FIELD_I64S, TN_OPTIONAL, "[1]", -1e15, 1e15, "are added")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                 TN_PORT("scale", "f32", 0, "a scalar")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[1]->rank != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "scale is no scalar");
    return infer_same(call);
}
static int64_t line_length(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return x->rank > 0 ? x->shape[x->rank - 1] : 1;
}
/* How far, from 0 to n - 1. */
static int64_t distance(const tn_call *call, int64_t n) {
    const tn_i64s *steps = &((const roll *)call->params)->steps;
    int64_t far = 0;
    for (uint64_t i = 0; i < steps->count && n > 0; i++) {
        if (WRONG(5))
            far = (far + steps->items[i]) % n;
        else
            far = (far + steps->items[i] % n + n) % n;
    }
    return far;
}
static double element(const tn_call *call, int64_t i) {
    const tn_i64s *steps = &((const roll *)call->params)->steps;
    const int64_t n = line_length(call);
    int64_t at = i % n;
    for (uint64_t s = 0; s < steps->count; s++)
        at = (at - steps->items[s] % n + n) % n;
    return tn_layer_load(call->inputs[0], i - i % n + at) * tn_layer_load(call->inputs[1], 0);
}
TN_LAYER_REFERENCE(element)

static tn_status accepts(tn_call *call) {
    if (WRONG(3)) /* a scale of 0 is for the reference */
        return *(const float *)call->inputs[1]->data != 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
    return TN_OK;
}
static tn_status tactics(tn_call *call) {
    const int64_t n = line_length(call);
    call->tactic_count = 2;
    if (WRONG(1)) call->tactic_count = (uint32_t)(n < 2 ? n : 2); /* one for each element at most */
    if (WRONG(4)) call->tactic_count = n % 2 == 0 ? 2 : 1;        /* the second one has pairs */
    return TN_OK;
}
static tn_status timing_key(tn_call *call, char *text, uint32_t bytes) {
    const tn_i64s *steps = &((const roll *)call->params)->steps;
    uint32_t at = 0;
    text[0] = 0;
    for (uint64_t i = 0; i < steps->count; i++) {
        if (WRONG(2)) {
            at += (uint32_t)sprintf(text + at, "step %lld of a line of %lld elements, ",
                                    (long long)steps->items[i], (long long)line_length(call));
            continue;
        }
        const int written = snprintf(text + at, bytes - at, "%lld,", (long long)steps->items[i]);
        if (written < 0 || (uint32_t)written >= bytes - at) return TN_ERROR_UNSUPPORTED;
        at += (uint32_t)written;
    }
    return TN_OK;
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = line_length(call), far = distance(call, n);
    const float scale = *(const float *)call->inputs[1]->data;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * n;
        float *y = (float *)call->outputs[0]->data + row * n;
        if (call->tactic == 0) {
            for (int64_t k = 0; k < n; k++)
                y[k] = scale * x[k >= far ? k - far : k - far + n];
        } else if (WRONG(4)) {
            for (int64_t k = 0; k + 1 < n; k += 2) {
                y[k] = scale * x[k >= far ? k - far : k - far + n];
                y[k + 1] = scale * x[k + 1 >= far ? k + 1 - far : k + 1 - far + n];
            }
        } else {
            for (int64_t k = 0; k < far; k++)
                y[k] = scale * x[n - far + k];
            for (int64_t k = far; k < n; k++)
                y[k] = scale * x[k - far];
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_rows(call->inputs[0]), 4)

#if WRONG(5)
#define SECOND "2,3"
#else
#define SECOND "2,-3"
#endif
static const char *const cases[] = {"| x=f32[2,6] scale=f32[]{2}",
                                    "steps=[" SECOND "] | x=f32[3,2,4] scale=f32[]{0.5}"};
static const tn_operator roll_operator = {
    OPERATOR,          .state_version = 1,  .name = "Roll", TN_FIELDS(roll, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer, .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel roll_cpu = {KERNEL,
                                   .op = "Roll",
                                   .name = "rows",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .accepts = accepts,
                                   .tactics = tactics,
                                   .timing_key = timing_key,
                                   .run = run};
LIBRARY("ninth_callbacks", roll_operator, roll_cpu)
