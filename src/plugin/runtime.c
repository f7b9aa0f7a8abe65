/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime: what it owns, and its log. Its list of libraries and its search path are
 * libraries/runtime_libraries.c. Public side: tenon/runtime.h. */
#include "plugin/runtime.h"
#include "base/file.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "plugin/library_private.h"
#include "plugin/runtime_private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------
 * creation */

static tn_status read_runtime_options(const tn_runtime_options *given,
                                      tn_runtime_options *out_options) {
    TN_TRY(tn_options_read(out_options, sizeof(*out_options), given, "the runtime options"));
    TN_TRY(tn_options_check_flags(out_options->flags,
                                  TN_RUNTIME_NO_ENVIRONMENT | TN_RUNTIME_NO_KERNEL_LIBRARIES,
                                  "the runtime options"));
    const tn_allocator *allocator = out_options->allocator;
    if (allocator && (!allocator->allocate || !allocator->deallocate))
        return tn_fail(TN_ERROR_ARGUMENT, "an allocator needs `allocate` and `deallocate`");
    return TN_OK;
}

static void set_options(tn_runtime *runtime, tn_runtime_options all) {
    runtime->allocator = all.allocator ? *all.allocator : *tn_allocator_default();
    runtime->log_level = all.log_level ? all.log_level : TN_LOG_WARNING;
    runtime->log = all.log;
    runtime->log_user = all.log_user;
    runtime->run_thread_count = !all.run_threads                    ? tn_cpu_core_count()
                                : all.run_threads < TN_THREAD_LIMIT ? (uint32_t)all.run_threads
                                                                    : TN_THREAD_LIMIT;
    runtime->reads_environment = !(all.flags & TN_RUNTIME_NO_ENVIRONMENT);
    runtime->without_companions = all.flags & TN_RUNTIME_NO_KERNEL_LIBRARIES;
}

static const char *environment(const tn_runtime *runtime, const char *name) {
    const char *value = runtime->reads_environment ? getenv(name) : NULL;
    return value && value[0] ? value : NULL;
}

static tn_status add_environment_paths(tn_runtime *runtime) {
    const char *path = environment(runtime, "TENON_PLUGIN_PATH");
    while (path && *path) {
        const size_t length = strcspn(path, ":");
        char *folder = tn_arena_format(runtime->arena, "%.*s", (int)length, path);
        if (!folder) return tn_fail_memory("the search path");
        if (length) TN_TRY(tn_runtime_add_search_path(runtime, folder));
        path += length + (path[length] == ':');
    }
    return TN_OK;
}

/* lib/tenon/plugins beside the running program's bin. */
static tn_status add_program_path(tn_runtime *runtime) {
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0 || !runtime->reads_environment) return TN_OK;
    program[length] = 0;
    char *slash = strrchr(program, '/');
    if (slash) *slash = 0;
    slash = strrchr(program, '/');
    if (!slash) return TN_OK;
    *slash = 0;
    const char *folder = tn_arena_format(runtime->arena, "%s/lib/tenon/plugins", program);
    if (!folder) return tn_fail_memory("the search path");
    return tn_file_exists(folder) ? tn_runtime_add_search_path(runtime, folder) : TN_OK;
}

static tn_status find_companions(tn_runtime *runtime) {
    Dl_info info;
    runtime->companions = runtime->device_folder = "";
    runtime->importer_folders[0] = runtime->importer_folders[1] = "";
    runtime->operator_folders[0] = runtime->operator_folders[1] = "";
    if (!dladdr((void *)(uintptr_t)&tn_version, &info) || !info.dli_fname) return TN_OK;
    const char *folder = tn_path_folder(runtime->arena, info.dli_fname);
    if (folder && !runtime->without_companions)
        runtime->companions = tn_arena_format(runtime->arena, "%s/tenon/kernels", folder);
    runtime->device_folder =
        folder ? tn_arena_format(runtime->arena, "%s/tenon/devices", folder) : NULL;
    /* the second one is for programs that have the core linked in */
    for (uint32_t i = 0; folder && i < 2; i++) {
        runtime->importer_folders[i] = tn_arena_format(
            runtime->arena, i == 0 ? "%s/tenon/importers" : "%s/../lib/tenon/importers", folder);
        runtime->operator_folders[i] = tn_arena_format(
            runtime->arena, i == 0 ? "%s/tenon/operators" : "%s/../lib/tenon/operators", folder);
    }
    return runtime->companions && runtime->device_folder && runtime->importer_folders[0] &&
                   runtime->importer_folders[1] && runtime->operator_folders[0] &&
                   runtime->operator_folders[1]
               ? TN_OK
               : tn_fail_memory("a path");
}

