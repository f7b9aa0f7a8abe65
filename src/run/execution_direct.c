/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small outputs that go to the context's own pinned memory: in a captured graph the kernel that
 * makes such an output writes it there itself, over the bus, and the copy after it is left out. The
 * kernel's pointer is another one only while it is captured. See execution_border.c for the copies.
 */
#include "plugin/devices.h"
#include "run/execution_private.h"

/* What goes over the bus while a kernel ends. */
#define DIRECT_BYTES 4096u

static bool reads(const tn_shape_state *state, const tn_program_step *step, uint32_t root) {
    for (uint32_t i = 0; i < step->input_count; i++)
        if (step->inputs[i] != TN_NO_VALUE && state->locations[step->inputs[i]].root == root)
            return true;
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (state->locations[step->operands[i]].root == root) return true;
    return false;
}

static bool writes(const tn_program_step *step, uint32_t value) {
    for (uint32_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] == value) return true;
    return false;
}

/* Whether a step of the piece writes the value, and then nothing but the border's transfer reads
 * its memory. What the step overwrites may lie elsewhere: it then does not work in place. */
static bool is_written_last(const tn_context *context, const tn_shape_state *state,
                            const tn_execution_graph *graph, const tn_execution_border *border) {
    const uint32_t root = state->locations[border->value].root;
    bool is_written = false;
    for (uint32_t i = 0; i < state->item_count; i++) {
        const tn_program_step *step = &context->engine->program->steps[state->item_steps[i]];
        if (i == border->item) continue;
        if (is_written && reads(state, step, root)) return false;
        if (!writes(step, border->value)) continue;
        if (i < graph->first || i >= graph->end) return false;
        is_written = true;
    }
    return is_written;
}

void tn_execution_begin_direct(const tn_context *context, tn_shape_state *state,
                               const tn_execution_graph *graph) {
    const tn_device *device = context->engine->device;
    for (uint32_t b = 0; b < state->border_count; b++) {
        tn_execution_border *border = &state->borders[b];
        const bool is_here = border->item >= graph->first && border->item < graph->end;
        if (!(device->capabilities & TN_DEVICE_REACHES_HOST) || !is_here || !border->is_output ||
            !border->captured || !border->may_share ||
            state->items[border->item].call->outputs[0]->bytes > DIRECT_BYTES ||
            !is_written_last(context, state, graph, border))
            continue;
        void **data = &state->tensors[border->value].tensor.data;
        border->device_data = *data;
        *data = (void *)(uintptr_t)border->captured;
        state->items[border->item].run = tn_execution_do_nothing;
    }
}

void tn_execution_end_direct(tn_shape_state *state) {
    for (uint32_t b = 0; b < state->border_count; b++) {
        tn_execution_border *border = &state->borders[b];
        if (!border->device_data) continue;
        state->tensors[border->value].tensor.data = border->device_data;
        state->items[border->item].run = border->run;
        border->device_data = NULL;
    }
}
