/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context's side of isolation: kernels of plugin libraries run in a helper process, one a
 * context, on memory that both share. For the execution loop they are calls like any other, whose
 * callbacks ask the helper. How the two talk is isolation_channel.h's matter, the process
 * helper_process.h's, its work isolation_serve.c's.
 */
#ifndef TN_ISOLATION_ISOLATION_H
#define TN_ISOLATION_ISOLATION_H

#include "engine/engine_private.h"
#include "helper/helper_process.h"
#include "isolation/isolation_channel.h"

/* Memory that the helper has too. */
typedef struct tn_isolation_buffer {
    char *memory; /* null: the number is free */
    size_t bytes;
} tn_isolation_buffer;

typedef struct tn_isolation {
    const tn_engine *engine;
    const tn_allocator *allocator;     /* the context's */
    tn_context_statistics *statistics; /* likewise */
    tn_helper_process process;
    tn_isolation_page *page; /* null: there is nothing to isolate */
    tn_isolation_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    uint32_t call_count;                 /* numbers given so far */
    struct tn_isolated_call *step_calls; /* networks sized by run: by step */
    tn_isolation_patience patience;
    bool is_lost;
    size_t used; /* of the payload at work */
} tn_isolation;

/* One call of a step: lies in what owns the tn_call, which points at it by `user`. */
typedef struct tn_isolated_call {
    tn_isolation *isolation;
    uint32_t number, step;
    bool is_defined;
    void *extras; /* shared copies of inputs that lie elsewhere */
    size_t extras_bytes;
} tn_isolated_call;

/* What is a context's; outlives the isolation. */
typedef struct tn_isolation_owner {
    const tn_engine *engine;
    const tn_allocator *allocator;
    tn_open_kernel *kernels; /* by step; those that are isolated get their callbacks */
    tn_context_statistics *statistics;
} tn_isolation_owner;
/* Starts the helper, which prepares and opens the kernels; nothing where no step is isolated. */
tn_status tn_isolation_create(const tn_isolation_owner *owner, tn_isolation **out_isolation);
void tn_isolation_destroy(tn_isolation *isolation); /* null is fine */

/* Shared memory, 64-byte aligned. */
tn_status tn_isolation_allocate(tn_isolation *isolation, size_t bytes, void **out_memory);
void tn_isolation_free(tn_isolation *isolation, void *memory); /* null is fine */

/* Gives a call of a step its number; afterwards the two callbacks below are its own. */
void tn_isolated_call_init(tn_isolation *isolation, uint32_t step, tn_isolated_call *out_isolated,
                           tn_call *call);
/* Tells the helper where the call's tensors lie now, and what they are. */
tn_status tn_isolated_call_define(tn_call *call);
/* Forgets it, there and here. */
void tn_isolated_call_forget(tn_isolated_call *isolated);
/* Callbacks: reshape defines the call where it is not yet; run is for a call that is defined. */
tn_status tn_isolated_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_isolated_run(tn_call *call) TN_NOEXCEPT;

/* --- isolation_start.c --- */
/* What both sides compare: steps, kernels, libraries, types and formats. */
uint64_t tn_isolation_digest(const tn_engine *engine);

/* --- isolation_ask.c --- */
/* Puts bytes into the payload; TN_ERROR_MEMORY when it is full. */
tn_status tn_isolation_put(tn_isolation *isolation, const void *data, size_t bytes);
/* Asks and waits; `call` is whose callback runs (null: the helper says of which step). TN_OK: there
 * is an answer. Else the helper is gone: TN_ERROR_PLUGIN with what it was about. */
tn_status tn_isolation_request(tn_isolation *isolation, uint32_t request, uint32_t argument,
                               tn_call *call);
/* The answer's status with its reason, for requests that are no callback. */
tn_status tn_isolation_answered(const tn_isolation *isolation);

#endif
