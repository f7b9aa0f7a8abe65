/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a program, once its steps are known, and running it; see row_program.h. */
#include "kit/elementwise/row_program.h"

#include <string.h>

/* Drops steps whose values nothing reads, and those after `value`, which is of the last step then.
 * `out_last` has for each step the last one that reads its value. */
static void drop_unread(tn_row_program *program, uint32_t value, uint32_t *out_last) {
    uint32_t places[TN_ROW_PROGRAM_STEPS] = {0}, count = 0;
    bool is_read[TN_ROW_PROGRAM_STEPS] = {false};
    is_read[value - TN_ROW_PROGRAM_FIRST_ROW] = true;
    for (uint32_t s = program->step_count; s-- > 0;)
        for (uint32_t i = 0; is_read[s] && i < program->steps[s].operand_count; i++)
            if (program->steps[s].operands[i] >= TN_ROW_PROGRAM_FIRST_ROW)
                is_read[program->steps[s].operands[i] - TN_ROW_PROGRAM_FIRST_ROW] = true;
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_row_step step = program->steps[s];
        if (!is_read[s]) continue;
        for (uint32_t i = 0; i < step.operand_count; i++) {
            if (step.operands[i] < TN_ROW_PROGRAM_FIRST_ROW) continue;
            const uint32_t maker_of = places[step.operands[i] - TN_ROW_PROGRAM_FIRST_ROW];
            step.operands[i] = TN_ROW_PROGRAM_FIRST_ROW + maker_of;
            out_last[maker_of] = count;
        }
        places[s] = count;
        step.result = TN_ROW_PROGRAM_FIRST_ROW + count;
        out_last[count] = count;
        program->steps[count++] = step;
    }
    program->step_count = count;
}

/* No step's result is in a row that it reads: a value that is one for the whole block would change
 * under it. */
static bool give_rows(tn_row_program *program, const uint32_t *last) {
    uint32_t rows[TN_ROW_PROGRAM_STEPS], free_at[TN_ROW_PROGRAM_ROWS] = {0};
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_row_step *step = &program->steps[s];
        uint32_t row = 0;
        for (uint32_t i = 0; i < step->operand_count; i++)
            if (step->operands[i] >= TN_ROW_PROGRAM_FIRST_ROW)
                step->operands[i] =
                    TN_ROW_PROGRAM_FIRST_ROW + rows[step->operands[i] - TN_ROW_PROGRAM_FIRST_ROW];
        while (row < TN_ROW_PROGRAM_ROWS && free_at[row] > s)
            row++;
        if (row == TN_ROW_PROGRAM_ROWS) return false;
        rows[s] = row;
        free_at[row] = last[s] + 1;
        step->result = TN_ROW_PROGRAM_FIRST_ROW + row;
    }
    return true;
}

bool tn_row_program_finish(tn_row_program *program, uint32_t value) {
    uint32_t last[TN_ROW_PROGRAM_STEPS] = {0};
    drop_unread(program, value, last);
    return give_rows(program, last);
}

/* ----------------------------------------------------------------------------------------------
 * running */

/* `count` elements of one step, or one where all that it reads is one number. */
static void run_step(const tn_row_step *step, const tn_rows_level *level, int64_t count,
                     const float *const *values, const int64_t *strides, float *y) {
    const uint32_t *o = step->operands;
    switch (step->kind) {
    case TN_ROW_STEP_MAP:
        level->maps[step->function](step->alpha, step->beta, count, values[o[0]], y);
        return;
    case TN_ROW_STEP_COMBINE:
        level->combines[step->function](count, values[o[0]], strides[o[0]], values[o[1]],
                                        strides[o[1]], y);
        return;
    case TN_ROW_STEP_CHOOSE: {
        const float *const rows[3] = {values[o[0]], values[o[1]], values[o[2]]};
        const int64_t steps[3] = {strides[o[0]], strides[o[1]], strides[o[2]]};
        level->choose(count, rows, steps, y);
        return;
    }
    case TN_ROW_STEP_ROW: {
        float copy[TN_ROW_PROGRAM_BLOCK]; /* a row function need not work in place */
        const float *x = values[o[0]];
        const uint64_t stride = (uint64_t)strides[o[0]];
        if (x == y) x = memcpy(copy, x, (size_t)count * sizeof(*copy));
        step->row(step->params, (uint64_t)count, &x, &stride, y);
        return;
    }
    }
}

void tn_row_program_run(const tn_row_program *program, const tn_rows_level *level, int64_t count,
                        const float *const *tensors, const int64_t *strides,
                        float (*rows)[TN_ROW_PROGRAM_BLOCK], float *y) {
    const float *values[TN_ROW_PROGRAM_VALUES];
    int64_t steps[TN_ROW_PROGRAM_VALUES];
    bool is_one = false;
    for (uint32_t i = 0; i < program->tensor_count; i++) {
        values[i] = tensors[i];
        steps[i] = strides[i];
    }
    for (uint32_t i = 0; i < program->number_count; i++) {
        values[TN_ROW_PROGRAM_FIRST_NUMBER + i] = &program->numbers[i];
        steps[TN_ROW_PROGRAM_FIRST_NUMBER + i] = 0;
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_row_step *step = &program->steps[s];
        float *result =
            s + 1 == program->step_count ? y : rows[step->result - TN_ROW_PROGRAM_FIRST_ROW];
        is_one = true;
        for (uint32_t i = 0; i < step->operand_count; i++)
            is_one = is_one && steps[step->operands[i]] == 0;
        run_step(step, level, is_one ? 1 : count, values, steps, result);
        values[step->result] = result;
        steps[step->result] = !is_one;
    }
    for (int64_t i = 1; is_one && i < count; i++)
        y[i] = y[0];
}
