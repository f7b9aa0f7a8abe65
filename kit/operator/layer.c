/* SPDX-License-Identifier: Apache-2.0 */
/* Registers what layers offer; see layer.h. */
#include "kit/operator/layer.h"

static tn_status add_operators(const tn_host *host, tn_library *library,
                               const tn_layer *const *layers) {
    for (const tn_layer *const *layer = layers; *layer; layer++)
        for (uint64_t i = 0; i < (*layer)->operator_count; i++)
            TN_TRY(host->register_operator(host, library, (*layer)->operators[i]));
    return TN_OK;
}

static tn_status add_kernels(const tn_host *host, tn_library *library,
                             const tn_layer *const *layers) {
    for (const tn_layer *const *layer = layers; *layer; layer++) {
        uint64_t count = 0;
        const tn_kernel *made = (*layer)->make_kernels ? (*layer)->make_kernels(&count) : NULL;
        for (uint64_t i = 0; i < count; i++)
            TN_TRY(host->register_kernel(host, library, made + i));
        for (uint64_t i = 0; i < (*layer)->kernel_count; i++)
            TN_TRY(host->register_kernel(host, library, (*layer)->kernels[i]));
    }
    return TN_OK;
}

/* After all operators: what stands for several of them. */
static tn_status add_rewrites(const tn_host *host, tn_library *library,
                              const tn_layer *const *layers) {
    const tn_rewrite_services *services = host->extension(host, TN_REWRITES);
    for (const tn_layer *const *layer = layers; *layer; layer++)
        for (uint64_t i = 0; i < (*layer)->rewrite_count; i++)
            TN_TRY(services->add(host, library, (*layer)->rewrites[i]));
    return TN_OK;
}

tn_status tn_layers_register(const tn_host *host, tn_library *library,
                             const tn_layer *const *layers) {
    TN_TRY(add_operators(host, library, layers));
    TN_TRY(add_kernels(host, library, layers));
    return add_rewrites(host, library, layers);
}
