/* SPDX-License-Identifier: Apache-2.0 */
/* y = 2 * x + w of rows: the kernel keeps a copy of w from `prepare`, and saves it, so that a
 * result says which data it was prepared with. */
#include <tenon/plugin.h>

#include <string.h>

TN_EXPORT extern uint32_t keep_prepared, keep_released;
uint32_t keep_prepared, keep_released; /* for tests that link this in */

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    call->outputs[0]->type = x->type;
    call->outputs[0]->rank = x->rank;
    for (uint32_t i = 0; i < x->rank; i++)
        call->outputs[0]->shape[i] = x->shape[i];
    return TN_OK;
}

static void compute(const tn_call *call, const float *w) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const uint64_t count = call->outputs[0]->bytes / 4, width = call->inputs[1]->bytes / 4;
    for (uint64_t i = 0; i < count; i++)
        y[i] = 2 * x[i] + w[i % width];
}

static tn_status reference(tn_call *call) {
    compute(call, call->inputs[1]->data);
    return TN_OK;
}

static tn_status keep(tn_call *call, const void *data, uint64_t bytes) {
    if (!data || bytes != call->inputs[1]->bytes) return TN_ERROR_UNSUPPORTED;
    call->state = call->host->allocate(call->host, bytes, 64);
    if (!call->state) return TN_ERROR_MEMORY;
    memcpy(call->state, data, bytes);
    __atomic_add_fetch(&keep_prepared, 1, __ATOMIC_RELAXED); /* engines load in several threads */
    return TN_OK;
}

static tn_status accepts(tn_call *call) {
    return call->inputs[1]->data ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status prepare(tn_call *call) {
    return keep(call, call->inputs[1]->data, call->inputs[1]->bytes);
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    *inout_bytes = call->inputs[1]->bytes;
    if (data) memcpy(data, call->state, call->inputs[1]->bytes);
    return TN_OK;
}

static void release(tn_call *call) {
    __atomic_add_fetch(&keep_released, 1, __ATOMIC_RELAXED);
    call->host->deallocate(call->host, call->state);
}

static tn_status run(tn_call *call) {
    compute(call, call->state);
    return TN_OK;
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows"), TN_PORT("w", "f32", 0, "a row")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "2 * x + w")};
static const tn_operator operator_table = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "Test",
                                           .name = "Keep",
                                           .doc = "2 * x + w",
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = reference};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel_table = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "Test",
                                       .op = "Keep",
                                       .device = "cpu",
                                       .name = "keep",
                                       TN_COMBINATIONS(combinations),
                                       .accepts = accepts,
                                       .prepare = prepare,
                                       .release = release,
                                       .run = run,
                                       .save = save,
                                       .load = keep};
static const tn_operator *const operators[] = {&operator_table};
static const tn_kernel *const kernels[] = {&kernel_table};
TN_LIBRARY("keep", "1.0", operators, kernels)
