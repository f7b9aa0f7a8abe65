/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of a plan. What their numbers mean is checked against the graph by
 * tn_program_check; here they are only read. See reader.h.
 */
#include "plan/read/reader.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* 1 + the number, 0 for none. */
static tn_status read_numbers(tn_plan_reader *reader, size_t count, const uint32_t *indices,
                              uint32_t **out_numbers) {
    uint32_t *read = tn_arena_allocate(reader->contents.arena, count, sizeof(*read));
    if (!read) return tn_fail_memory("a program");
    for (size_t i = 0; i < count; i++)
        read[i] = indices[i] - 1; /* 0 becomes UINT32_MAX: none */
    *out_numbers = read;
    return TN_OK;
}

static tn_status read_text(tn_plan_reader *reader, const char *text, const char **out_text) {
    if (!*text) return TN_OK;
    *out_text = tn_arena_text(reader->contents.arena, text);
    return *out_text ? TN_OK : tn_fail_memory("a program");
}

/* The bytes stay in the plan; what they mean, the kernel's load checks. */
static tn_status read_state(tn_plan_reader *reader, const Tenon__Plan__Step *message,
                            tn_program_step *step) {
    if (!message->has_state) return TN_OK;
    if (message->kind != TN_STEP_KERNEL || !*message->kernel)
        return tn_plan_reader_fail("a step without a kernel has a kernel's state");
    TN_TRY(tn_plan_reader_bytes(reader, "a kernel's state", message->state_offset,
                                message->state_bytes, &step->state));
    const tn_constant_note part = {.kind = "the state of kernel",
                                   .name = message->kernel,
                                   .data = step->state,
                                   .bytes = (size_t)message->state_bytes,
                                   .checksum = message->state_checksum};
    TN_TRY(tn_plan_reader_note(reader, &part, &step->state_note));
    step->has_state = true;
    step->state_bytes = (size_t)message->state_bytes;
    return TN_OK;
}

static tn_status read_step(tn_plan_reader *reader, const Tenon__Plan__Step *message,
                           tn_program_step *step) {
    if (!isfinite(message->nanoseconds) || message->nanoseconds < 0)
        return tn_plan_reader_fail("a step took a time that is not possible");
    *step = (tn_program_step){.kind = message->kind,
                              .node = message->node - 1,
                              .absorbed_count = (uint32_t)message->n_absorbed,
                              .before_count = message->before_count,
                              .before_input = message->before_input,
                              .tactic = message->tactic,
                              .is_in_place = message->is_in_place,
                              .aliased = message->aliased,
                              .is_host = message->is_host,
                              .is_device = message->is_device,
                              .input_count = (uint32_t)message->n_inputs,
                              .output_count = (uint32_t)message->n_outputs,
                              .operand_count = (uint32_t)message->n_operands,
                              .nanoseconds = message->nanoseconds};
    step->absorbed = tn_arena_copy(reader->contents.arena, message->absorbed,
                                   message->n_absorbed * sizeof(uint32_t));
    if (!step->absorbed) return tn_fail_memory("a program");
    TN_TRY(read_text(reader, message->kernel, &step->kernel));
    TN_TRY(read_text(reader, message->library, &step->library));
    const tn_loaded_library *library = tn_plan_reader_step_library(reader, message);
    if (library) {
        step->library_domain = library->domain; /* the reader's contents hold the library */
        step->library_hash = library->hash;
    }
    TN_TRY(read_state(reader, message, step));
    TN_TRY(read_text(reader, message->note, &step->note));
    TN_TRY(read_numbers(reader, message->n_inputs, message->inputs, &step->inputs));
    TN_TRY(read_numbers(reader, message->n_outputs, message->outputs, &step->outputs));
    return read_numbers(reader, message->n_operands, message->operands, &step->operands);
}

/* One scale; whether it is sound, the check of the program says. */
static tn_status read_quantization(tn_plan_reader *reader, const Tenon__Plan__Quantization *message,
                                   tn_program_value *value) {
    if (message->n_scale != 1 || message->n_zero_point > 1)
        return tn_plan_reader_fail("a value has %zu scales and %zu zero points", message->n_scale,
                                   message->n_zero_point);
    return tn_plan_read_quantization(reader->contents.arena, message, value->type,
                                     &value->quantization);
}

