/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of a plan as structs: values and steps. See describe_plan.h. */
#include "base/status.h"
#include "plan/inspect/describe_plan.h"
#include "program/program.h"

static tn_status describe_values(tn_description *description, const Tenon__Plan__Plan *plan,
                                 const Tenon__Plan__Program *message,
                                 tn_described_program *program) {
    tn_described_value **values =
        tn_description_list(description, message->n_values, sizeof(tn_described_value));
    if (!values) return tn_fail_memory("a description");
    program->value_count = (uint32_t)message->n_values;
    program->values = (const tn_described_value *const *)values;
    for (size_t v = 0; v < message->n_values; v++) {
        const Tenon__Plan__ProgramValue *from = message->values[v];
        const Tenon__Plan__ValueNote *note = from->note;
        tn_described_value *value = values[v];
        value->type = from->type;
        value->format = from->format;
        value->is_device = from->space == TN_SPACE_DEVICE;
        value->tensor = tn_describe_tensor_name(plan, from->tensor);
        if (from->quantization && from->quantization->n_scale > 0)
            value->scale = (double)from->quantization->scale[0];
        value->rank = UINT32_MAX;
        if (!note) continue;
        if (note->has_shape && note->n_shape <= TN_MAX_RANK) {
            value->rank = (uint32_t)note->n_shape;
            value->extents = note->shape;
        }
        value->is_planned = note->is_planned && note->bytes <= UINT64_MAX - note->offset;
        value->offset = note->offset;
        value->bytes = note->bytes;
        value->first_step = note->first_step;
        value->last_step = note->last_step;
    }
    return TN_OK;
}

/* 1 + the value; what leads nowhere is none. */
static tn_status describe_numbers(tn_description *description, const tn_described_program *program,
                                  size_t count, const uint32_t *from, uint32_t *out_count,
                                  const uint32_t **out_numbers) {
    uint32_t *numbers = tn_arena_allocate(description->arena, count, sizeof(*numbers));
    if (!numbers) return tn_fail_memory("a description");
    for (size_t i = 0; i < count; i++)
        numbers[i] = from[i] > 0 && from[i] <= program->value_count ? from[i] - 1 : TN_NO_VALUE;
    *out_count = (uint32_t)count;
    *out_numbers = numbers;
    return TN_OK;
}

static const Tenon__Plan__Operator *operator_of(const Tenon__Plan__Plan *plan, uint64_t node) {
    if (node >= plan->n_nodes || plan->nodes[node]->operator_index >= plan->n_operators)
        return NULL;
    return plan->operators[plan->nodes[node]->operator_index];
}

static const char *rewrite_of(const Tenon__Plan__Plan *plan, uint64_t node) {
    return node < plan->n_nodes && *plan->nodes[node]->rewrite ? plan->nodes[node]->rewrite : NULL;
}

static tn_status describe_absorbed(tn_description *description, const Tenon__Plan__Plan *plan,
                                   const Tenon__Plan__Step *message, tn_described_step *step) {
    const size_t count = message->n_absorbed;
    const char **names = tn_arena_allocate(description->arena, count, sizeof(*names));
    const char **ops = tn_arena_allocate(description->arena, count, sizeof(*ops));
    const char **rewrites = tn_arena_allocate(description->arena, count + 1, sizeof(*rewrites));
    if (!names || !ops || !rewrites) return tn_fail_memory("a description");
    const char *rewrite = rewrite_of(plan, (uint64_t)message->node + UINT64_MAX);
    if (rewrite) rewrites[step->rewrite_count++] = rewrite;
    for (size_t i = 0; i < count; i++) {
        const uint32_t node = message->absorbed[i];
        const Tenon__Plan__Operator *op = operator_of(plan, node);
        names[i] = node < plan->n_nodes ? plan->nodes[node]->name : NULL;
        ops[i] = op ? op->name : NULL;
        rewrite = rewrite_of(plan, node);
        if (rewrite) rewrites[step->rewrite_count++] = rewrite;
    }
    step->absorbed_count = (uint32_t)count;
    step->absorbed = names;
    step->absorbed_ops = ops;
    step->rewrites = rewrites;
    return TN_OK;
}

static const char *or_null(const char *text) {
    return *text ? text : NULL;
}

static tn_status describe_step(tn_description *description, const Tenon__Plan__Plan *plan,
                               const tn_described_program *program,
                               const Tenon__Plan__Step *message, tn_described_step *step) {
    const uint64_t node = (uint64_t)message->node + UINT64_MAX;
    const Tenon__Plan__Operator *op = operator_of(plan, node);
    step->kind = message->is_host                ? TN_DESCRIBED_SHAPE
                 : message->kind <= TN_STEP_VIEW ? message->kind
                                                 : 0;
    step->node = node < plan->n_nodes ? plan->nodes[node]->name : NULL;
    if (op) {
        step->domain = op->domain;
        step->op = op->name;
        step->version = op->since_version;
    }
    step->tactic = message->tactic;
    step->kernel = or_null(message->kernel);
    step->library = step->kernel ? message->library : NULL;
    step->before_count = message->before_count;
    step->before_input = message->before_input;
    step->is_in_place = message->is_in_place ? 1 : 0;
    step->ns = message->nanoseconds;
    step->is_device = message->is_device ? 1 : 0;
    step->has_state = message->has_state ? 1 : 0;
    step->state_bytes = message->state_bytes;
    step->note = or_null(message->note);
    TN_TRY(describe_absorbed(description, plan, message, step));
    TN_TRY(describe_numbers(description, program, message->n_inputs, message->inputs,
                            &step->input_count, &step->inputs));
    TN_TRY(describe_numbers(description, program, message->n_outputs, message->outputs,
                            &step->output_count, &step->outputs));
    TN_TRY(describe_numbers(description, program, message->n_operands, message->operands,
                            &step->operand_count, &step->operands));
    return tn_description_combine(description, program, step);
}

static tn_status describe_program(tn_description *description, const Tenon__Plan__Plan *plan,
                                  const Tenon__Plan__Program *message,
                                  tn_described_program *program) {
    program->threads = message->threads;
    program->profile = message->profile;
    program->device = *message->device ? message->device : "cpu";
    program->fingerprint = message->fingerprint;
    program->fits = tn_description_fit(description->runtime, program->device, message->fingerprint,
                                       message->threads);
    TN_TRY(describe_values(description, plan, message, program));
    tn_description_sum_memory(program);
    tn_described_step **steps =
        tn_description_list(description, message->n_steps, sizeof(tn_described_step));
    if (!steps) return tn_fail_memory("a description");
    program->step_count = (uint32_t)message->n_steps;
    program->steps = (const tn_described_step *const *)steps;
    for (size_t s = 0; s < message->n_steps; s++)
        TN_TRY(describe_step(description, plan, program, message->steps[s], steps[s]));
    return TN_OK;
}

tn_status tn_describe_programs(tn_description *description, const Tenon__Plan__Plan *plan) {
    tn_described_program **programs =
        tn_description_list(description, plan->n_programs, sizeof(tn_described_program));
    if (!programs) return tn_fail_memory("a description");
    description->view.program_count = (uint32_t)plan->n_programs;
    description->view.programs = (const tn_described_program *const *)programs;
    for (size_t p = 0; p < plan->n_programs; p++)
        TN_TRY(describe_program(description, plan, plan->programs[p], programs[p]));
    return TN_OK;
}
