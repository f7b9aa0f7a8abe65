/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shape state's kernels are told of its shapes: each in the order of the run, those that may take
 * long on all threads at once before.
 */
#include "base/status.h"
#include "run/context_private.h"

#include <string.h>

/* Workspaces are planned once: what a kernel answers for the same shapes later must fit in. */
static tn_status reshape_item(const tn_shape_state *state, uint32_t item, tn_callback reshape) {
    tn_call *call = state->items[item].call;
    call->workspace_bytes = 0;
    TN_TRY(tn_call_invoke(call, reshape, "reshape"));
    const uint64_t answered = call->workspace_bytes, planned = state->workspace_bytes[item];
    if (!state->is_placed) {
        state->workspace_bytes[item] = answered;
        return TN_OK;
    }
    call->workspace_bytes = planned;
    if (answered <= planned) return TN_OK;
    return tn_error_in(tn_fail(TN_ERROR_PLUGIN,
                               "reshape answered %llu bytes of workspace, and %llu for the same "
                               "shapes before",
                               (unsigned long long)answered, (unsigned long long)planned),
                       .node = call->node);
}

/* A shape that a kernel for any shape does not take after all runs by the reference. */
static tn_status take_reference(tn_context *context, tn_shape_state *state, uint32_t item,
                                tn_status status, const tn_error_copy *before) {
    tn_call *call = state->items[item].call;
    if (status != TN_ERROR_UNSUPPORTED || state->is_placed ||
        !tn_context_has_reference(context, state->item_steps[item]))
        return status;
    tn_call_scope *scope = tn_arena_copy(state->arena, call->host_private, sizeof(*scope));
    if (!scope) return tn_fail_memory("a set of shapes");
    tn_error_restore(before);
    tn_context_use_reference(call, scope);
    state->items[item].run = call->op->reference;
    state->workspace_bytes[item] = 0;
    return TN_OK;
}

static tn_status reshape_kernel(tn_context *context, tn_shape_state *state, uint32_t item,
                                const tn_kernel *kernel) {
    tn_error_copy before;
    tn_error_save(&before);
    const tn_status status = reshape_item(state, item, kernel->reshape);
    return status == TN_OK ? TN_OK : take_reference(context, state, item, status, &before);
}

/* ----------------------------------------------------------------------------------------------
 * on all threads */

/* Kernels that use OpenMP are those of libraries that generate code for a shape, which takes 0.1 to
 * 0.4 ms each. What fails there has its turn again on the calling thread, whose error is then the
 * run's. */
typedef struct reshape_job {
    const tn_context *context;
    tn_shape_state *state;
} reshape_job;

static const tn_kernel *kernel_of(const tn_context *context, const tn_shape_state *state,
                                  uint32_t item) {
    const tn_open_kernel *opened = &context->kernels[state->item_steps[item]];
    if (state->items[item].run == tn_isolated_run || !opened->is_open) return NULL;
    const tn_kernel *kernel = opened->prepared->kernel;
    return kernel && kernel->reshape && !(state->items[item].call->flags & TN_CALL_REFERENCE)
               ? kernel
               : NULL;
}

static bool may_take_long(const reshape_job *job, uint32_t item) {
    const tn_kernel *kernel = kernel_of(job->context, job->state, item);
    return kernel && kernel->traits & TN_KERNEL_OPENMP;
}

static tn_status reshape_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const reshape_job *job = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        tn_error_copy before;
        if (!may_take_long(job, (uint32_t)i)) continue;
        tn_error_save(&before);
        const tn_kernel *kernel = kernel_of(job->context, job->state, (uint32_t)i);
        job->state->is_told[i] = reshape_item(job->state, (uint32_t)i, kernel->reshape) == TN_OK;
        if (!job->state->is_told[i]) tn_error_restore(&before);
    }
    return TN_OK;
}

static void reshape_together(const tn_context *context, tn_shape_state *state) {
    const tn_thread_pool *pool = &context->engine->pool;
    reshape_job job = {context, state};
    uint32_t count = 0;
    memset(state->is_told, 0, state->item_count * sizeof(*state->is_told));
    if (pool->threads <= 1 || context->device.stream || context->checked) return;
    for (uint32_t i = 0; i < state->item_count; i++)
        count += may_take_long(&job, i);
    if (count > 1) (void)pool->parallel_for(pool, state->item_count, 1, reshape_items, &job);
}

tn_status tn_shape_state_reshape(tn_context *context, tn_shape_state *state) {
    reshape_together(context, state);
    for (uint32_t i = 0; i < state->item_count; i++) {
        const tn_kernel *kernel = kernel_of(context, state, i);
        if (state->items[i].run == tn_isolated_run)
            TN_TRY(reshape_item(state, i, tn_isolated_reshape));
        else if (kernel && !state->is_told[i])
            TN_TRY(reshape_kernel(context, state, i, kernel));
    }
    return TN_OK;
}
