/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a program's values, and of those of its ports; see program_check.h. */
#include "base/status.h"
#include "plugin/sequences/kinds.h"
#include "program/calibration_table.h"
#include "program/check/program_check.h"
#include "tensor/quantization.h"

#include <inttypes.h>
#include <string.h>

/* As callers provide it, and constants: these an engine has in both memories. */
static bool is_own_linear(const tn_program_value *value, const tn_graph_tensor *tensor) {
    return (value->space == TN_SPACE_HOST || tensor->is_constant) && value->format == TN_LINEAR &&
           !value->quantization &&
           (value->type == tensor->type || value->type == TN_NONE || tensor->type == TN_NONE);
}

/* One scale that numbers can be divided by. */
static bool is_quantization_sound(const tn_program_value *value) {
    const tn_quantization *quantization = value->quantization;
    if (!quantization) return true;
    return (value->type == TN_I8 || value->type == TN_U8) &&
           tn_quantization_is_plain(quantization) &&
           tn_calibration_table_is_scale((float)tn_quantization_scale(quantization, 0));
}

bool tn_program_has_device(const tn_program *program) {
    return program->device && strcmp(program->device, "cpu") != 0;
}

static tn_status check_each(const tn_program *program, const tn_graph *graph, bool *is_made) {
    for (uint32_t v = 0; v < program->value_count; v++) {
        const tn_program_value *value = &program->values[v];
        if (value->tensor >= graph->tensor_count || !tn_format_is_valid(value->format) ||
            value->space > (tn_program_has_device(program) ? TN_SPACE_DEVICE : TN_SPACE_HOST) ||
            (value->type != TN_NONE && !tn_type_is_valid(value->type)))
            return tn_fail(TN_ERROR_FORMAT, "value %" PRIu32 " of the program is damaged", v);
        const tn_graph_tensor *tensor = &graph->tensors[value->tensor];
        if ((value->type == TN_STRING || tensor->type == TN_STRING) &&
            (value->space != TN_SPACE_HOST || value->format != TN_LINEAR))
            return tn_fail(TN_ERROR_FORMAT,
                           "value %" PRIu32 " of the program is of strings, which are linear and "
                           "in the host's memory",
                           v);
        if (tn_graph_kind(graph, value->tensor) &&
            (value->format != TN_LINEAR || value->space != TN_SPACE_HOST || value->quantization))
            return tn_fail(TN_ERROR_FORMAT,
                           "value %" PRIu32
                           " of the program is %s, stored as only dense tensors are",
                           v, tn_kind_name(tn_graph_kind(graph, value->tensor)));
        if (!is_quantization_sound(value) || !tn_program_value_fits(value, tensor->type))
            return tn_fail(TN_ERROR_FORMAT,
                           "value %" PRIu32 " of the program has a damaged type or scale", v);
        if ((tensor->is_constant || tensor->is_input) && is_own_linear(value, tensor))
            is_made[v] = true;
    }
    return TN_OK;
}

static bool is_port_value(const tn_program *program, const tn_graph *graph, uint32_t value,
                          tn_tensor_id tensor) {
    return value < program->value_count && program->values[value].tensor == tensor &&
           program->values[value].space == TN_SPACE_HOST &&
           is_own_linear(&program->values[value], &graph->tensors[tensor]);
}

static tn_status check_ports(const tn_program *program, const tn_graph *graph) {
    for (size_t i = 0; i < graph->input_count; i++)
        if (!is_port_value(program, graph, program->input_values[i], graph->inputs[i]))
            return tn_fail(TN_ERROR_FORMAT, "the program has no value for input %zu", i);
    for (size_t i = 0; i < graph->output_count; i++)
        if (!is_port_value(program, graph, program->output_values[i], graph->outputs[i]))
            return tn_fail(TN_ERROR_FORMAT, "the program has no value for output %zu", i);
    return TN_OK;
}

tn_status tn_program_check_values(const tn_program *program, const tn_graph *graph,
                                  bool *out_is_made) {
    TN_TRY(check_each(program, graph, out_is_made));
    return check_ports(program, graph);
}
