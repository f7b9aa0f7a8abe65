/* SPDX-License-Identifier: Apache-2.0 */
/* What guarded calls of an engine's steps need to know; see checked.h. */
#include "engine/checked.h"
#include "base/status.h"

static size_t most_tensors(const tn_program *program) {
    size_t most = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        const size_t count = (size_t)step->input_count + step->operand_count + step->output_count;
        if (count > most) most = count;
    }
    return most;
}

/* Values that lie in the plan. */
static void find_constants(const tn_engine *engine, bool *is_constant) {
    const tn_program *program = engine->program;
    for (uint32_t v = 0; v < program->value_count; v++)
        is_constant[v] = engine->graph->tensors[program->values[v].tensor].is_constant;
    for (uint32_t s = 0; s < program->step_count; s++)
        for (uint32_t i = 0; i < program->steps[s].output_count; i++)
            if (program->steps[s].outputs[i] != TN_NO_VALUE)
                is_constant[program->steps[s].outputs[i]] = false;
}

tn_status tn_checked_describe(const tn_engine *engine, const tn_allocator *allocator,
                              tn_checked_options *options, bool **out_is_constant) {
    const tn_program *program = engine->program;
    *out_is_constant = tn_allocate_zero(allocator, program->value_count + 1u, sizeof(bool));
    if (!*out_is_constant) return tn_fail_memory("guarded running");
    find_constants(engine, *out_is_constant);
    options->most_tensors = most_tensors(program);
    options->value_count = program->value_count;
    options->is_constant = *out_is_constant;
    return TN_OK;
}
