/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the helper process share: isolation_serve.c (start, requests, end) and
 * isolation_calls.c (buffers and calls). The asking side is isolation.h. */
#ifndef TN_ISOLATION_ISOLATION_SERVE_H
#define TN_ISOLATION_ISOLATION_SERVE_H

#include "engine/engine_private.h"
#include "guard/checked_call.h"
#include "helper/helper_process.h"
#include "isolation/isolation_channel.h"

typedef struct tn_served_buffer {
    char *memory; /* null: none of this number */
    size_t bytes;
} tn_served_buffer;

/* A call as the asker defined it. */
typedef struct tn_served_call {
    tn_arena *arena; /* null: none of this number */
    uint32_t step;
    tn_call call;
    bool is_sized_by_run;
} tn_served_call;

typedef struct tn_server {
    tn_isolation_page *page;
    tn_runtime *runtime;
    const tn_allocator *allocator;
    tn_engine *engine;
    tn_open_kernel *kernels; /* by step */
    tn_checked *checked;     /* guarded runs; else null */
    bool *is_constant;       /* guarded runs: by value */
    const char *dump_directory;
    tn_served_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    tn_served_call *calls;
    size_t call_count, call_capacity;
} tn_server;

/* Says what the process is about, before it is. */
void tn_server_note(tn_server *server, uint32_t stage, uint32_t step);

/* --- isolation_calls.c: requests; each fails with a reason --- */
tn_status tn_server_map(tn_server *server, uint32_t number);
tn_status tn_server_unmap(tn_server *server, uint32_t number);
tn_status tn_server_define(tn_server *server, uint32_t number);
tn_status tn_server_forget(tn_server *server, uint32_t number);
/* Callbacks: *out_failed is what they recorded by host->fail, and the answer their own. */
tn_status tn_server_reshape(tn_server *server, uint32_t number, tn_status *out_failed);
tn_status tn_server_run(tn_server *server, uint32_t number, tn_status *out_failed);

#endif
