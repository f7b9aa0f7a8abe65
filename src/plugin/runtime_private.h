/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's members, for runtime.c, host.c and import/importers.c alone. */
#ifndef TN_PLUGIN_RUNTIME_PRIVATE_H
#define TN_PLUGIN_RUNTIME_PRIVATE_H

#include "base/resource_store.h"
#include "device/cpu/host_threads.h"
#include "device/cpu/workers.h"
#include "plugin/runtime.h"

#include <tenon/plugin/device.h>

#include <pthread.h>
#include <stdatomic.h>

struct tn_runtime {
    tn_host host; /* first: a tn_host pointer is a runtime pointer */
    atomic_uint references;
    tn_allocator allocator;
    tn_arena *arena;
    tn_log_function log;
    void *log_user;
    uint32_t log_level;
    bool reads_environment, without_companions, has_companions;
    /* Libraries are loaded one after another; recursive: a load callback may load others. Callbacks
     * run in this one alone. */
    pthread_mutex_t loading_lock;
    pthread_mutex_t lock; /* of the list of libraries and the search path; taken after the other */
    tn_registry *registry;
    tn_loaded_library **libraries;
    size_t library_count, library_capacity;
    uint64_t library_serial;            /* of the one that was listed last */
    tn_loaded_library *_Atomic loading; /* whose load callback runs */
    char last_log[512];                 /* the last error or warning that a library logged */
    const char **paths;
    size_t path_count, path_capacity;
    const char *companions, *device_folder, *forced_kernels;
    struct loaded_companion *loaded_companions; /* libraries/runtime_libraries.c's */
    tn_resource_store *resources;               /* that kernels share */
    tn_weight_store *weights;                   /* that engines share */
    /* Importers (import/importers.h), and their lock, under which none else is taken. */
    struct tn_importer_entry **importers;
    size_t importer_count, importer_capacity;
    pthread_mutex_t importers_lock;
    const char *importer_folders[2], *operator_folders[2]; /* beside the core library */
    bool has_linked_importers;                             /* under the loading lock */
    tn_device cpu;
    tn_workers *workers;
    tn_host_threads *run_threads; /* made when they are needed first, under `lock`; or null */
    uint32_t run_thread_count;
    char features[256], fingerprint[384];
};

void tn_host_init(tn_runtime *runtime);

#endif
