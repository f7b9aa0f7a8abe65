/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a plan, with the plan's numbers of tensors and nodes; see writer.h. */
#include "plan/write/writer.h"

#include "base/status.h"

#include <string.h>

static tn_status write_absorbed(tn_plan_writer *writer, const tn_program_step *step,
                                Tenon__Plan__Step *message) {
    message->absorbed =
        tn_arena_allocate(writer->arena, step->absorbed_count, sizeof(*message->absorbed));
    if (!message->absorbed) return tn_fail_memory("writing a plan");
    for (uint32_t i = 0; i < step->absorbed_count; i++)
        message->absorbed[message->n_absorbed++] = writer->node_numbers[step->absorbed[i]];
    return TN_OK;
}

static tn_status write_step(tn_plan_writer *writer, const tn_program_step *step,
                            Tenon__Plan__Step *message) {
    tenon__plan__step__init(message);
    message->kind = step->kind;
    message->node = step->node == TN_NO_NODE ? 0 : writer->node_numbers[step->node] + 1;
    message->kernel = tn_plan_writer_text(step->kernel);
    const tn_library_key library = {step->library, step->library_domain, step->library_hash};
    message->library = tn_plan_writer_text(step->library);
    if (step->library) message->library_number = 1 + tn_plan_find_library(&writer->plan, &library);
    message->before_count = step->before_count;
    message->before_input = step->before_input;
    message->tactic = step->tactic;
    message->is_in_place = step->is_in_place;
    message->aliased = step->aliased;
    message->is_host = step->is_host;
    message->is_device = step->is_device;
    message->nanoseconds = step->nanoseconds;
    message->note = tn_plan_writer_text(step->note);
    message->n_inputs = step->input_count;
    message->n_outputs = step->output_count;
    message->n_operands = step->operand_count;
    message->has_state = step->has_state;
    message->state_bytes = step->state_bytes;
    if (step->has_state)
        TN_TRY(tn_plan_writer_weight(writer, step->state, step->state_bytes, &message->state_offset,
                                     &message->state_checksum));
    TN_TRY(write_absorbed(writer, step, message));
    TN_TRY(tn_plan_writer_numbers(writer, step->input_count, step->inputs, NULL, &message->inputs));
    TN_TRY(
        tn_plan_writer_numbers(writer, step->output_count, step->outputs, NULL, &message->outputs));
    return tn_plan_writer_numbers(writer, step->operand_count, step->operands, NULL,
                                  &message->operands);
}

static tn_status write_note(tn_plan_writer *writer, const tn_value_note *note,
                            Tenon__Plan__ValueNote **out_message) {
    Tenon__Plan__ValueNote *message = tn_arena_allocate(writer->arena, 1, sizeof(*message));
    if (!message) return tn_fail_memory("writing a plan");
    tenon__plan__value_note__init(message);
    message->has_shape = note->has_shape;
    message->n_shape = note->has_shape ? note->shape.rank : 0;
    message->shape = (int64_t *)(uintptr_t)note->shape.extents;
    message->is_planned = note->is_planned;
    message->offset = note->offset;
    message->bytes = note->bytes;
    message->first_step = note->first_step;
    message->last_step = note->last_step;
    *out_message = message;
    return TN_OK;
}

static tn_status write_values(tn_plan_writer *writer, const tn_program *program,
                              Tenon__Plan__Program *message) {
    void **messages;
    TN_TRY(tn_plan_writer_messages(writer, program->value_count, sizeof(Tenon__Plan__ProgramValue),
                                   &messages));
    message->values = (Tenon__Plan__ProgramValue **)messages;
    for (uint32_t v = 0; v < program->value_count; v++) {
        const tn_program_value *value = &program->values[v];
        if (writer->tensor_numbers[value->tensor] == TN_NO_TENSOR)
            return tn_fail(TN_ERROR_INTERNAL,
                           "a program has a value of tensor '%s', which nobody "
                           "needs",
                           writer->graph->tensors[value->tensor].name);
        Tenon__Plan__ProgramValue *written = message->values[message->n_values++];
        tenon__plan__program_value__init(written);
        written->tensor = writer->tensor_numbers[value->tensor];
        written->format = value->format;
        written->type = value->type;
        written->space = value->space;
        if (value->quantization)
            TN_TRY(tn_plan_write_quantization(writer, value->quantization, value->type,
                                              &written->quantization));
        if (value->note) TN_TRY(write_note(writer, value->note, &written->note));
    }
    return TN_OK;
}

static tn_status write_packed(tn_plan_writer *writer, const tn_program *program,
                              Tenon__Plan__Program *message) {
    void **messages;
    TN_TRY(tn_plan_writer_messages(writer, program->packed_count, sizeof(Tenon__Plan__Packed),
                                   &messages));
    message->packed = (Tenon__Plan__Packed **)messages;
    for (uint32_t i = 0; i < program->packed_count; i++) {
        const tn_packed_blob *blob = &program->packed[i];
        Tenon__Plan__Packed *packed = message->packed[message->n_packed++];
        tenon__plan__packed__init(packed);
        packed->bytes = blob->note->bytes;
        packed->content = blob->content;
        packed->packer = blob->packer;
        packed->key = tn_plan_writer_text(blob->key);
        packed->kernel = tn_plan_writer_text(blob->note->name);
        TN_TRY(tn_plan_writer_packed(writer, blob->note->data, blob->note->bytes, &packed->offset,
                                     &packed->checksum));
    }
    return TN_OK;
}

static tn_status write_program(tn_plan_writer *writer, const tn_program *program,
                               Tenon__Plan__Program *message) {
    void **messages;
    tenon__plan__program__init(message);
    if (program->threads == 0 || program->threads > TN_THREAD_LIMIT)
        return tn_fail(TN_ERROR_RANGE, "a plan for %u threads: expected 1 to %u", program->threads,
                       TN_THREAD_LIMIT);
    message->fingerprint = tn_plan_writer_text(program->fingerprint);
    message->device = tn_plan_writer_text(
        program->device && strcmp(program->device, "cpu") != 0 ? program->device : NULL);
    message->threads = program->threads;
    message->profile = program->profile;
    TN_TRY(write_values(writer, program, message));
    TN_TRY(
        tn_plan_writer_messages(writer, program->step_count, sizeof(Tenon__Plan__Step), &messages));
    message->steps = (Tenon__Plan__Step **)messages;
    for (uint32_t s = 0; s < program->step_count; s++)
        TN_TRY(write_step(writer, &program->steps[s], message->steps[message->n_steps++]));
    TN_TRY(write_packed(writer, program, message));
    message->n_input_values = writer->graph->input_count;
    message->n_output_values = writer->graph->output_count;
    TN_TRY(tn_plan_writer_numbers(writer, message->n_input_values, program->input_values, NULL,
                                  &message->input_values));
    return tn_plan_writer_numbers(writer, message->n_output_values, program->output_values, NULL,
                                  &message->output_values);
}

/* What comes out is what a reader would check: a mistake shows when the plan is written. */
tn_status tn_plan_write_programs(tn_plan_writer *writer) {
    Tenon__Plan__Plan *plan = &writer->plan;
    void **messages;
    TN_TRY(tn_plan_writer_messages(writer, writer->program_count, sizeof(Tenon__Plan__Program),
                                   &messages));
    plan->programs = (Tenon__Plan__Program **)messages;
    for (uint32_t p = 0; p < writer->program_count; p++) {
        TN_TRY(tn_program_check(writer->programs[p], writer->graph));
        TN_TRY(write_program(writer, writer->programs[p], plan->programs[plan->n_programs++]));
    }
    return TN_OK;
}
