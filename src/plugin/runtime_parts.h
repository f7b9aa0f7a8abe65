/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime's own objects ask it for; see runtime.h. */
#ifndef TN_PLUGIN_RUNTIME_PARTS_H
#define TN_PLUGIN_RUNTIME_PARTS_H

#include "base/memory.h"
#include "plugin/entries.h"
#include "plugin/weights/weight_store.h"

#include <tenon/runtime.h>

/* The services that libraries get. */
const tn_host *tn_runtime_host(tn_runtime *runtime);
const tn_allocator *tn_runtime_allocator(const tn_runtime *runtime);
tn_weight_store *tn_runtime_weights(const tn_runtime *runtime); /* that its engines share */
tn_registry *tn_runtime_registry(const tn_runtime *runtime);
struct tn_host_threads;
/* Threads for runs that nobody waits for; they have the lifetime of the runtime. [thread: any] */
tn_status tn_runtime_run_threads(tn_runtime *runtime, struct tn_host_threads **out_threads);
struct tn_workers;
/* Threads that help with loops; they have the lifetime of the runtime. */
struct tn_workers *tn_runtime_workers(const tn_runtime *runtime);
const tn_device *tn_runtime_cpu(const tn_runtime *runtime);
void tn_runtime_log(const tn_runtime *runtime, uint32_t level, const char *format, ...)
    TN_PRINTF(3, 4);
/* False with TN_RUNTIME_NO_ENVIRONMENT. */
bool tn_runtime_reads_environment(const tn_runtime *runtime);
uint32_t tn_runtime_log_level(const tn_runtime *runtime);
/* The pins of TENON_FORCE_KERNEL, or null. */
const char *tn_runtime_forced_kernels(const tn_runtime *runtime);
/* Whether all features of a list ("avx2,fma") are there and allowed. */
bool tn_runtime_has_features(const tn_runtime *runtime, const char *features);

/* --- the runtime's list of libraries (libraries/runtime_libraries.c) --- */
size_t tn_runtime_library_count(const tn_runtime *runtime);
tn_loaded_library *tn_runtime_library(const tn_runtime *runtime, size_t index);
/* The first after a serial number, with a count; null: there is none. Takes the lock: what is done
 * for each library runs without it. */
tn_loaded_library *tn_runtime_next_library(tn_runtime *runtime, uint64_t after);
/* The folder of device libraries; "" when it cannot be known. */
const char *tn_runtime_device_folder(const tn_runtime *runtime);

#endif
