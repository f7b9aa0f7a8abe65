/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of an operator's save and load; see state.h. Upgrades are in upgrade.c. */
#include "plan/state.h"

#include "base/status.h"
#include "plan/state_private.h"

#include <string.h>

/* What an operator may save. */
#define STATE_LIMIT ((uint64_t)1 << 30)

void tn_plan_state_call_init(tn_plan_state_call *state, const tn_plan_node_context *context) {
    *state = (tn_plan_state_call){0};
    state->scope =
        (tn_call_scope){.runtime = context->runtime, .library = context->entry->library->name};
    state->call = (tn_call){.size = sizeof(tn_call),
                            .threads = 1,
                            .host = tn_runtime_host(context->runtime),
                            .op = context->entry->op,
                            .user = context->entry->op->user,
                            .device = tn_runtime_cpu(context->runtime),
                            .node = context->node,
                            .host_private = &state->scope};
}

/* tn_call_invoke calls with the call alone; what the others need stands behind it. */
static tn_status call_save(tn_call *call) TN_NOEXCEPT {
    tn_plan_state_call *state = (tn_plan_state_call *)call;
    return call->op->save(call, state->data, &state->bytes);
}

static tn_status call_load(tn_call *call) TN_NOEXCEPT {
    tn_plan_state_call *state = (tn_plan_state_call *)call;
    return call->op->load(call, state->data, state->bytes);
}

tn_status tn_plan_state_save(const tn_plan_node_context *context, const void *params,
                             const void **out_data, size_t *out_bytes) {
    tn_plan_state_call state;
    tn_plan_state_call_init(&state, context);
    state.call.params = params;
    TN_TRY(tn_call_invoke(&state.call, call_save, "save"));
    uint64_t announced = state.bytes;
    if (announced > STATE_LIMIT)
        return tn_fail(TN_ERROR_PLUGIN,
                       "node '%s': operator %s wants to save %llu bytes of state; at most %llu are "
                       "possible",
                       context->node, context->entry->op->name, (unsigned long long)announced,
                       (unsigned long long)STATE_LIMIT);
    state.data = tn_arena_allocate(context->arena, (size_t)announced, 1);
    if (!state.data) return tn_fail_memory("an operator's state");
    TN_TRY(tn_call_invoke(&state.call, call_save, "save"));
    if (state.bytes > announced)
        return tn_fail(TN_ERROR_PLUGIN,
                       "node '%s': operator %s saved %llu bytes of state after it had asked for "
                       "%llu",
                       context->node, context->entry->op->name, (unsigned long long)state.bytes,
                       (unsigned long long)announced);
    *out_data = state.data;
    *out_bytes = (size_t)state.bytes;
    return TN_OK;
}

tn_status tn_plan_state_load(const tn_plan_node_context *context, const void *params,
                             const void *data, size_t bytes, void *new_params) {
    tn_plan_state_call state;
    tn_plan_state_call_init(&state, context);
    state.call.params = params;
    state.call.new_params = new_params;
    state.bytes = bytes;
    /* A copy: aligned, and what the library does to it hurts nobody. */
    state.data = tn_arena_allocate(context->arena, bytes, 1);
    if (!state.data) return tn_fail_memory("an operator's state");
    if (bytes > 0) memcpy(state.data, data, bytes);
    return tn_call_invoke(&state.call, call_load, "load");
}
