/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Running: sums along the last axis of all elements up to each one; `exclusive`: without it;
 * `reverse`: from the end. */
#include "blind.h"

TN_LAYER_PARAMS(running, bool exclusive; bool reverse;);
static const tn_field fields[] = {TN_LAYER_BOOL(running, exclusive, "false", "without itself"),
                                  TN_LAYER_BOOL(running, reverse, "false", "from the end")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    return same_shape(call, 0, 0);
}
static void row(const tn_call *call, int64_t first, int64_t n, bool is_kernel) {
    const running *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    double sum = 0;
    if (is_kernel && IS(3)) sum = 0 * (double)*((const volatile float *)x->data + first);
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = first + (p->reverse ? n - 1 - k : k);
        if (is_kernel && IS(2)) { /* writes before it reads */
            if (p->exclusive) set(y, i, sum);
            sum += get(x, i);
            if (!p->exclusive) set(y, i, sum);
            continue;
        }
        const double value = get(x, i);
        bool is_exclusive = p->exclusive;
        if (is_kernel && IS(1) && p->reverse) is_exclusive = false;
        set(y, i, is_exclusive ? sum : sum + value);
        sum += value;
    }
}
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    for (int64_t r = 0; r < tn_layer_rows(x); r++)
        row(call, r * n, n, false);
    return TN_OK;
}
typedef struct job {
    tn_call *call;
    volatile int64_t *rows_of; /* by thread */
} job;
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const tn_tensor *x = j->call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    if (IS(4)) j->rows_of[thread * 64] = end - begin; /* room for two threads */
    for (int64_t r = begin; r < end; r++)
        row(j->call, r * n, n, true);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    job j = {call, call->workspace};
    return call->host->parallel_for(call, tn_layer_rows(call->inputs[0]), 1, body, &j);
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = IS(4) ? 2 * 64 * 8 : 0;
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,17]", "exclusive=true | x=f32[2,5,3]",
                                    "reverse=true | x=f32[9]", "| x=f64[2,4]"};
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Running", "Running sums.", running, )
BLIND_KERNEL("Running", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, .reshape = reshape)
BLIND_LIBRARY("blind_running")
