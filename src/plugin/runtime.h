/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tn_runtime, for the other objects. Public side: tenon/runtime.h. */
#ifndef TN_PLUGIN_RUNTIME_H
#define TN_PLUGIN_RUNTIME_H

#include "base/memory.h"
#include "plugin/host.h"
#include "plugin/library.h"

/* Loads the kernel libraries that come with Tenon (the folder tenon/kernels beside the core
 * library), once; the builder does it before it chooses. A broken one is a warning in the log. */
tn_status tn_runtime_load_companions(tn_runtime *runtime);

const tn_allocator *tn_runtime_allocator(const tn_runtime *runtime);
tn_weight_store *tn_runtime_weights(const tn_runtime *runtime); /* that its engines share */
tn_registry *tn_runtime_registry(const tn_runtime *runtime);
struct tn_host_threads;
/* Threads for runs that nobody waits for; they live as long as the runtime. [thread: any] */
tn_status tn_runtime_run_threads(tn_runtime *runtime, struct tn_host_threads **out_threads);
struct tn_workers;
/* Threads that help with loops; they live as long as the runtime. */
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

/* One entry, in layers/builtin/builtin.c; the link brings it, the core includes nothing of layers/.
 */
tn_library *tn_builtin_entry(const tn_host *host);

#endif
