/* SPDX-License-Identifier: Apache-2.0 */
/* The library of kernels by oneDNN: loaded when the builder looks for kernels, or when a plan names
 * it. */
#include "onednn/dnnl.h"

#define TEXT_OF(number)   #number
#define TEXT(number)      TEXT_OF(number)
#define DNNL_VERSION_TEXT TEXT(DNNL_VERSION_MAJOR) "." TEXT(DNNL_VERSION_MINOR)

static const tn_kernel *const kernels[] = {&tn_dnnl_conv_kernel,
                                           &tn_dnnl_conv_transpose_kernel,
                                           &tn_dnnl_integer_conv_kernel,
                                           &tn_dnnl_integer_conv_add_kernel,
                                           &tn_dnnl_max_pool_kernel,
                                           &tn_dnnl_average_pool_kernel,
                                           &tn_dnnl_global_average_pool_kernel};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "onednn",
                               .version = DNNL_VERSION_TEXT,
                               .kernel_count = TN_COUNT(kernels),
                               .kernels = kernels};
    (void)host;
    return &table;
}
