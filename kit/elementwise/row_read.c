/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row programs from what operators declare; see row_program.h. Every step has a result of its own
 * here, and those that nothing reads are dropped at the end; row_program_run.c gives results the
 * rows that they lie in.
 */
#include "kit/elementwise/row_program.h"
#include "kit/elementwise/row_build.h"
#include <tenon/kit/epilogue.h>

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * the steps after the first value */

static bool add_row(const tn_row_builder *builder, const tn_known_step *link, uint32_t x,
                    uint32_t *out_value) {
    const tn_row_step step = {
        .kind = TN_ROW_STEP_ROW, .operands = {x, x, x}, .row = link->row, .params = link->params};
    return tn_row_build_step(builder, step, out_value);
}

/* An operator of its own: the value so far comes in at one of its inputs, the operand at another.
 * Its row function is called where its expression is none of a program's. */
static bool add_declared(const tn_row_builder *builder, const tn_known_step *link, uint32_t x,
                         uint32_t operand, uint32_t *out_value) {
    tn_row_inputs from = {.op = link->op, .params = link->params};
    if (link->row && !link->expression) return add_row(builder, link, x, out_value);
    if (!from.op || from.op->input_count > TN_ROW_PROGRAM_TENSORS ||
        link->input >= from.op->input_count ||
        (link->operand != UINT32_MAX && link->operand_input >= from.op->input_count))
        return tn_row_build_fail(builder, "a step says not whose it is");
    if (!link->expression && link->kind == TN_KNOWN_ROW)
        return tn_row_build_fail(builder, "a step has no row function and no expression");
    from.count = from.op->input_count;
    for (uint32_t i = 0; i < from.count; i++)
        from.values[i] = UINT32_MAX;
    from.values[link->input] = x;
    if (link->operand != UINT32_MAX) from.values[link->operand_input] = operand;
    return tn_row_build_expression(builder, link->expression, &from, out_value) ||
           (link->kind == TN_KNOWN_ROW && link->row && add_row(builder, link, x, out_value));
}

static bool add_link(const tn_row_builder *builder, const tn_known_step *link,
                     uint32_t first_operand, uint32_t *inout_value) {
    const uint32_t x = *inout_value, operand = first_operand + link->operand;
    switch (link->kind) {
    case TN_KNOWN_BIAS:
    case TN_KNOWN_RESIDUAL:
        return tn_row_build_combine(builder, TN_COMBINE_ADD, x, operand, inout_value);
    case TN_KNOWN_SCALE:
        return tn_row_build_combine(builder, TN_COMBINE_MUL, x, operand, inout_value);
    case TN_KNOWN_ACTIVATION:
        if (link->activation >= TN_MAP_EXP || !tn_rows_baseline.maps[link->activation])
            return tn_row_build_fail(builder,
                                     "there is no expression and no row function of activation %u",
                                     link->activation);
        return tn_row_build_map(builder, link->activation, link->alpha, link->beta, x, inout_value);
    case TN_KNOWN_ROW:
    case TN_KNOWN_EXPRESSION:
        return add_declared(builder, link, x, operand, inout_value);
    default:
        return tn_row_build_fail(builder, "a step of kind %u", link->kind);
    }
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

/* The first value, and the number of tensors before the operands. */
static bool add_start(const tn_row_builder *builder, const tn_call *call, tn_row_start start,
                      uint32_t function, uint32_t *out_count, uint32_t *out_value) {
    tn_row_inputs from = {.op = call->op, .params = call->params, .count = call->input_count};
    *out_count = *out_value = 0;
    if (start == TN_ROW_START_VALUE) {
        *out_count = 1;
        return call->operand_count == 0 || tn_row_build_fail(builder, "its epilogue has operands");
    }
    if (call->input_count > TN_ROW_PROGRAM_TENSORS || call->input_count > call->op->input_count)
        return tn_row_build_fail(builder, "it has too many inputs");
    for (uint32_t i = 0; i < call->input_count; i++)
        from.values[i] = call->inputs[i] ? (*out_count)++ : UINT32_MAX;
    return start == TN_ROW_START_COMBINE
               ? tn_row_build_combine(builder, function, 0, 1, out_value)
               : tn_row_build_expression(builder, call->op->expression, &from, out_value);
}

/* Drops steps whose results nothing reads; `value` is the last one's then. */
static void drop_unread(tn_row_program *program, uint32_t value) {
    uint32_t renamed[TN_ROW_PROGRAM_STEPS], count = 0;
    bool is_read[TN_ROW_PROGRAM_STEPS] = {false};
    is_read[value - TN_ROW_PROGRAM_FIRST_RESULT] = true;
    for (uint32_t s = program->step_count; s-- > 0;)
        for (uint32_t i = 0; is_read[s] && i < TN_ROW_STEP_OPERANDS; i++)
            if (program->steps[s].operands[i] >= TN_ROW_PROGRAM_FIRST_RESULT)
                is_read[program->steps[s].operands[i] - TN_ROW_PROGRAM_FIRST_RESULT] = true;
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_row_step step = program->steps[s];
        if (!is_read[s]) continue;
        for (uint32_t i = 0; i < TN_ROW_STEP_OPERANDS; i++)
            if (step.operands[i] >= TN_ROW_PROGRAM_FIRST_RESULT)
                step.operands[i] = renamed[step.operands[i] - TN_ROW_PROGRAM_FIRST_RESULT];
        step.result = renamed[s] = TN_ROW_PROGRAM_FIRST_RESULT + count;
        program->steps[count++] = step;
    }
    program->step_count = count;
}

bool tn_row_program_read(const tn_call *call, tn_row_start start, uint32_t function,
                         tn_row_program *out_program, char *out_why, size_t why_bytes) {
    const tn_row_builder builder = {out_program, out_why, why_bytes,
                                    start != TN_ROW_START_OPERATIONS,
                                    start == TN_ROW_START_OPERATIONS};
    tn_known_steps steps;
    uint32_t first_operand = 0, value = 0;
    out_program->number_count = out_program->step_count = 0;
    if (!add_start(&builder, call, start, function, &first_operand, &value)) return false;
    out_program->tensor_count = first_operand + call->operand_count;
    if (out_program->tensor_count > TN_ROW_PROGRAM_TENSORS)
        return tn_row_build_fail(&builder, "it has too many tensors");
    if (!tn_known_steps_read(call, &steps))
        return tn_row_build_fail(&builder, "a step that is not known");
    for (uint32_t i = 0; i < steps.count; i++)
        if (!add_link(&builder, &steps.items[i], first_operand, &value)) return false;
    if (value < TN_ROW_PROGRAM_FIRST_RESULT && !tn_row_build_copy(&builder, value, &value))
        return false;
    drop_unread(out_program, value);
    return true;
}
