/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operator for tests of what happens during a run: y = x + 1, and a function of the test's is
 * called first. Included before cmocka.
 */
#ifndef TN_TESTS_HOOK_LAYERS_H
#define TN_TESTS_HOOK_LAYERS_H

#include <tenon/plugin.h>

static void (*_Atomic hook)(int count); /* null: none; `count`: calls since hook_count was 0 */
static _Atomic int hook_count;

static inline tn_status hook_infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}

static inline tn_status hook_run(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    void (*function)(int count) = hook;
    const int count = ++hook_count;
    if (function) function(count);
    for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof(float); i++)
        to[i] = from[i] + 1;
    return TN_OK;
}

static const tn_port hook_inputs[] = {TN_PORT("x", "f32", 0, "numbers")};
static const tn_port hook_outputs[] = {TN_PORT("y", "f32", 0, "one more")};
static const tn_operator hook_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "run",
                                          .name = "Hook",
                                          .doc = "y = x + 1",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(hook_inputs),
                                          TN_OUTPUTS(hook_outputs),
                                          .infer = hook_infer,
                                          .reference = hook_run};
static const tn_kernel hook_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "run",
                                      .op = "Hook",
                                      .device = "cpu",
                                      .name = "hooked",
                                      .run = hook_run};
static const tn_operator *const hook_operators[] = {&hook_operator};
static const tn_kernel *const hook_kernels[] = {&hook_kernel};

static inline tn_library *hook_entry(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "hook_layers",
                                 .version = "1",
                                 .operator_count = TN_COUNT(hook_operators),
                                 .operators = hook_operators,
                                 .kernel_count = TN_COUNT(hook_kernels),
                                 .kernels = hook_kernels};
    (void)host;
    return &library;
}

#endif
