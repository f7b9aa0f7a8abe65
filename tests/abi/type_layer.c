/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of every type of a group, and a kernel for '*': what the two hold is the host's to say,
 * by the minor version of the header that this was compiled with. ABI_NAME is the library's name
 * and domain. */
#include <tenon/plugin.h>

#include <string.h>

static const tn_port inputs[] = {TN_PORT("x", "T:float", 0, "")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "")};

static tn_status infer(tn_call *call) TN_NOEXCEPT {
    call->outputs[0]->rank = call->inputs[0]->rank;
    memcpy(call->outputs[0]->shape, call->inputs[0]->shape,
           call->inputs[0]->rank * sizeof(int64_t));
    return TN_OK;
}
static tn_status copy(tn_call *call) TN_NOEXCEPT {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}

static const tn_operator copy_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .domain = ABI_NAME,
    .name = "Copy",
    TN_NO_FIELDS,
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer,
    .reference = copy,
};
static const char *const combinations[] = {"* -> *"};
static const tn_kernel copy_kernel = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = ABI_NAME,
    .op = "Copy",
    .device = "cpu",
    .name = "copy",
    .traits = TN_KERNEL_FALLBACK, /* there is no other */
    TN_COMBINATIONS(combinations),
    .run = copy,
};
static const tn_operator *const operators[] = {&copy_operator};
static const tn_kernel *const kernels[] = {&copy_kernel};
TN_LIBRARY(ABI_NAME, "1.0", operators, kernels)
