/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's compiler: which one it is, and how it makes a library from a source. */
#ifndef TN_COMPILE_COMPILER_H
#define TN_COMPILE_COMPILER_H

#include "compile/compile_cache.h"

#include <tenon/compile.h>

/* The headers that a layer's source may include, put in by the build (embed_header.cmake); the last
 * name is null. */
typedef struct tn_compiler_header {
    const char *name; /* "tenon/plugin.h" */
    const char *text;
} tn_compiler_header;
extern const tn_compiler_header tn_compiler_headers[];

typedef struct tn_compiler {
    tn_runtime *runtime;
    tn_arena *arena;
    const tn_allocator *allocator;
    const tn_compile_options *options; /* whole, not of an older header */
    size_t word_count;                 /* of the command: "ccache gcc" has two */
    const char **words;
    double seconds;
    const char *version; /* what it says of itself */
} tn_compiler;

/* Finds the compiler and asks for its version. TN_ERROR_NOT_FOUND, TN_ERROR_ARGUMENT. */
tn_status tn_compiler_init(tn_runtime *runtime, tn_arena *arena, const tn_compile_options *options,
                           tn_compiler *out_compiler);
/* Everything but the source that the result depends on, included files aside. */
uint64_t tn_compiler_hash(const tn_compiler *compiler);
/* Compiles `source` (text) in the cache's folder and takes the library into the cache.
 * TN_ERROR_PLUGIN with the compiler's words; TN_ERROR_IO. */
tn_status tn_compiler_run(const tn_compiler *compiler, const tn_compile_cache *cache, uint64_t key,
                          const char *source, const char **out_path);

#endif
