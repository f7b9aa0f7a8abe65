/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel keeps: the state that `prepare` allocates, and the context that `open` allocates,
 * with tables for a context's present shapes, which grow in `reshape`. All of it begins as zeros.
 * For CUDA's C++ sources, too.
 */
#ifndef TN_KIT_OPERATOR_KERNEL_MEMORY_H
#define TN_KIT_OPERATOR_KERNEL_MEMORY_H

#include <tenon/kit/infer.h>

#include <string.h>

/* --- state --- */

/* call->state, of so many bytes. TN_ERROR_MEMORY. */
static inline tn_status tn_kernel_state_create(tn_call *call, size_t bytes) {
    void *state = call->host->allocate(call->host, bytes, 64);
    if (!state)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a kernel's %llu bytes",
                                (unsigned long long)bytes);
    call->state = memset(state, 0, bytes);
    return TN_OK;
}

/* A kernel's `release`. */
static inline void tn_kernel_state_destroy(tn_call *call) {
    call->host->deallocate(call->host, call->state);
    call->state = NULL;
}

/* The end of `prepare`: a state that could not be completed is destroyed. */
static inline tn_status tn_kernel_state_finish(tn_call *call, tn_status status) {
    if (status != TN_OK) tn_kernel_state_destroy(call);
    return status;
}

/* --- context --- */

/* The first member of a context: tables that it owns. */
typedef struct tn_kernel_context {
    void *tables;
    uint64_t capacity; /* in bytes */
} tn_kernel_context;

/* call->context, of so many bytes. TN_ERROR_MEMORY. */
static inline tn_status tn_kernel_context_create(tn_call *call, size_t bytes) {
    void *context = call->host->allocate(call->host, bytes, 64);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context's %llu bytes",
                                (unsigned long long)bytes);
    call->context = memset(context, 0, bytes);
    return TN_OK;
}

/* A kernel's `close`. */
static inline void tn_kernel_context_destroy(tn_call *call) {
    tn_kernel_context *context = (tn_kernel_context *)call->context;
    call->host->deallocate(call->host, context->tables);
    call->host->deallocate(call->host, context);
}

/* Room for tables of so many bytes, aligned to 64; what larger ones held stays. TN_ERROR_MEMORY. */
static inline tn_status tn_kernel_context_reserve(tn_call *call, uint64_t bytes) {
    tn_kernel_context *context = (tn_kernel_context *)call->context;
    if (bytes <= context->capacity) return TN_OK;
    void *tables = call->host->allocate(call->host, bytes, 64);
    if (!tables)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %llu bytes of tables",
                                (unsigned long long)bytes);
    call->host->deallocate(call->host, context->tables);
    context->tables = tables;
    context->capacity = bytes;
    return TN_OK;
}

#endif
