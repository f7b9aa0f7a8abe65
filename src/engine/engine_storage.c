/* SPDX-License-Identifier: Apache-2.0 */
/* In which storage an engine's first kernels read inputs, and its last ones write outputs
 * (tenon/border.h): past the conversions at the border. */
#include "base/status.h"
#include "engine/engine_private.h"
#include <tenon/border.h>

#include <string.h>

/* Conversions in a row: of type, of format, and a transfer. */
#define HOPS_AT_MOST 8

static bool is_stored_alike(const tn_program_value *a, const tn_program_value *b) {
    return a->format == b->format && a->space == b->space && tn_program_value_is_alike(a, b);
}

/* What a value is converted to by all that read it, into one storage; TN_NO_VALUE: something reads
 * it as it is, or they differ. */
static uint32_t converted_to(const tn_program *program, uint32_t value) {
    uint32_t found = TN_NO_VALUE;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_program_step *step = &program->steps[s];
        if (!tn_program_has_value(step->inputs, step->input_count, value) &&
            !tn_program_has_value(step->operands, step->operand_count, value))
            continue;
        if (step->kind != TN_STEP_REFORMAT) return TN_NO_VALUE;
        if (found == TN_NO_VALUE)
            found = step->outputs[0];
        else if (!is_stored_alike(&program->values[found], &program->values[step->outputs[0]]))
            return TN_NO_VALUE;
    }
    return found;
}

/* What a value is converted from; TN_NO_VALUE: no conversion computes it. */
static uint32_t converted_from(const tn_program *program, uint32_t value) {
    for (uint32_t s = 0; s < program->step_count; s++)
        if (program->steps[s].kind == TN_STEP_REFORMAT && program->steps[s].outputs[0] == value)
            return program->steps[s].inputs[0];
    return TN_NO_VALUE;
}

static tn_status answer(const tn_engine *engine, uint32_t border,
                        uint32_t (*next)(const tn_program *program, uint32_t value),
                        tn_storage_info *out_storage) {
    const tn_program *program = engine->program;
    const uint32_t size = out_storage->size;
    uint32_t value = border;
    for (uint32_t hop = 0; hop < HOPS_AT_MOST && value != TN_NO_VALUE; hop++) {
        const uint32_t other = next(program, value);
        if (other == TN_NO_VALUE) break;
        value = other;
    }
    tn_storage_info info = {.size = size};
    if (value != TN_NO_VALUE) {
        info.type = program->values[value].type;
        info.format = program->values[value].format;
        info.is_device = program->values[value].space == TN_SPACE_DEVICE;
        info.is_converted = !is_stored_alike(&program->values[value], &program->values[border]);
    }
    memcpy(out_storage, &info, size < sizeof(info) ? size : sizeof(info));
    return TN_OK;
}

static tn_status check_arguments(const char *kind, const tn_engine *engine, uint32_t index,
                                 uint32_t count, const tn_storage_info *out_storage) {
    if (!engine || !out_storage || out_storage->size < sizeof(out_storage->size))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the storage of an %s needs an engine and a struct with its size", kind);
    if (index < count) return TN_OK;
    return tn_fail(TN_ERROR_ARGUMENT, "there is no %s %u: there are %u", kind, index, count);
}

tn_status tn_engine_input_storage(const tn_engine *engine, uint32_t input,
                                  tn_storage_info *out_storage) {
    TN_TRY(check_arguments("input", engine, input, tn_engine_input_count(engine), out_storage));
    return answer(engine, engine->program->input_values[input], converted_to, out_storage);
}

tn_status tn_engine_output_storage(const tn_engine *engine, uint32_t output,
                                   tn_storage_info *out_storage) {
    TN_TRY(check_arguments("output", engine, output, tn_engine_output_count(engine), out_storage));
    return answer(engine, engine->program->output_values[output], converted_from, out_storage);
}
