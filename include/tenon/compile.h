/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers from source text: compiled by the machine's C compiler into a cache folder, loaded and
 * registered. The text is a whole plugin source, or the code of a layer's callbacks alone, around
 * which the tables are written. Code that is compiled so runs in this process: the text must be
 * trusted like the program itself.
 */
#ifndef TENON_COMPILE_H
#define TENON_COMPILE_H

#include <tenon/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A field of a generated layer: the member `fields->NAME`, of the C type that plugin.h gives for
 * `type`. */
typedef struct tn_compile_field {
    uint32_t size;
    uint32_t type;        /* TN_FIELD_BOOL ... TN_FIELD_STRINGS */
    uint32_t flags;       /* TN_REQUIRED, or 0 */
    uint32_t reserved;    /* 0 */
    const char *name;     /* an identifier of C */
    const char *fallback; /* the default as text, as in tn_field; null: zero, empty or absent */
    const char *choices;  /* as in tn_field; needed by TN_FIELD_ENUM */
    const char *doc;
    double minimum, maximum; /* of a number or of each in a list; 0 and 0: any */
} tn_compile_field;

/* A port of a generated layer: in the code, `NAME` is its tensor (const tn_tensor * of an input,
 * tn_tensor * of an output), null where it is absent. The tensors of a variadic port are in `call`
 * alone. */
typedef struct tn_compile_port {
    uint32_t size;
    uint32_t flags;    /* TN_PORT_..., as in tn_port */
    const char *name;  /* an identifier of C; not `call`, `fields` */
    const char *types; /* as in tn_port; null: "f32" */
    const char *doc;
    uint32_t alias, minimum_count; /* as in tn_port */
    uint32_t reserved[2];          /* 0 */
} tn_compile_port;

/* A layer by its parts. The pieces of code are bodies of functions, with `call` (tn_call *),
 * `fields` (const layer_fields *) and the ports' tensors at hand; they may return a tn_status
 * early, and what falls out at the end returns TN_OK. <tenon/plugin.h>, <math.h> and <string.h> are
 * included. What is null or 0 is not declared. What only a whole source can say: several operators
 * or kernels in one library, a `user`, facet, row, upgrade, save and load, the
 * library's own load and unload. */
typedef struct tn_compile_layer {
    uint32_t size;
    uint32_t since_version; /* 0: 1 */
    uint32_t traits;        /* TN_OPERATOR_... */
    uint32_t field_count;   /* at most 64 */
    uint32_t input_count;   /* at most 64 */
    uint32_t output_count;  /* 1 to 64 */
    const char *domain;     /* null: "" */
    const char *name;       /* of the operator and of the library: an identifier of C */
    const char *doc;        /* one sentence; may be null */
    const tn_compile_field *const *fields;
    const tn_compile_port *const *inputs, *const *outputs;
    const char *support;      /* includes and functions that stand before the others; may be null */
    const char *infer;        /* the shape rule; null: each output has the first input's shape, of
                                 an expression alone that of all inputs, broadcast */
    const char *run;          /* the kernel; its tensors are linear unless `combinations` say
                                 otherwise. Null where there is an expression */
    const char *reference;    /* what `run` is checked against, on linear tensors of the host; null:
                                 `run`, where that is for the processor and declares no combinations;
                                 of an expression without `run` the expression in double precision */
    const char *const *cases; /* as in tn_operator; for `tenon plugin check` */
    uint64_t case_count;
    const char *expression; /* of an elementwise operator, as in tn_operator: it is then fused like
                               the built-in ones */
    const char *const *combinations; /* types and formats of the kernel's ports, lower types among
                                        them, as in tn_kernel: "f32:c16 -> f32:c16", "qi8 -> qi8" */
    uint32_t combination_count;      /* 0: all types that the operator allows, linear */
    uint32_t kernel_traits;          /* TN_KERNEL_... */
    const char *absorbs;             /* the facets that the kernel absorbs, as in tn_kernel */
    const char *device;              /* of the kernel; null: "cpu" */
    const char *requires_features;   /* of the processor, as in tn_kernel */
    /* The kernel's other callbacks, bodies like `run`, as in tn_kernel. `release` and `close`
     * return nothing. */
    const char *accepts, *tactics, *prepare, *release, *open, *close, *reshape;
    const char *is_identity, *operations; /* the operator's; `operations` has out_operations */
} tn_compile_layer;

typedef struct tn_compile_options {
    uint32_t size;
    uint32_t flags;                /* TN_COMPILE_... */
    const char *source;            /* a whole plugin source, which ends with TN_LIBRARY(...); or */
    const tn_compile_layer *layer; /* the parts of a layer: exactly one of the two */
    const char *source_name;       /* what errors call the source; null: "source", or the name of
                                      the layer's operator */
    const char *compiler;          /* null: $CC ($CXX), or "cc" ("c++"). Words are separated by
                                      spaces: "ccache gcc". It must understand gcc's options, or be
                                      nvcc, whose text is CUDA C++ */
    const char *cache_folder;      /* null: $XDG_CACHE_HOME/tenon, or $HOME/.cache/tenon. Made where
                                      it is not there; must be the user's own, and not writable by
                                      others */
    double seconds;                /* bound on the compiler's time; 0: 120 */
    uint32_t include_folder_count, library_count, flag_count;
    uint32_t reserved; /* 0 */
    const char *const *include_folders;
    const char *const *libraries;      /* names, linked by -l; with a '/': paths */
    const char *const *compiler_flags; /* after Tenon's own, one argument each */
} tn_compile_options;

enum {
    TN_COMPILE_REBUILD = 1u, /* compile though the cache has it */
    TN_COMPILE_CPP = 2u,     /* the text is C++17 */
    TN_COMPILE_ONLY = 4u,    /* do not load it */
    TN_COMPILE_CUDA = 8u     /* the text is CUDA C++20; `compiler` null: $NVCC, "nvcc", or
                                /usr/local/cuda/bin/nvcc. The code is for nvcc's default architecture
                                and newer ones unless `compiler_flags` say otherwise ("-arch=sm_90") */
};

/* Compiles, or finds in the cache what was compiled from the same text, options, included files
 * (but those of the system), compiler version, plugin.h and processor features; loads the library
 * and registers what it offers, as tn_runtime_load_library does. Several processes may share a
 * cache folder; it may be removed at any time. `out_path` (may be null) gets the library's file, to
 * be freed by tn_text_free (tenon/builder.h). A text that was compiled in this runtime before,
 * under the same source name, and has changed since replaces the library from then where
 * it has one of its operators: that one's operators leave the registry, and what live plans and
 * engines still use of it stays. When the new one does not compile or load, the old one stays. A
 * library from the cache that does not load is compiled again. With TN_RUNTIME_NO_ENVIRONMENT, $CC,
 * $CXX, $NVCC, $XDG_CACHE_HOME and $HOME are not read and `cache_folder` is needed.
 *
 * What the compiler says of sound code goes to the log as warnings. Errors: TN_ERROR_ARGUMENT (the
 * options), TN_ERROR_NOT_FOUND (no such compiler), TN_ERROR_IO (the cache folder), TN_ERROR_PLUGIN
 * (the compiler's errors, by the lines of the text; a compiler that takes too long, which is
 * killed), TN_ERROR_MEMORY, and those of tn_runtime_load_library. [thread: any] */
TN_EXPORT tn_status tn_compile_library(tn_runtime *runtime, const tn_compile_options *options,
                                       char **out_path);

#ifdef __cplusplus
}
#endif
#endif
