/* SPDX-License-Identifier: Apache-2.0 */
/* The library of kernels by oneDNN: loaded when the builder looks for kernels, or when a plan names
 * it. */
#include "onednn/dnnl.h"

static const tn_kernel *const kernels[] = {&tn_dnnl_conv_kernel, &tn_dnnl_max_pool_kernel,
                                           &tn_dnnl_average_pool_kernel,
                                           &tn_dnnl_global_average_pool_kernel};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "onednn",
                               .version = "2",
                               .kernel_count = TN_COUNT(kernels),
                               .kernels = kernels};
    (void)host;
    return &table;
}
