/* SPDX-License-Identifier: Apache-2.0 */
/* Registers what layers offer; see layer.h. */
#include "kit/operator/layer.h"

#include <pthread.h>
#include <stdio.h>

const tn_level tn_levels[TN_LEVELS_MOST] = {{"baseline", TN_KIT_FEATURES_baseline},
                                            {"avx2", TN_KIT_FEATURES_avx2},
                                            {"avx512", TN_KIT_FEATURES_avx512}};
const tn_level tn_levels_vnni[TN_LEVELS_MOST] = {{"baseline", TN_KIT_FEATURES_baseline},
                                                 {"avx2", TN_KIT_FEATURES_avx2},
                                                 {"avx512vnni", TN_KIT_FEATURES_avx512vnni}};
const tn_level tn_levels_tiles[TN_LEVELS_MOST] = {{"avx512vnni", TN_KIT_FEATURES_avx512vnni},
                                                  {"amx", TN_KIT_FEATURES_amx}};

static tn_status add_operators(const tn_host *host, tn_library *library,
                               const tn_layer *const *layers) {
    for (const tn_layer *const *layer = layers; *layer; layer++)
        for (uint64_t i = 0; i < (*layer)->operator_count; i++)
            TN_TRY(host->register_operator(host, library, (*layer)->operators[i]));
    return TN_OK;
}

/* Once a process: all of its runtimes register the same ones. */
static void make_levels(const tn_level_kernels *of) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TN_LEVELS_MOST; i++) {
        tn_made_kernel *made = &of->made[i];
        if (made->name[0] || !of->users[i]) continue;
        snprintf(made->name, sizeof(made->name), "%s_%s", of->like.name, of->levels[i].name);
        made->kernel = tn_kernel_like(&of->like, of->like.op, made->name, of->levels[i].features,
                                      of->users[i]);
    }
    pthread_mutex_unlock(&lock);
}

/* A kernel, or those of its levels, the highest first. */
static tn_status add_kernel(const tn_host *host, tn_library *library, const tn_kernel *kernel) {
    if (kernel->size != sizeof(tn_level_kernels))
        return host->register_kernel(host, library, kernel);
    const tn_level_kernels *of = (const void *)kernel;
    make_levels(of);
    for (int i = TN_LEVELS_MOST; i-- > 0;)
        if (of->users[i]) TN_TRY(host->register_kernel(host, library, &of->made[i].kernel));
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
            TN_TRY(add_kernel(host, library, (*layer)->kernels[i]));
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
