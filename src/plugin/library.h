/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded libraries: opened by path, known by content hash, reference-counted. The last count gives
 * up the entries; the code stays mapped (a callback may still be on some thread's stack).
 */
#ifndef TN_PLUGIN_LIBRARY_H
#define TN_PLUGIN_LIBRARY_H

#include "plugin/loaded_library.h"

/* A library is told apart by its content and the domain that it is loaded under. */
typedef struct tn_library_load_options {
    const char *domain; /* null or "": the operators' own */
    /* Of two libraries of one source the newer one has the operators that both have: the older one
     * goes when it is registered, and stays when that fails. A text that is compiled: its name, and
     * the last one is the newest. A folder: its path, and the file's time. Null or "": none. */
    const char *source;
    uint64_t modified_ns; /* 0: compiled */
    bool is_wanted;       /* a plan asks for this very content: what was loaded with a folder yields
                             to it, too */
} tn_library_load_options;
/* As tn_runtime_load_library; `options` may be null; *out_library (may be null) gets a count of its
 * own. */
tn_status tn_library_load(tn_runtime *runtime, const char *path,
                          const tn_library_load_options *options, tn_loaded_library **out_library);
tn_status tn_library_register(tn_runtime *runtime, tn_library_entry entry,
                              tn_loaded_library **out_library);
/* Of one that is built in: its tables' texts are constants of this library, and not copied. */
tn_status tn_library_register_constant(tn_runtime *runtime, tn_library_entry entry);
/* tn_runtime_add_library. */
tn_status tn_library_add(tn_runtime *runtime, tn_library *table,
                         void (*release)(tn_library *library));

/* What a plan's manifest wants. Finds it among the loaded ones, then on the search path (same hash
 * first, then same name); loads it. `is_exact` refuses another hash; otherwise a notice is logged.
 * `allowed`: see tn_engine_options. The error says what was wanted, what was searched, what was
 * found and what would mend it. The caller gets a count. */
typedef struct tn_library_request {
    const char *name, *file_name;
    const char *domain; /* that it is loaded under; "": the operators' own */
    uint64_t hash;
    const unsigned char *embedded_sha256; /* 32 bytes: the plan embeds it; null: it does not */
    const char *needed_for;    /* "operator Test::DynamicTRTResize version 1", for messages */
    const char *operator_name; /* null, or what the right library's file must have in it */
    const char *operator_domain;
    const uint64_t *contents; /* hashes of all libraries that the plan needs */
    size_t content_count;
    bool is_exact;
    uint32_t allowed_count;
    const char *const *allowed;
} tn_library_request;
tn_status tn_library_find(tn_runtime *runtime, const tn_library_request *request,
                          tn_loaded_library **out_library);

#endif
