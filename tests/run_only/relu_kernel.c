/* SPDX-License-Identifier: Apache-2.0 */
/* A library of one kernel of a built-in operator; with WITHOUT_KERNEL, a later version of it that
 * has the kernel no more. */
#include <tenon/plugin.h>

#ifndef WITHOUT_KERNEL
static tn_status run(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    for (uint64_t i = 0; i < call->outputs[0]->bytes / sizeof(float); i++)
        to[i] = from[i] > 0 ? from[i] : 0;
    return TN_OK;
}

static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "",
                                 .op = "Relu",
                                 .device = "cpu",
                                 .name = "third",
                                 .combination_count = TN_COUNT(combinations),
                                 .combinations = combinations,
                                 .run = run};
static const tn_kernel *const kernels[] = {&kernel};
#define KERNELS .kernel_count = TN_COUNT(kernels), .kernels = kernels
#else
#define KERNELS .kernel_count = 0
#endif

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "relu_kernel",
                               .version = "1",
                               KERNELS};
    (void)host;
    return &table;
}
