/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a context takes its memory: from the caller's allocators, or in memory that the caller
 * lends it, which contexts that do not run at the same time may share.
 *
 *     tn_engine_context_bytes -> (one block) -> tn_context_create_with, TN_CONTEXT_CALLERS_MEMORY
 * -> tn_context_set_memory -> tn_context_run
 */
#ifndef TENON_CONTEXT_MEMORY_H
#define TENON_CONTEXT_MEMORY_H

#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_context_options {
    uint32_t size;
    uint32_t flags; /* TN_CONTEXT_... */
    const tn_allocator
        *allocator; /* of all of the context that is the host's; copied, must outlive the context;
                       null: the runtime's. Pinned memory is the device's own in any case; what
                       kernels and shape rules take from their host is the runtime's */
    const tn_device_allocator *device_allocator; /* of memory of the engine's device; the same;
                                                    null: the engine's */
} tn_context_options;
enum {
    TN_CONTEXT_CALLERS_MEMORY =
        1u /* the context takes no memory for intermediate tensors and workspaces: the caller lends
              it before the first run. TN_ERROR_UNSUPPORTED for networks that take their memory step
              by step (an output sized by run), and for engines with TN_ENGINE_ISOLATED */
};

/* tn_context_create with options, which may be null. TN_ERROR_ARGUMENT: an allocator without its
 * functions, or flags that are not known. */
TN_EXPORT tn_status tn_context_create_with(tn_engine *engine, const tn_context_options *options,
                                           tn_context **out_context);

/* The bytes for intermediate tensors and workspaces that a context needs at most at the minimum,
 * the optimum and the maximum of the profile: of the host, and of the engine's device (0 on the
 * processor). Other shapes may need more (see tn_context_memory_bytes), though seldom do. Either
 * pointer may be null. A context is made to find out. Bodies of nodes have memory of their own.
 * TN_ERROR_UNSUPPORTED as above; TN_ERROR_STATE: an input has no profile. [thread: any] */
TN_EXPORT tn_status tn_engine_context_bytes(tn_engine *engine, uint64_t *out_host_bytes,
                                            uint64_t *out_device_bytes);
/* The same for the shapes that a context has now. TN_ERROR_STATE before tn_context_reshape. */
TN_EXPORT tn_status tn_context_memory_bytes(const tn_context *context, uint64_t *out_host_bytes,
                                            uint64_t *out_device_bytes);

/* Lends memory for intermediate tensors and workspaces: of the host, aligned to 64 bytes, or of the
 * engine's device, aligned as it needs (what tn_device_allocate returns). It stays lent until other
 * memory is, or the context goes; what is in it means nothing between two runs, so that contexts
 * that run one after another may share it. A run that needs more than `bytes` is TN_ERROR_MEMORY,
 * which says how much. Null and 0 take it back: the context then takes its own, unless it has
 * TN_CONTEXT_CALLERS_MEMORY, whose runs are TN_ERROR_STATE without. TN_ERROR_ARGUMENT: memory that
 * is null, or not aligned; TN_ERROR_STATE: the engine has no device, or a run is under way;
 * TN_ERROR_UNSUPPORTED as above. [thread: one at a time for one context] */
TN_EXPORT tn_status tn_context_set_memory(tn_context *context, void *memory, uint64_t bytes);
TN_EXPORT tn_status tn_context_set_device_memory(tn_context *context, void *device_memory,
                                                 uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
