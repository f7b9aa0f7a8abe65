/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of an operator's save and load; see state.h. Upgrades are in upgrade.c. */
#include "plan/state.h"

#include "base/status.h"
#include "plan/state_private.h"
#include "plugin/state/saved_state.h"

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

tn_status tn_plan_state_save(const tn_plan_node_context *context, const void *params,
                             const void **out_data, size_t *out_bytes) {
    tn_plan_state_call state;
    tn_plan_state_call_init(&state, context);
    state.call.params = params;
    return tn_saved_state_save(&state.call, context->entry->op->save, context->arena, out_data,
                               out_bytes);
}

tn_status tn_plan_state_load(const tn_plan_node_context *context, const void *params,
                             const void *data, size_t bytes, void *new_params) {
    tn_plan_state_call state;
    tn_plan_state_call_init(&state, context);
    state.call.params = params;
    state.call.new_params = new_params;
    return tn_saved_state_load(&state.call, context->entry->op->load, context->arena, data, bytes);
}