static tn_status set_up_cpu(tn_runtime *runtime) {
    const char *level = environment(runtime, "TENON_CPU_LEVEL");
    if (!tn_cpu_features(level, runtime->features, sizeof(runtime->features)))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "TENON_CPU_LEVEL is '%s': expected baseline, avx2 or avx512", level);
    tn_cpu_fingerprint(runtime->features, runtime->fingerprint, sizeof(runtime->fingerprint));
    tn_cpu_device_init(&runtime->cpu, runtime->fingerprint);
    return TN_OK;
}

static tn_status set_up_runtime(tn_runtime *runtime) {
    TN_TRY(tn_arena_create(&runtime->allocator, &runtime->arena));
    TN_TRY(tn_resource_store_create(&runtime->allocator, &runtime->resources));
    TN_TRY(tn_weight_store_create(&runtime->allocator, &runtime->weights));
    TN_TRY(set_up_cpu(runtime));
    TN_TRY(tn_workers_create(&runtime->allocator, &runtime->workers));
    TN_TRY(tn_registry_create(runtime, &runtime->registry));
    TN_TRY(find_companions(runtime));
    TN_TRY(add_environment_paths(runtime));
    TN_TRY(add_program_path(runtime));
    runtime->forced_kernels = environment(runtime, "TENON_FORCE_KERNEL");
    return tn_library_register_constant(runtime, tn_builtin_entry);
}

tn_status tn_runtime_create(const tn_runtime_options *options, tn_runtime **out_runtime) {
    tn_runtime_options all;
    if (!out_runtime)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_runtime_create needs a pointer for the runtime");
    TN_TRY(read_runtime_options(options, &all));
    tn_runtime *runtime = tn_allocate_zero(all.allocator ? all.allocator : tn_allocator_default(),
                                           1, sizeof(*runtime));
    if (!runtime) return tn_fail_memory("a runtime");
    set_options(runtime, all);
    atomic_init(&runtime->references, 1);
    tn_host_init(runtime);
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&runtime->loading_lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_mutex_init(&runtime->lock, NULL);
    pthread_mutex_init(&runtime->importers_lock, NULL);
    const tn_status status = set_up_runtime(runtime);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        tn_runtime_release(runtime);
        tn_error_restore(&error);
        return status;
    }
    *out_runtime = runtime;
    return TN_OK;
}

tn_runtime *tn_runtime_retain(tn_runtime *runtime) {
    if (runtime) atomic_fetch_add(&runtime->references, 1);
    return runtime;
}

void tn_runtime_release(tn_runtime *runtime) {
    if (!runtime || atomic_fetch_sub(&runtime->references, 1) != 1) return;
    tn_host_threads_destroy(runtime->run_threads);
    tn_workers_destroy(runtime->workers);
    for (size_t i = runtime->library_count; i-- > 0;) {
        tn_library_give_up(runtime->libraries[i], true);
        tn_library_release(runtime->libraries[i]);
    }
    const tn_allocator allocator = runtime->allocator;
    tn_deallocate(&allocator, runtime->libraries);
    tn_deallocate(&allocator, runtime->paths);
    tn_importers_deinit(runtime);
    tn_registry_destroy(runtime->registry);
    tn_resource_store_destroy(runtime->resources);
    tn_weight_store_destroy(runtime->weights);
    tn_arena_destroy(runtime->arena);
    pthread_mutex_destroy(&runtime->importers_lock);
    pthread_mutex_destroy(&runtime->lock);
    pthread_mutex_destroy(&runtime->loading_lock);
    tn_deallocate(&allocator, runtime);
}

/* ----------------------------------------------------------------------------------------------
 * parts */

