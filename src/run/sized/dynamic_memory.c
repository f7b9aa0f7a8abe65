/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of networks sized by run: a pool of buffers that grow and are kept for the next run. A
 * value's buffer is free again after the last step that reads it or a view of it.
 */
#include "base/status.h"
#include "plugin/devices.h"
#include "run/sized/dynamic.h"

static bool is_better(const tn_dynamic_buffer *buffer, const tn_dynamic_buffer *best,
                      uint32_t space, size_t bytes) {
    if (buffer->is_used || buffer->space != space) return false;
    if (!best) return true;
    const bool is_enough = buffer->bytes >= bytes, was_enough = best->bytes >= bytes;
    if (is_enough != was_enough) return is_enough;
    return is_enough ? buffer->bytes < best->bytes : buffer->bytes > best->bytes;
}

/* A free buffer: the smallest that is large enough, else the largest, which grows; else a new one.
 */
static tn_status choose_buffer(tn_context *context, uint32_t space, size_t bytes,
                               size_t *out_index) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_dynamic_buffer *best = NULL;
    for (size_t i = 0; i < dynamic->buffer_count; i++)
        if (is_better(&dynamic->buffers[i], best, space, bytes)) best = &dynamic->buffers[i];
    if (!best) {
        TN_TRY(tn_grow(&context->allocator, (void **)&dynamic->buffers, &dynamic->buffer_capacity,
                       dynamic->buffer_count + 1, sizeof(*dynamic->buffers)));
        dynamic->buffers[dynamic->buffer_count] = (tn_dynamic_buffer){.space = space};
        best = &dynamic->buffers[dynamic->buffer_count++];
    }
    *out_index = (size_t)(best - dynamic->buffers);
    return TN_OK;
}

/* On a device in the order of the stream: what is enqueued still uses what is given back. */
static void free_buffer(tn_context *context, tn_dynamic_buffer *buffer, void *stream) {
    const tn_device *device = context->engine->device;
    if (buffer->space == TN_SPACE_HOST)
        tn_context_give_data(context, buffer->memory);
    else if (buffer->memory)
        tn_device_give_memory(device, &context->device_allocator, buffer->memory, stream);
    buffer->memory = NULL;
    buffer->bytes = 0;
}

static tn_status fill_buffer(tn_context *context, tn_dynamic_buffer *buffer, size_t bytes) {
    const tn_device *device = context->engine->device;
    if (buffer->space == TN_SPACE_HOST) {
        TN_TRY(tn_context_take_data(context, bytes, "a tensor", &buffer->memory));
    } else {
        TN_TRY(tn_device_take_memory(device, &context->device_allocator, bytes,
                                     context->device.stream, "memory for a tensor",
                                     &buffer->memory));
        context->statistics.allocations++;
    }
    buffer->bytes = bytes;
    return TN_OK;
}

void tn_dynamic_free(tn_context *context) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    for (size_t i = 0; i < dynamic->buffer_count; i++)
        free_buffer(context, &dynamic->buffers[i], context->device.own_stream);
    tn_deallocate(&context->allocator, dynamic->buffers);
}

tn_status tn_dynamic_take(tn_context *context, uint32_t space, size_t bytes, size_t *out_index) {
    size_t index = 0;
    bytes = bytes ? bytes : 64;
    TN_TRY(choose_buffer(context, space, bytes, &index));
    tn_dynamic_buffer *buffer = &context->dynamic->buffers[index];
    if (buffer->bytes < bytes) {
        free_buffer(context, buffer, context->device.stream);
        TN_TRY(fill_buffer(context, buffer, bytes));
    }
    buffer->is_used = true;
    *out_index = index;
    return TN_OK;
}

void tn_dynamic_give(tn_context *context, size_t index) {
    context->dynamic->buffers[index].is_used = false;
}

/* ----------------------------------------------------------------------------------------------
 * lifetimes */

static void note_views(const tn_context *context, const tn_program_step *step,
                       tn_dynamic_value *values) {
    const tn_operator *op = context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t alias = tn_graph_output_port(op, i)->alias;
        if (step->outputs[i] != TN_NO_VALUE && alias && alias <= step->input_count &&
            step->inputs[alias - 1] != TN_NO_VALUE)
            values[step->outputs[i]].root = values[step->inputs[alias - 1]].root;
    }
}

static void note_uses(tn_dynamic_value *values, const uint32_t *uses, uint32_t count,
                      uint32_t step) {
    for (uint32_t i = 0; i < count; i++)
        if (uses[i] != TN_NO_VALUE) values[values[uses[i]].root].last_use = step;
}

void tn_dynamic_find_lifetimes(tn_context *context) {
    const tn_program *program = context->engine->program;
    tn_dynamic_value *values = context->dynamic->values;
    for (uint32_t v = 0; v < program->value_count; v++)
        values[v].root = v;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->kind == TN_STEP_VIEW) note_views(context, step, values);
        note_uses(values, step->inputs, step->input_count, s);
        note_uses(values, step->operands, step->operand_count, s);
        note_uses(values, step->outputs, step->output_count, s);
    }
    for (size_t i = 0; i < context->engine->graph->output_count; i++)
        note_uses(values, &program->output_values[i], 1, program->step_count);
}

static void give_ended(tn_context *context, const uint32_t *uses, uint32_t count, uint32_t step) {
    tn_dynamic_value *values = context->dynamic->values;
    for (uint32_t i = 0; i < count; i++) {
        if (uses[i] == TN_NO_VALUE) continue;
        tn_dynamic_value *root = &values[values[uses[i]].root];
        if (root->last_use != step) continue;
        if (root->kind) tn_items_clear(&root->items);
        if (!root->has_buffer) continue;
        tn_dynamic_give(context, root->buffer);
        root->has_buffer = false;
    }
}

void tn_dynamic_end_step(tn_context *context, uint32_t index) {
    const tn_program_step *step = &context->engine->program->steps[index];
    give_ended(context, step->inputs, step->input_count, index);
    give_ended(context, step->operands, step->operand_count, index);
    give_ended(context, step->outputs, step->output_count, index);
}
