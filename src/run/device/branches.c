/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches of a captured graph: of two steps in a row that need nothing of each other the second
 * one's kernel is put beside the first one's, where the device can do that (TN_DEVICE_BRANCHES) and
 * both kernels let it (TN_KERNEL_CONCURRENT). Pairs, not more: what is before and behind a pair
 * is before and behind both, so that memory that the plan of the arena gives to several tensors in
 * turns is still used in that order.
 */
#include "plugin/devices.h"
#include "run/execution_private.h"

const tn_device_branches *tn_execution_branches(const tn_device *device) {
    const tn_device_branches *table =
        TN_DEVICE_HAS(device, extension) ? device->extension(device, TN_DEVICE_BRANCHES) : NULL;
    return table && table->size >= sizeof(*table) ? table : NULL;
}

static bool is_concurrent(const tn_context *context, const tn_shape_state *state, uint32_t item) {
    const uint32_t index = state->item_steps[item];
    const tn_program_step *step = &context->engine->program->steps[index];
    return step->kind == TN_STEP_KERNEL && step->is_device &&
           (context->engine->steps[index].entry->kernel->traits & TN_KERNEL_CONCURRENT) != 0;
}

static bool meets(const void *memory, uint64_t bytes, const tn_tensor *tensor) {
    const uintptr_t begin = (uintptr_t)memory;
    if (!tensor) return false;
    const uintptr_t other = (uintptr_t)tensor->data;
    return tensor->counted || (begin < other + tensor->bytes && other < begin + bytes);
}

/* Whether a call reads or writes something of some memory. */
static bool uses(const tn_call *call, const void *memory, uint64_t bytes) {
    const tn_tensor workspace = {.data = call->workspace, .bytes = call->workspace_bytes};
    bool does = meets(memory, bytes, &workspace);
    for (uint32_t i = 0; i < call->input_count && !does; i++)
        does = meets(memory, bytes, call->inputs[i]);
    for (uint32_t i = 0; i < call->operand_count && !does; i++)
        does = meets(memory, bytes, call->operands[i]);
    for (uint32_t i = 0; i < call->output_count && !does; i++)
        does = meets(memory, bytes, call->outputs[i]);
    return does;
}

/* Whether what `call` writes is something that `other` reads or writes. */
static bool writes_of(const tn_call *call, const tn_call *other) {
    bool does = uses(other, call->workspace, call->workspace_bytes);
    for (uint32_t i = 0; i < call->output_count && !does; i++)
        does = call->outputs[i] && uses(other, call->outputs[i]->data, call->outputs[i]->bytes);
    return does;
}

tn_status tn_execution_put_branches(const tn_context *context, const tn_shape_state *state,
                                    const tn_execution_graph *graph, void *const *captured) {
    const tn_device *device = context->engine->device;
    const tn_device_branches *branches = tn_execution_branches(device);
    for (uint32_t i = graph->first + 1; i < graph->end; i++) {
        void *first = captured[i - 1 - graph->first], *second = captured[i - graph->first];
        const tn_call *before = state->items[i - 1].call, *call = state->items[i].call;
        if (!first || !second || first == second || !is_concurrent(context, state, i - 1) ||
            !is_concurrent(context, state, i) || writes_of(before, call) || writes_of(call, before))
            continue;
        const tn_status status =
            branches->put_beside(device, context->device.own_stream, first, second);
        if (status != TN_OK) return tn_device_failed(device, status, "capturing branches");
        i++; /* a pair begins behind the last one */
    }
    return TN_OK;
}
