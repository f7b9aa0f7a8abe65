/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that are rows of contiguous elements at one distance, which only kernels that say
 * `strided` read and write (tenon/plugin/view.h). Guarded and isolated runs have none: they move
 * tensors as whole blocks of bytes.
 */
#include "run/sharing/sharing.h"

#include <tenon/plugin/view.h>

/* Whether every port of the list that has the value is in the set. */
static bool are_in(uint64_t set, const uint32_t *values, uint32_t count, uint32_t value) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] == value && (i >= 64 || !(set >> i & 1))) return false;
    return true;
}

static bool step_allows(const tn_context *context, uint32_t index, uint32_t value) {
    const tn_engine_step *own = &context->engine->steps[index];
    const tn_program_step *step = own->step;
    if (!tn_program_has_value(step->inputs, step->input_count, value) &&
        !tn_program_has_value(step->outputs, step->output_count, value) &&
        !tn_program_has_value(step->operands, step->operand_count, value))
        return true;
    return step->kind == TN_STEP_KERNEL && !step->is_host && step->kernel &&
           !tn_program_has_value(step->operands, step->operand_count, value) &&
           are_in(own->strided_inputs, step->inputs, step->input_count, value) &&
           are_in(own->strided_outputs, step->outputs, step->output_count, value);
}

/* A row is all of one index of axis 0; channels last, the channels of one pixel. */
static bool are_rows(const tn_tensor_storage *tensor, const tn_window *window) {
    const bool is_last = tensor->tensor.format == TN_NHWC;
    if (window->pitch_bytes % TN_VIEW_ROW_BYTES != 0 || tensor->shape.rank < 2) return false;
    return is_last ? window->row_bytes ==
                         tn_type_storage(tensor->tensor.type, (size_t)tensor->shape.extents[1])
                   : window->row_count == (size_t)tensor->shape.extents[0];
}

bool tn_strided_rows_allowed(const tn_context *context, const tn_shape_state *state, uint32_t value,
                             uint32_t except, const tn_window *window) {
    const tn_engine *engine = context->engine;
    if (context->checked || context->isolation || !are_rows(&state->tensors[value], window))
        return false;
    for (size_t i = 0; i < engine->graph->output_count; i++)
        if (engine->program->output_values[i] == value) return false;
    for (uint32_t s = 0; s < engine->program->step_count; s++)
        if (s != except && !step_allows(context, s, value)) return false;
    return true;
}

bool tn_strided_rows_compose(const tn_shape_state *state, uint32_t larger,
                             tn_window *inout_window) {
    const tn_window *outer = &state->rows[larger];
    if (!tn_strided_rows_is(state, larger) || inout_window->row_count == 0) return true;
    if (inout_window->row_count == outer->row_count &&
        inout_window->pitch_bytes == outer->row_bytes) {
        inout_window->pitch_bytes = outer->pitch_bytes;
        return true;
    }
    const size_t row = inout_window->offset_bytes / outer->row_bytes,
                 within = inout_window->offset_bytes % outer->row_bytes;
    if (inout_window->row_count != 1 || inout_window->row_bytes > outer->row_bytes - within)
        return false;
    inout_window->offset_bytes = row * outer->pitch_bytes + within;
    return true;
}

void tn_strided_rows_lay(tn_shape_state *state, uint32_t value, uint32_t larger,
                         const tn_window *window) {
    tn_tensor_storage *part = &state->tensors[value];
    if (window->row_count <= 1) return;
    state->rows[value] = *window;
    for (uint32_t i = 0; i < part->shape.rank; i++)
        part->strides[i] = state->tensors[larger].strides[i];
    part->tensor.bytes = (window->row_count - 1) * window->pitch_bytes + window->row_bytes;
}
