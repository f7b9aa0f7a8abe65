/* SPDX-License-Identifier: Apache-2.0 */
/* Stub::Above, the elements above 0, by a kernel of the stub device: the host waits for their
 * count, and asks for the output's memory (tenon/plugin/output.h). */
#include "stub.h"

#include <tenon/plugin/output.h>

static int64_t found;

static tn_status infer(tn_call *call) {
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = TN_UNBOUNDED;
    return TN_OK;
}
static int64_t elements_of(const tn_tensor *x) {
    int64_t count = 1;
    for (uint32_t i = 0; i < x->rank; i++)
        count *= x->shape[i];
    return count;
}
static tn_status count(tn_call *call) {
    const float *x = call->inputs[0]->data;
    found = 0;
    for (int64_t i = 0; i < elements_of(call->inputs[0]); i++)
        found += x[i] > 0;
    return TN_OK;
}
static tn_status select_above(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (int64_t i = 0; i < elements_of(call->inputs[0]); i++)
        if (x[i] > 0) *y++ = x[i];
    return TN_OK;
}
static tn_status allocate(tn_call *call) {
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    void *data = NULL;
    return memory->allocate(call, 0, 1, &found, &data);
}
static tn_status reference(tn_call *call) {
    tn_status status = count(call);
    if (status == TN_OK) status = allocate(call);
    return status == TN_OK ? select_above(call) : status;
}
static tn_status run(tn_call *call) {
    const tn_stub_state *stub = call->device->user;
    tn_status status = stub->enqueue(call, count);
    if (status == TN_OK) status = call->device->stream_wait(call->device, call->stream);
    if (status == TN_OK) status = allocate(call);
    return status == TN_OK ? stub->enqueue(call, select_above) : status;
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "elements")};
static const tn_port outputs[] = {TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "those above 0")};
static const char *const cases[] = {"| x=f32[7]", "| x=f32[3]{-1,-2,0}", "| x=f32[4,5]"};
static const tn_operator above = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Stub",
                                  .name = "Above",
                                  TN_NO_FIELDS,
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel above_stub = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Stub",
                                     .op = "Above",
                                     .device = "stub",
                                     .name = "stub",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .run = run};
static const tn_operator *const operators[] = {&above};
static const tn_kernel *const kernels[] = {&above_stub};
TN_LIBRARY("unbounded_stub", "1", operators, kernels)
