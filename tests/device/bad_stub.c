/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the stub device that break the contract, each differently and on an operator of its
 * own; bad_cuda.cu has the same for GPUs. tests/device/bad.c says what must become of them.
 */
#include "stub.h"

#include <string.h>

static tn_stub_state *stub_of(const tn_call *call) {
    return call->device->user;
}

static float *output_of(const tn_call *call) {
    return call->outputs[0]->data;
}

static size_t count_of(const tn_call *call) {
    return (size_t)call->outputs[0]->bytes / sizeof(float);
}

static void write_all(const tn_call *call) {
    memcpy(output_of(call), call->inputs[0]->data, (size_t)call->outputs[0]->bytes);
}

/* ----------------------------------------------------------------------------------------------
 * what the device does when it comes to it */

static tn_status do_wild(tn_call *call) {
    tn_stub_state *stub = stub_of(call);
    memcpy(stub->lost, "an illegal memory access; the device is lost to this process", 61);
    stub->is_lost = true;
    return TN_ERROR_DEVICE;
}

static tn_status do_late(tn_call *call) {
    (void)call;
    return TN_ERROR_DEVICE;
}

static tn_status do_past(tn_call *call) {
    write_all(call);
    output_of(call)[count_of(call)] = 1;
    return TN_OK;
}

static tn_status do_before(tn_call *call) {
    write_all(call);
    output_of(call)[-1] = 1;
    return TN_OK;
}

static tn_status do_unwritten(tn_call *call) {
    memcpy(output_of(call), call->inputs[0]->data, (size_t)call->outputs[0]->bytes - sizeof(float));
    return TN_OK;
}

static tn_status do_input(tn_call *call) {
    write_all(call);
    ((float *)call->inputs[0]->data)[5] += 1;
    return TN_OK;
}

static tn_status do_workspace(tn_call *call) {
    write_all(call);
    memset(call->workspace, 0, (size_t)call->workspace_bytes + 8);
    return TN_OK;
}

static tn_status do_no_number(tn_call *call) {
    write_all(call);
    output_of(call)[7] = __builtin_nanf("");
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * what is launched */

static tn_status refused_run(tn_call *call) {
    return call->host->fail(call, TN_ERROR_DEVICE, "the launch: invalid configuration");
}

static tn_status silent_run(tn_call *call) {
    stub_of(call)->refuse_launch();
    return TN_OK;
}

static tn_status nothing_run(tn_call *call) {
    (void)call;
    return TN_OK;
}

#define ENQUEUE(name)                                                                              \
    static tn_status name##_run(tn_call *call) {                                                   \
        return stub_of(call)->enqueue(call, do_##name);                                            \
    }
ENQUEUE(wild)
ENQUEUE(late)
ENQUEUE(past)
ENQUEUE(before)
ENQUEUE(unwritten)
ENQUEUE(input)
ENQUEUE(workspace)
ENQUEUE(no_number)

static tn_status workspace_reshape(tn_call *call) {
    call->workspace_bytes = 512;
    return TN_OK;
}

static const char *const combinations[] = {"f32 -> f32"};
#define BAD(variable, operator_name, ...)                                                          \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "",                                               \
                                       .op = operator_name,                                        \
                                       .device = "stub",                                           \
                                       .name = #variable,                                          \
                                       TN_COMBINATIONS(combinations),                              \
                                       __VA_ARGS__.run = variable##_run}
BAD(refused, "Neg", );
BAD(silent, "Abs", );
BAD(wild, "Ceil", );
BAD(late, "Floor", );
BAD(past, "Exp", );
BAD(before, "Sqrt", );
BAD(unwritten, "Sign", );
BAD(input, "Round", );
BAD(workspace, "Erf", .reshape = workspace_reshape, );
BAD(no_number, "Tanh", );
BAD(nothing, "Log", );

static const tn_kernel *const kernels[] = {&refused,   &silent,    &wild,      &late,
                                           &past,      &before,    &unwritten, &input,
                                           &workspace, &no_number, &nothing};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "bad_kernels",
                               .version = "1",
                               .kernel_count = TN_COUNT(kernels),
                               .kernels = kernels};
    (void)host;
    return &table;
}
