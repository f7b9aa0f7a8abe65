/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/resource.h: what several kernels use together, like a handle of a device's library
 * or a pool of scratch memory, made once for a device or for a context, counted, and found by a
 * key, also by kernels of other libraries. The keys of CUDA's libraries are in tenon/plugin/cuda.h.
 */
#ifndef TENON_PLUGIN_RESOURCE_H
#define TENON_PLUGIN_RESOURCE_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* host->extension(host, TN_RESOURCES) */
#define TN_RESOURCES "tn.resources/1"

enum {
    TN_SCOPE_CONTEXT = 1, /* one for each context: used by one thread at a time. From `open` on */
    TN_SCOPE_DEVICE = 2 /* one for each device of the runtime (call->device): what it names must be
                           safe for threads. From `prepare` on */
};

/* A resource as its users describe it. All that use a key agree on what is behind it, and have
 * callbacks that fit each other: the first user's makes it, the last one's frees it. */
typedef struct tn_resource {
    uint32_t size;
    uint32_t scope;  /* TN_SCOPE_... */
    const char *key; /* a name with a version, like "acme.blas/1" */
    void *user;      /* of the callbacks */
    /* Answers what the resource is, not null; with call->host->fail on failure. It runs without
     * locks of the host, with the call's device the current one; others that ask for the same
     * meanwhile wait. [thread: any] */
    tn_status (*create)(tn_call *call, void *user, void **out_resource) TN_NOEXCEPT;
    void (*destroy)(tn_call *call, void *user, void *resource) TN_NOEXCEPT;
} tn_resource;

/* Both come in pairs: what `prepare` acquires `release` gives back, what `open` acquires `close`
 * does, each with its own call; or both within one callback. The description may be gone when they
 * return. */
typedef struct tn_resources {
    uint32_t size;
    /* TN_ERROR_STATE: TN_SCOPE_CONTEXT where there is no context. [called: tactics, prepare,
     * open] */
    tn_status (*acquire)(tn_call *call, const tn_resource *resource,
                         void **out_resource) TN_NOEXCEPT;
    /* `acquired` is what acquire answered. [cannot fail] */
    void (*release)(tn_call *call, const tn_resource *resource, void *acquired) TN_NOEXCEPT;
} tn_resources;

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_resource, create, 24);

#endif
