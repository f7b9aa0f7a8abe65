/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of callbacks, and the private part of a call: which runtime, which engine's threads and
 * packed weights stand behind it. host.c has the services that libraries get.
 */
#ifndef TN_PLUGIN_CALL_H
#define TN_PLUGIN_CALL_H

#include "base/status.h"
#include "base/thread_pool.h"
#include "plugin/entries.h"
#include "plugin/weights/packed_store.h"

#include <tenon/plugin/cost.h>

/* Room for what a kernel says of its tactics (tenon/plugin/cost.h); there may be fewer of them.
 * Size 0: nothing was said. */
typedef struct tn_tactic_costs {
    uint32_t count;
    tn_cost *items;
} tn_tactic_costs;

/* call->host_private points at one of these. */
typedef struct tn_call_scope {
    tn_runtime *runtime;
    const tn_thread_pool *pool;
    tn_packed_store *packed;      /* null outside prepare: `packed` then fails */
    const char *kernel;           /* kernel's name, for messages; null for operators' callbacks */
    const char *library;          /* its library's name */
    const tn_kernel_entry *entry; /* of the kernel; null: none, or not registered */
    tn_constant_note *const *constants; /* by input: what the plan says of constants; null: nothing
                                           is known, of one or of all */
    const void *context; /* whose thread calls, from open on; only compared. Null: none */
    struct tn_body_executor *bodies;  /* who runs the node's bodies; null: nobody (bodies.h) */
    uint32_t *questions;              /* what bodies were asked so far (plugin/bodies.h); null: a
                                         run, which is not counted */
    struct tn_output_source *outputs; /* who has memory for unbounded outputs; null: nobody is to
                                         ask (outputs.h) */
    const tn_tactic_costs *costs;     /* `tactics`: who listens null: nobody */
    bool
        is_types_only; /* `infer` is asked for types: shapes are examples, of bodies' inputs, too */
    tn_status failed;  /* what `fail` recorded for this call, TN_OK when it was not called */
} tn_call_scope;

/* Calls a callback whose failure is an answer (accepts), not an error. The call's device, where
 * there is one, is then the thread's current one. */
tn_status tn_call_ask(tn_call *call, tn_callback callback, const char *callback_name);
/* Whether the operator describes the node, at an input, as `name`: into facet->what. */
bool tn_call_facet(tn_call *call, uint32_t input, const char *name, tn_facet *facet);
/* Calls a callback and turns its answer into ours: a failure without `fail` gets a message of its
 * own ("returned N without a reason"), statuses that are not known become TN_ERROR_PLUGIN; node,
 * operator and library are added to the chain. */
/* What a callback's failure becomes, for callers that called it themselves (scope->failed was
 * TN_OK before). */
tn_status tn_call_failed(tn_call *call, tn_status status, const char *callback_name);
tn_status tn_call_invoke(tn_call *call, tn_callback callback, const char *callback_name);
/* What a service of the host fails with is the call's own reason. */
static inline tn_status tn_call_keep(const tn_call *call, tn_status status) {
    tn_call_scope *scope = (tn_call_scope *)call->host_private;
    if (status != TN_OK) scope->failed = status;
    return status;
}

/* Tells kernels apart by what they pack: library, its content and version, name and revision. */
uint64_t tn_packer_hash(const tn_kernel_entry *entry);

#endif
