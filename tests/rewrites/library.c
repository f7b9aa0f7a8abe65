/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the library: RMSNormalization's rewrite lies in it, the others are added when it
 * loads. */
#include "fusions.h"

static tn_status add(const tn_host *host, tn_library *library, const tn_rewrite *const *rewrites,
                     uint32_t count) {
    const tn_rewrite_services *services = host->extension(host, TN_REWRITES);
    tn_status status = services ? TN_OK : TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = services->add(host, library, rewrites[i]);
    return status;
}

static tn_status load(const tn_host *host, tn_library *library) {
    tn_status status =
        add(host, library, fusions_attention_rewrites, TN_COUNT(fusions_attention_rewrites));
    if (status == TN_OK)
        status = add(host, library, fusions_rotary_rewrites, TN_COUNT(fusions_rotary_rewrites));
    if (status == TN_OK)
        status =
            add(host, library, fusions_quantized_rewrites, TN_COUNT(fusions_quantized_rewrites));
    return status;
}

static const tn_operator *const operators[] = {&fusions_attention, &fusions_rotary, &fusions_rms,
                                               &fusions_quantized};
static const tn_kernel *const kernels[] = {&fusions_attention_kernel, &fusions_rotary_kernel,
                                           &fusions_rms_kernel, &fusions_quantized_kernel};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "fusions",
                                 .version = "1",
                                 .operator_count = TN_COUNT(operators),
                                 .operators = operators,
                                 .kernel_count = TN_COUNT(kernels),
                                 .kernels = kernels,
                                 .load = load,
                                 .rewrite_count = TN_COUNT(fusions_rms_rewrites),
                                 .rewrites = fusions_rms_rewrites};
    (void)host;
    return &library;
}