/* Nothing that runs reads it; but what is shown must make sense. */
static tn_status read_note(tn_plan_reader *reader, const Tenon__Plan__ValueNote *message,
                           tn_program_value *value) {
    tn_value_note *note = tn_arena_allocate(reader->contents.arena, 1, sizeof(*note));
    if (!note) return tn_fail_memory("a program");
    if (message->n_shape > (message->has_shape ? TN_MAX_RANK : 0u))
        return tn_plan_reader_fail("a value's shape has %zu extents", message->n_shape);
    if (message->first_step > message->last_step || message->bytes > SIZE_MAX - message->offset)
        return tn_plan_reader_fail("a value's memory ends before it begins");
    *note = (tn_value_note){.has_shape = message->has_shape,
                            .shape.rank = (uint32_t)message->n_shape,
                            .is_planned = message->is_planned,
                            .offset = (size_t)message->offset,
                            .bytes = (size_t)message->bytes,
                            .first_step = message->first_step,
                            .last_step = message->last_step};
    for (size_t axis = 0; axis < message->n_shape; axis++) {
        note->shape.extents[axis] = message->shape[axis];
        if (message->shape[axis] < 0)
            return tn_plan_reader_fail("a value's shape has the extent %" PRId64,
                                       message->shape[axis]);
    }
    value->note = note;
    return TN_OK;
}

static tn_status read_values(tn_plan_reader *reader, const Tenon__Plan__Program *message,
                             tn_program *program) {
    program->values =
        tn_arena_allocate(reader->contents.arena, message->n_values, sizeof(*program->values));
    if (!program->values) return tn_fail_memory("a program");
    program->value_count = (uint32_t)message->n_values;
    for (size_t v = 0; v < message->n_values; v++) {
        const Tenon__Plan__ProgramValue *value = message->values[v];
        program->values[v] = (tn_program_value){.tensor = value->tensor,
                                                .format = value->format,
                                                .type = value->type,
                                                .space = value->space};
        if (value->quantization)
            TN_TRY(read_quantization(reader, value->quantization, &program->values[v]));
        if (value->note) TN_TRY(read_note(reader, value->note, &program->values[v]));
    }
    return TN_OK;
}

static tn_status read_ports(tn_plan_reader *reader, const Tenon__Plan__Program *message,
                            tn_program *program) {
    const tn_graph *graph = reader->contents.graph;
    if (message->n_input_values != graph->input_count ||
        message->n_output_values != graph->output_count)
        return tn_plan_reader_fail("it has values for %zu inputs and %zu outputs",
                                   message->n_input_values, message->n_output_values);
    TN_TRY(read_numbers(reader, message->n_input_values, message->input_values,
                        &program->input_values));
    return read_numbers(reader, message->n_output_values, message->output_values,
                        &program->output_values);
}

/* The bytes stay in the plan, and are verified when a kernel asks for them. */
static tn_status read_packed(tn_plan_reader *reader, const Tenon__Plan__Program *message,
                             tn_program *program) {
    tn_packed_blob *blobs =
        tn_arena_allocate(reader->contents.arena, message->n_packed + 1, sizeof(*blobs));
    if (!blobs) return tn_fail_memory("a program");
    for (size_t i = 0; i < message->n_packed; i++) {
        const Tenon__Plan__Packed *from = message->packed[i];
        tn_packed_blob *blob = &blobs[program->packed_count];
        tn_constant_note part = {.kind = "packed weights of kernel",
                                 .name = from->kernel,
                                 .bytes = (size_t)from->bytes,
                                 .checksum = from->checksum};
        TN_TRY(tn_plan_reader_packed(reader, from->offset, from->bytes, &part.data));
        *blob = (tn_packed_blob){.content = from->content, .packer = from->packer, .key = ""};
        TN_TRY(read_text(reader, from->key, &blob->key));
        TN_TRY(tn_plan_reader_note(reader, &part, &blob->note));
        if (blob->note) program->packed_count++;
    }
    program->packed = blobs;
    return TN_OK;
}

