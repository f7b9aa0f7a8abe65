/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime: parent of graphs, builders, plans, engines and contexts. It holds the registry of
 * operators and kernels, the loaded libraries, the search path, the log, the allocator and the
 * devices. There is no other global state.
 */
#ifndef TENON_RUNTIME_H
#define TENON_RUNTIME_H

#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_runtime tn_runtime;

/* Where Tenon takes its memory. `allocate` answers null when there is none; `alignment` is a power
 * of two up to 4096. [thread: any: both must be safe to call from several threads] */
typedef struct tn_allocator {
    uint32_t size;
    void *user;
    void *(*allocate)(void *user, uint64_t bytes, uint64_t alignment);
    void (*deallocate)(void *user, void *memory); /* null is fine */
} tn_allocator;

/* The same for memory of a device. `stream` is the device's own (a cudaStream_t on CUDA): memory is
 * used in its order from `allocate` on, and may be used there still when `deallocate` is called.
 * `alignment` is the device's. [thread: any: both must be safe to call from several threads] */
typedef struct tn_device_allocator {
    uint32_t size;
    void *user;
    void *(*allocate)(void *user, uint64_t bytes, uint64_t alignment, void *stream);
    void (*deallocate)(void *user, void *memory, void *stream);
} tn_device_allocator;

/* `level` is TN_LOG_ERROR ... TN_LOG_DEBUG; `text` is one line without newline, valid during the
 * call. [thread: any] */
typedef void (*tn_log_function)(void *user, uint32_t level, const char *text);

typedef struct tn_runtime_options {
    uint32_t size;                 /* sizeof(tn_runtime_options) */
    uint32_t log_level;            /* lines up to this level are given; 0: TN_LOG_WARNING */
    const tn_allocator *allocator; /* copied; null: the C library's */
    tn_log_function log;           /* null: no log */
    void *log_user;
    uint32_t flags;       /* TN_RUNTIME_... */
    uint64_t run_threads; /* at most so many runs of tn_context_run_async go on at once, others wait
                             for one to end; 0: as many as there are processors */
} tn_runtime_options;

enum {
    TN_RUNTIME_NO_ENVIRONMENT =
        1u, /* do not read TENON_PLUGIN_PATH, TENON_FORCE_KERNEL and TENON_CPU_LEVEL */
    TN_RUNTIME_NO_KERNEL_LIBRARIES =
        2u /* do not load the libraries of kernels that lie beside this library (oneDNN's, in
              tenon/kernels): a plan that is built so needs none of them where it runs */
};

/* Makes a runtime with the built-in operators and kernels. `options` may be null. The caller
 * releases it. TN_ERROR_ARGUMENT: a size that is not set, flags that are not known, an allocator
 * without its functions; TN_ERROR_MEMORY. [thread: any] */
TN_EXPORT tn_status tn_runtime_create(const tn_runtime_options *options, tn_runtime **out_runtime);
/* Reference counts are atomic; engines, graphs and builders hold one of their own. Null is fine.
 * [thread: any] */
TN_EXPORT tn_runtime *tn_runtime_retain(tn_runtime *runtime);
TN_EXPORT void tn_runtime_release(tn_runtime *runtime);

/* Loads a plugin library from a file and registers what it offers. The same content again is the
 * same library and is counted; nothing is registered twice. Errors: TN_ERROR_NOT_FOUND (no such
 * file), TN_ERROR_PLUGIN (no entry, wrong ABI, a broken table, missing dependency with the loader's
 * reason), TN_ERROR_ARGUMENT (an operator that another library already has; the first one stays.
 * See tn_runtime_load_library_as). On failure nothing of it stays registered. Libraries are loaded
 * one after another; the library's own `load` may load others. [thread: any] */
TN_EXPORT tn_status tn_runtime_load_library(tn_runtime *runtime, const char *path);
/* The same under a domain: every operator of the library is registered in `domain` instead of its
 * own, and the library's kernels for them follow. For libraries that have the same operators, and
 * for models that call them by another domain. Libraries are told apart by content and domain, so
 * one file may be loaded under several (its load and unload are called for each); names may repeat.
 * A plan keeps the domain and finds
 * the library under it again. Null or "": as tn_runtime_load_library. TN_ERROR_ARGUMENT, too: no
 * domain (at most 100 printable characters, none of them space, ':', '@', '/', quotes or
 * backslash). [thread: any] */
TN_EXPORT tn_status tn_runtime_load_library_as(tn_runtime *runtime, const char *path,
                                               const char *domain);
