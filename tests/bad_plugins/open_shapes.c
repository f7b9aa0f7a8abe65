/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Ramp, y[r][c] = x[r][c] * weight[c % 3] + c, by a kernel for any shape that packs the
 * weights without knowing x: and the mistakes with extents that are not there when it is prepared.
 */
#include "mistake.h"

typedef struct ramp_state {
    float weights[3];
    int64_t columns; /* of the mistakes */
    bool is_empty;
} ramp_state;

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, columns"),
                                 TN_PORT("weight", "f32", 0, "three numbers")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const tn_tensor *weight = call->inputs[1];
    if (call->inputs[0]->rank != 2 || weight->rank != 1 || weight->shape[0] != 3)
        return call->host->fail(call, TN_ERROR_SHAPE, "x is a matrix, and there are three weights");
    return infer_same(call);
}

static void compute(const tn_call *call, const float *weights, int64_t columns) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++)
        y[i] = x[i] * weights[i % columns % 3] + (float)(i % columns);
}

static tn_status reference(tn_call *call) {
    compute(call, call->inputs[1]->data, call->inputs[0]->shape[1]);
    return TN_OK;
}

static tn_status accepts(tn_call *call) {
    return call->inputs[1]->data ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status prepare(tn_call *call) {
    if (WITH(refuses_unknown_extents) && call->inputs[0]->shape[1] < 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "a negative count of columns");
    ramp_state *state = call->host->allocate(call->host, sizeof(*state), 16);
    if (!state) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for three weights");
    for (int i = 0; i < 3; i++)
        state->weights[i] = ((const float *)call->inputs[1]->data)[i];
    state->columns = WITH(keeps_extent_of_prepare) ? call->inputs[0]->shape[1] : 0;
    state->is_empty = WITH(takes_unknown_for_none) && call->inputs[0]->bytes == 0;
    call->state = state;
    return TN_OK;
}

static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status run(tn_call *call) {
    const ramp_state *state = call->state;
    const int64_t columns = call->inputs[0]->shape[1];
    if (state->is_empty) return TN_OK;
    compute(call, state->weights, WITH(keeps_extent_of_prepare) ? state->columns : columns);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,5] weight=f32[3]"};
static const tn_operator ramp = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Ramp",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel ramp_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Ramp",
                                   .device = "cpu",
                                   .name = "packed",
                                   .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                                   TN_COMBINATIONS(combinations),
                                   .accepts = accepts,
                                   .prepare = prepare,
                                   .release = release,
                                   .run = run};

static const tn_operator *const operators[] = {&ramp};
static const tn_kernel *const kernels[] = {&ramp_cpu};
TN_LIBRARY("bad_open_shapes", "1", operators, kernels)