const tn_allocator *tn_runtime_allocator(const tn_runtime *runtime) {
    return &runtime->allocator;
}
tn_weight_store *tn_runtime_weights(const tn_runtime *runtime) {
    return runtime->weights;
}
tn_registry *tn_runtime_registry(const tn_runtime *runtime) {
    return runtime->registry;
}
const tn_device *tn_runtime_cpu(const tn_runtime *runtime) {
    return &runtime->cpu;
}
tn_status tn_runtime_run_threads(tn_runtime *runtime, tn_host_threads **out_threads) {
    tn_status status = TN_OK;
    tn_runtime_lock(runtime);
    if (!runtime->run_threads)
        status = tn_host_threads_create(&runtime->allocator, runtime->run_thread_count,
                                        &runtime->run_threads);
    *out_threads = runtime->run_threads;
    tn_runtime_unlock(runtime);
    return status;
}
tn_workers *tn_runtime_workers(const tn_runtime *runtime) {
    return runtime->workers;
}
bool tn_runtime_reads_environment(const tn_runtime *runtime) {
    return runtime->reads_environment;
}
uint32_t tn_runtime_log_level(const tn_runtime *runtime) {
    return runtime->log_level;
}
const char *tn_runtime_forced_kernels(const tn_runtime *runtime) {
    return runtime->forced_kernels;
}
const char *tn_runtime_cpu_features(tn_runtime *runtime) {
    return runtime ? runtime->features : "";
}
const char *tn_runtime_companion_folder(const tn_runtime *runtime) {
    return runtime->companions;
}
const char *tn_runtime_device_folder(const tn_runtime *runtime) {
    return runtime->device_folder;
}
size_t tn_runtime_library_count(const tn_runtime *runtime) {
    return runtime->library_count;
}
tn_loaded_library *tn_runtime_library(const tn_runtime *runtime, size_t index) {
    return runtime->libraries[index];
}
void tn_runtime_lock(tn_runtime *runtime) {
    pthread_mutex_lock(&runtime->lock);
}
void tn_runtime_unlock(tn_runtime *runtime) {
    pthread_mutex_unlock(&runtime->lock);
}
void tn_runtime_begin_loading(tn_runtime *runtime) {
    pthread_mutex_lock(&runtime->loading_lock);
}
void tn_runtime_end_loading(tn_runtime *runtime) {
    pthread_mutex_unlock(&runtime->loading_lock);
}

bool tn_runtime_has_features(const tn_runtime *runtime, const char *features) {
    for (const char *at = features; *at;) {
        at += strspn(at, ", ");
        const size_t length = strcspn(at, ", ");
        bool is_there = length == 0;
        for (const char *own = runtime->features; *own && !is_there;) {
            const size_t own_length = strcspn(own, ",");
            is_there = own_length == length && memcmp(own, at, length) == 0;
            own += own_length + (own[own_length] == ',');
        }
        if (!is_there) return false;
        at += length;
    }
    return true;
}

void tn_runtime_log(const tn_runtime *runtime, uint32_t level, const char *format, ...) {
    char text[1024];
    if (!runtime->log || level > runtime->log_level) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    runtime->log(runtime->log_user, level, text);
}

/* ----------------------------------------------------------------------------------------------
 * visitors */

tn_loaded_library *tn_runtime_next_library(tn_runtime *runtime, uint64_t after) {
    tn_loaded_library *found = NULL;
    tn_runtime_lock(runtime);
    for (size_t i = 0; i < runtime->library_count && !found; i++)
        if (runtime->libraries[i]->serial > after) found = tn_library_retain(runtime->libraries[i]);
    tn_runtime_unlock(runtime);
    return found;
}

void tn_runtime_visit_libraries(tn_runtime *runtime,
                                bool (*visit)(void *user, const tn_library_info *library),
                                void *user) {
    tn_loaded_library *library;
    bool goes_on = runtime && visit;
    for (uint64_t at = 0; goes_on && (library = tn_runtime_next_library(runtime, at)) != NULL;) {
        tn_library_info info;
        at = library->serial;
        tn_registry_count_library(runtime->registry, library, &info);
        goes_on = visit(user, &info);
        tn_library_release(library);
    }
}

void tn_runtime_visit_operators(tn_runtime *runtime,
                                bool (*visit)(void *user, const tn_operator *op,
                                              const tn_library_info *library),
                                void *user) {
    if (runtime && visit) tn_registry_visit_operators(runtime->registry, visit, user);
}

void tn_runtime_visit_kernels(tn_runtime *runtime,
                              bool (*visit)(void *user, const tn_kernel *kernel,
                                            const tn_library_info *library),
                              void *user) {
    if (runtime && visit) tn_registry_visit_kernels(runtime->registry, visit, user);
}

void tn_runtime_visit_rewrites(tn_runtime *runtime,
                               bool (*visit)(void *user, const tn_rewrite *rewrite,
                                             const tn_library_info *library),
                               void *user) {
    if (runtime && visit) tn_registry_visit_rewrites(runtime->registry, visit, user);
}
