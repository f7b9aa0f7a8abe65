/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a run for reports; see report_memory.h. */
#include "report/report_memory.h"
#include "base/status.h"

#include <inttypes.h>

typedef struct value_life {
    uint32_t root;        /* the value whose memory it is: views and in-place outputs share it */
    uint32_t first, last; /* of a root: steps */
    bool is_made;         /* by a step of a run */
    bool is_caller;       /* of a root: in the caller's memory */
} value_life;

static uint32_t root_of(const value_life *lives, uint32_t value) {
    while (lives[value].root != value)
        value = lives[value].root;
    return value;
}

static void share_memory(const tn_report_steps *source, const tn_program_step *step,
                         value_life *lives) {
    for (uint32_t i = 0; i < step->output_count && step->kind == TN_STEP_VIEW; i++) {
        const tn_operator *op = source->graph->nodes[step->node].entry->op;
        const uint32_t alias = tn_graph_output_port(op, i)->alias;
        if (step->outputs[i] != TN_NO_VALUE && alias > 0 && alias <= step->input_count &&
            step->inputs[alias - 1] != TN_NO_VALUE)
            lives[step->outputs[i]].root = root_of(lives, step->inputs[alias - 1]);
    }
    if (step->is_in_place && step->inputs[0] != TN_NO_VALUE && step->outputs[0] != TN_NO_VALUE)
        lives[step->outputs[0]].root = root_of(lives, step->inputs[0]);
}

static void extend_lives(value_life *lives, uint32_t step, uint32_t count, const uint32_t *values) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] != TN_NO_VALUE) lives[root_of(lives, values[i])].last = step;
}

static void find_lives(const tn_report_steps *source, value_life *lives) {
    const tn_program *program = source->program;
    for (uint32_t v = 0; v < program->value_count; v++)
        lives[v].root = v;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (step->is_host) continue; /* computed when shapes are */
        for (uint32_t i = 0; i < step->output_count; i++)
            if (step->outputs[i] != TN_NO_VALUE)
                lives[step->outputs[i]] =
                    (value_life){.root = step->outputs[i], .first = s, .last = s, .is_made = true};
        share_memory(source, step, lives);
        extend_lives(lives, s, step->input_count, step->inputs);
        extend_lives(lives, s, step->operand_count, step->operands);
    }
    for (size_t i = 0; i < source->graph->output_count; i++)
        lives[root_of(lives, program->output_values[i])].is_caller = true;
}

static void add_buffers(const tn_report_steps *source, const value_life *lives, uint32_t space,
                        tn_report_arena *arena) {
    const tn_program *program = source->program;
    for (uint32_t v = 0; v < program->value_count; v++) {
        if (lives[v].root != v || !lives[v].is_made || lives[v].is_caller ||
            program->values[v].space != space)
            continue;
        arena->buffers[arena->count] = (tn_memory_buffer){.bytes = tn_report_value_bytes(source, v),
                                                          .first = lives[v].first,
                                                          .last = lives[v].last};
        arena->values[arena->count++] = v;
    }
}

tn_status tn_report_memory_plan(const tn_report_steps *source, tn_report_memory *out_memory) {
    const tn_allocator *allocator = source->graph->allocator;
    const size_t values = source->program->value_count + (size_t)1;
    tn_report_memory memory = {.steps = source};
    tn_status status = TN_OK;
    value_life *lives = tn_allocate_zero(allocator, values, sizeof *lives);
    if (!lives) return tn_fail_memory("the report of a build");
    find_lives(source, lives);
    for (uint32_t space = 0; space < 2; space++) {
        tn_report_arena *arena = &memory.arenas[space];
        arena->buffers = tn_allocate_zero(allocator, values, sizeof *arena->buffers);
        arena->values = tn_allocate_zero(allocator, values, sizeof *arena->values);
        if (!arena->buffers || !arena->values) TN_GO(tn_fail_memory("the report of a build"));
        add_buffers(source, lives, space, arena);
        TN_GO(tn_memory_plan_make(allocator, arena->buffers, arena->count, 64, &arena->bytes));
    }
    *out_memory = memory;
done:
    tn_deallocate(allocator, lives);
    if (status != TN_OK) tn_report_memory_deinit(&memory, allocator);
    return status;
}

tn_status tn_report_memory_note(const tn_report_memory *memory, tn_program *program,
                                tn_arena *arena) {
    tn_value_note *notes =
        tn_arena_allocate(arena, program->value_count + (size_t)1, sizeof *notes);
    if (!notes) return tn_fail_memory("the memory of a plan");
    for (uint32_t v = 0; v < program->value_count; v++) {
        const tn_inferred_tensor *known =
            &memory->steps->shapes->tensors[program->values[v].tensor];
        notes[v].has_shape = tn_inferred_has_shape(known);
        if (notes[v].has_shape) notes[v].shape = known->storage.shape;
        program->values[v].note = &notes[v];
    }
    for (int space = 0; space < 2; space++)
        for (size_t i = 0; i < memory->arenas[space].count; i++) {
            const tn_memory_buffer *buffer = &memory->arenas[space].buffers[i];
            tn_value_note *note = &notes[memory->arenas[space].values[i]];
            note->is_planned = true;
            note->offset = buffer->offset;
            note->bytes = buffer->bytes;
            note->first_step = buffer->first;
            note->last_step = buffer->last;
        }
    return TN_OK;
}

void tn_report_memory_deinit(tn_report_memory *memory, const tn_allocator *allocator) {
    for (int space = 0; space < 2; space++) {
        tn_deallocate(allocator, memory->arenas[space].buffers);
        tn_deallocate(allocator, memory->arenas[space].values);
    }
}

size_t tn_report_memory_bytes(const tn_report_memory *memory) {
    return memory->arenas[0].bytes + memory->arenas[1].bytes;
}

static void add_buffer(tn_text *text, const tn_report_memory *memory, const tn_report_arena *arena,
                       size_t index) {
    const tn_memory_buffer *buffer = &arena->buffers[index];
    const uint32_t value = arena->values[index];
    const tn_report_steps *steps = memory->steps;
    tn_text_add(text, "{\"tensor\": ");
    if (value == TN_NO_VALUE)
        tn_text_add(text, "null");
    else
        tn_text_add_json(text, steps->graph->tensors[steps->program->values[value].tensor].name);
    tn_text_add_format(
        text, ", \"offset\": %zu, \"bytes\": %zu, \"first\": %" PRIu32 ", \"last\": %" PRIu32 "}",
        buffer->offset, buffer->bytes, buffer->first, buffer->last);
}

void tn_report_add_memory(tn_text *text, const tn_report_memory *memory) {
    const char *between = "";
    tn_text_add_format(text, "  \"memory\": {\"workspaces\": %s, \"arenas\": [",
                       memory->has_workspaces ? "true" : "false");
    for (int space = 0; space < 2; space++) {
        const tn_report_arena *arena = &memory->arenas[space];
        if (arena->count == 0) continue;
        tn_text_add_format(text, "%s\n    {\"space\": \"%s\", \"bytes\": %zu, \"buffers\": [",
                           between, space ? "device" : "host", arena->bytes);
        between = ",";
        for (size_t i = 0; i < arena->count; i++) {
            if (i > 0) tn_text_add(text, ",\n      ");
            add_buffer(text, memory, arena, i);
        }
        tn_text_add(text, "]}");
    }
    tn_text_add(text, "]}");
}