/* The same for a library that is linked into the program. [thread: any] */
TN_EXPORT tn_status tn_runtime_register_library(tn_runtime *runtime, tn_library_entry entry);
/* The same for a library whose table was made at run time, at any time: by an adapter of foreign
 * objects, or by a program in another language. Its operators' and kernels' `user` says which they
 * are. `release`, if any, is called once, when the library was unloaded and nothing that was made
 * with it lives any more; until then the table stays. Where one that was added before has the same
 * name and an operator of the same name and version, this one serves the graphs that are made from
 * here on, and the other one is unloaded when those go that have it. On failure nothing is kept,
 * and `release` is not called. [thread: any] */
TN_EXPORT tn_status tn_runtime_add_library(tn_runtime *runtime, tn_library *library,
                                           void (*release)(tn_library *library));
/* Gives up one count of a library, by its name or, where names repeat, its path; at the last one
 * its operators leave the registry at once, and what live plans and engines still use stays until
 * they go. The code stays mapped. TN_ERROR_NOT_FOUND; TN_ERROR_ARGUMENT: several have the name.
 * [thread: any] */
TN_EXPORT tn_status tn_runtime_unload_library(tn_runtime *runtime, const char *name);
/* Adds a directory where libraries that a plan names are looked for, after those added before.
 * [thread: any] */
TN_EXPORT tn_status tn_runtime_add_search_path(tn_runtime *runtime, const char *directory);
/* Loads every library (*.so) of a directory, in the order of their names. One that does not load is
 * left out with a warning in the log, and so is the older one of two that have the same operator;
 * the error of the last of them where none loads, and TN_ERROR_MEMORY at once. [thread: any] */
TN_EXPORT tn_status tn_runtime_load_directory(tn_runtime *runtime, const char *directory);

/* What is registered, as text tables for people and programs: calls `visit` for each operator
 * version, kernel, rewrite or library until it answers false. Pointers live during the call. The
 * callback runs without locks of the runtime: it may visit others, load libraries and unload them.
 * What comes meanwhile is visited, what goes is not. [thread: any]
 */
typedef struct tn_library_info {
    uint32_t size;
    const char *name, *version, *path; /* path: "" when built in or linked */
    uint64_t hash; /* XXH3-64 of the file's content; 0 when built in or linked */
    uint64_t operator_count, kernel_count;
    const char *domain; /* that it was loaded under; "": its operators' own */
    uint64_t rewrite_count;
} tn_library_info;
TN_EXPORT void tn_runtime_visit_libraries(tn_runtime *runtime,
                                          bool (*visit)(void *user, const tn_library_info *library),
                                          void *user);
TN_EXPORT void tn_runtime_visit_operators(tn_runtime *runtime,
                                          bool (*visit)(void *user, const tn_operator *op,
                                                        const tn_library_info *library),
                                          void *user);
TN_EXPORT void tn_runtime_visit_kernels(tn_runtime *runtime,
                                        bool (*visit)(void *user, const tn_kernel *kernel,
                                                      const tn_library_info *library),
                                        void *user);

TN_EXPORT void tn_runtime_visit_rewrites(tn_runtime *runtime,
                                         bool (*visit)(void *user, const tn_rewrite *rewrite,
                                                       const tn_library_info *library),
                                         void *user);

/* Whether a kernel's own fields can be filled from those of an operator that its table names, both
 * as the visitors show them. TN_ERROR_UNSUPPORTED: it is never offered for the operator's nodes;
 * the last error says which field it is, and why. [thread: any] */
TN_EXPORT tn_status tn_kernel_fits(const tn_kernel *kernel, const tn_operator *op);

/* Devices: the processor, and those that loaded libraries provide. */
typedef struct tn_device_info {
    uint32_t size;
    uint32_t index; /* of its kind, from 0 */
    const char *kind, *name, *fingerprint;
    const char *library; /* empty for the processor */
    /* Of its memory, in bytes; 0 and 0: not known, as for the processor. */
    uint64_t memory_free, memory_total;
} tn_device_info;
/* Calls `visit` for each device until it answers false, as above; pointers live during the call.
 * [thread: any] */
TN_EXPORT void tn_runtime_visit_devices(tn_runtime *runtime,
                                        bool (*visit)(void *user, const tn_device_info *device),
                                        void *user);
/* Whether there is a device of this name ("cpu", "cuda", "cuda:1"): loads the library that provides
 * it, tenon/devices/libtenon_KIND.so beside the core library, where no loaded one does.
 * TN_ERROR_ARGUMENT: no name of a device; TN_ERROR_NOT_FOUND says what was looked for and what
 * there is; TN_ERROR_PLUGIN. [thread: any] */
TN_EXPORT tn_status tn_runtime_find_device(tn_runtime *runtime, const char *name);

/* The processor features that kernels may use here, like "sse2,avx2,fma,avx512f", TENON_CPU_LEVEL
 * taken into account. Has the lifetime of the runtime. [thread: any] */
TN_EXPORT const char *tn_runtime_cpu_features(tn_runtime *runtime);

#ifdef __cplusplus
}
#endif
#endif