static tn_status read_program(tn_plan_reader *reader, const Tenon__Plan__Program *message,
                              tn_program **out_program) {
    tn_program *program = tn_arena_allocate(reader->contents.arena, 1, sizeof(*program));
    if (!program) return tn_fail_memory("a program");
    if (!*message->fingerprint) return tn_plan_reader_fail("it is for no device");
    if (message->threads == 0 || message->threads > TN_THREAD_LIMIT)
        return tn_plan_reader_fail("it is for %" PRIu32 " threads", message->threads);
    program->threads = message->threads;
    if (message->profile >= reader->contents.profile_count)
        return tn_plan_reader_fail("it is for profile %" PRIu32 ", and there are %" PRIu32,
                                   message->profile, reader->contents.profile_count);
    program->profile = message->profile;
    program->device = "cpu";
    TN_TRY(read_text(reader, message->device, &program->device));
    TN_TRY(read_text(reader, message->fingerprint, &program->fingerprint));
    TN_TRY(read_values(reader, message, program));
    TN_TRY(read_ports(reader, message, program));
    TN_TRY(read_packed(reader, message, program));
    program->steps =
        tn_arena_allocate(reader->contents.arena, message->n_steps, sizeof(*program->steps));
    if (!program->steps) return tn_fail_memory("a program");
    program->step_count = (uint32_t)message->n_steps;
    for (size_t s = 0; s < message->n_steps; s++)
        TN_TRY(read_step(reader, message->steps[s], &program->steps[s]));
    TN_TRY(tn_program_check(program, reader->contents.graph));
    *out_program = program;
    return TN_OK;
}

/* The one that is asked for; else the one that the plan was built for, if it is here. */
static tn_status take_device(tn_plan_reader *reader) {
    const Tenon__Plan__Plan *plan = reader->plan;
    const char *asked = reader->options ? reader->options->device : NULL;
    const char *built = plan->n_programs > 0 ? plan->programs[0]->device : "";
    tn_used_device *device = &reader->contents.device;
    tn_error_copy before;
    if (asked) return tn_device_take(reader->runtime, asked, device);
    if (!*built) return tn_device_take(reader->runtime, "cpu", device);
    tn_error_save(&before);
    if (tn_device_take(reader->runtime, built, device) == TN_OK) return TN_OK;
    if (tn_last_error()->status == TN_ERROR_MEMORY) return TN_ERROR_MEMORY;
    tn_runtime_log(reader->runtime, TN_LOG_WARNING,
                   "the plan was built for device '%s' and will run on the processor: %s", built,
                   tn_last_error()->message);
    tn_error_restore(&before);
    reader->contents.is_elsewhere = true;
    return tn_device_take(reader->runtime, "cpu", device);
}

tn_status tn_plan_read_programs(tn_plan_reader *reader) {
    const Tenon__Plan__Plan *plan = reader->plan;
    tn_plan_contents *contents = &reader->contents;
    TN_TRY(take_device(reader));
    const tn_device *device = contents->device.device;
    const tn_device *cpu = tn_runtime_cpu(reader->runtime);
    contents->programs =
        tn_arena_allocate(contents->arena, plan->n_programs, sizeof(*contents->programs));
    if (!contents->programs) return tn_fail_memory("the programs of a plan");
    for (size_t p = 0; p < plan->n_programs; p++) {
        tn_program *program = NULL;
        bool is_there = true;
        TN_TRY(tn_error_at(read_program(reader, plan->programs[p], &program), "program %zu", p));
        /* A network that is sized by its data runs on the processor in any case. */
        if (strcmp(program->fingerprint, device->fingerprint(device)) == 0 ||
            strcmp(program->fingerprint, cpu->fingerprint(cpu)) == 0)
            TN_TRY(tn_plan_read_kernel_libraries(reader, plan->programs[p], &is_there));
        if (is_there)
            contents->programs[contents->program_count++] = program;
        else
            contents->left_out_count++;
    }
    return TN_OK;
}
