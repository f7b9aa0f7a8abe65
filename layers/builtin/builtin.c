/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in layers as a plugin library like any other: gathers what the folders of layers/ offer
 * (tn_layer_table) and registers it through the host's services. The core knows this entry alone.
 */
#include "builtin/builtin.h"
#include "kit/operator/layer.h"

/* After all operators: what stands for several of them. */
static tn_status add_rewrites(const tn_host *host, tn_library *library) {
    const tn_rewrite_services *services = host->extension(host, TN_REWRITES);
    for (const tn_layer *const *layer = tn_layer_table; *layer; layer++) {
        for (uint64_t i = 0; i < (*layer)->rewrite_count; i++) {
            tn_status status = services->add(host, library, (*layer)->rewrites[i]);
            if (status != TN_OK) return status;
        }
    }
    return TN_OK;
}

static tn_status builtin_load(const tn_host *host, tn_library *library) {
    for (const tn_layer *const *layer = tn_layer_table; *layer; layer++) {
        for (uint64_t i = 0; i < (*layer)->operator_count; i++) {
            tn_status status = host->register_operator(host, library, (*layer)->operators[i]);
            if (status != TN_OK) return status;
        }
    }
    for (const tn_layer *const *layer = tn_layer_table; *layer; layer++) {
        for (uint64_t i = 0; i < (*layer)->kernel_count; i++) {
            tn_status status = host->register_kernel(host, library, (*layer)->kernels[i]);
            if (status != TN_OK) return status;
        }
    }
    return add_rewrites(host, library);
}

tn_library *tn_builtin_entry(const tn_host *host) {
    (void)host;
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "builtin",
                               .version = "1",
                               .load = builtin_load};
    return &table;
}
