/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row programs on the processor; see row_program.h. Results lie in rows of scratch memory of a
 * block's length, or in the output; the fewer rows a program needs, the longer its blocks are.
 */
#include "kit/elementwise/row_build.h"
#include <tenon/kit/known_steps.h>

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * rows */

enum { MOST_NUMBERS = 24, MOST_STEPS = 96 };

/* The output is a row, too: for results once no tensor is read any more, which may be the output.
 */
enum { OUTPUT_ROW = TN_ROW_PROGRAM_ROWS, ROW_COUNT };

/* For each step the last one that reads its result; answers the last one that reads a tensor. */
static uint32_t find_last(const tn_row_program *program, uint32_t *out_last) {
    uint32_t last_tensor = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_row_step *step = &program->steps[s];
        out_last[s] = s;
        for (uint32_t i = 0; i < TN_ROW_STEP_OPERANDS; i++) {
            if (step->operands[i] >= TN_ROW_PROGRAM_FIRST_RESULT)
                out_last[step->operands[i] - TN_ROW_PROGRAM_FIRST_RESULT] = s;
            if (step->operands[i] < TN_ROW_PROGRAM_TENSORS) last_tensor = s;
        }
    }
    return last_tensor;
}

/* The row of step s, which is wanted before step `end`: the output if it is free until then, else
 * the first of the scratch memory; ROW_COUNT: none. */
static uint32_t find_row(const tn_row_program *program, uint32_t s, uint32_t end,
                         const uint32_t *free_at) {
    const uint32_t final = program->step_count - 1;
    uint32_t row = 0;
    if (s == final || (free_at[OUTPUT_ROW] <= s && end <= final)) return OUTPUT_ROW;
    while (row < TN_ROW_PROGRAM_ROWS && free_at[row] > s)
        row++;
    return row < TN_ROW_PROGRAM_ROWS ? row : ROW_COUNT;
}

/* A map may work in place. Others may not: an operand that is one number for the whole block would
 * change under the step. */
static bool give_rows(tn_row_program *program) {
    uint32_t last[MOST_STEPS], rows[MOST_STEPS], free_at[ROW_COUNT] = {0};
    program->row_count = 0;
    free_at[OUTPUT_ROW] = find_last(program, last);
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_row_step *step = &program->steps[s];
        const uint32_t end = last[s] + (program->steps[last[s]].kind == TN_ROW_STEP_MAP ? 0 : 1);
        for (uint32_t i = 0; i < TN_ROW_STEP_OPERANDS; i++)
            if (step->operands[i] >= TN_ROW_PROGRAM_FIRST_RESULT)
                step->operands[i] = TN_ROW_PROGRAM_FIRST_RESULT +
                                    rows[step->operands[i] - TN_ROW_PROGRAM_FIRST_RESULT];
        const uint32_t row = find_row(program, s, end, free_at);
        if (row == ROW_COUNT) return false;
        rows[s] = row;
        free_at[row] = end;
        step->result = TN_ROW_PROGRAM_FIRST_RESULT + row;
        if (row != OUTPUT_ROW && row >= program->row_count) program->row_count = row + 1;
    }
    return true;
}

bool tn_row_program_schedule(tn_row_program *program, char *out_why, size_t why_bytes) {
    const tn_row_builder builder = {program, out_why, why_bytes, false, false};
    if (program->step_count > MOST_STEPS)
        return tn_row_build_fail(&builder, "it has too many steps");
    if (program->number_count > MOST_NUMBERS)
        return tn_row_build_fail(&builder, "it has too many numbers");
    if (!give_rows(program)) return tn_row_build_fail(&builder, "too many values live at once");
    const uint32_t rows = program->row_count > 0 ? program->row_count : 1;
    const uint32_t block = TN_ROW_PROGRAM_SCRATCH / rows / 16 * 16;
    program->block = block < TN_ROW_PROGRAM_BLOCK ? block : TN_ROW_PROGRAM_BLOCK;
    return true;
}

bool tn_row_program_make(const tn_call *call, tn_row_start start, uint32_t function,
                         tn_row_program *out_program, char *out_why, size_t why_bytes) {
    const tn_row_builder builder = {out_program, out_why, why_bytes, false, false};
    if (!tn_row_program_read(call, start, function, out_program, out_why, why_bytes)) return false;
    for (uint32_t i = 0; i < call->step_count; i++) {
        const tn_tensor *output = call->steps[i]->output;
        if (output && output->type != TN_F32 && output->type != TN_NONE)
            return tn_row_build_fail(&builder, "a step's type");
    }
    return tn_row_program_schedule(out_program, out_why, why_bytes);
}

/* ----------------------------------------------------------------------------------------------
 * running */

void tn_row_step_run(const tn_row_step *step, const tn_rows_level *level, int64_t count,
                     const float *const *operands, const int64_t *strides, float *y) {
    switch (step->kind) {
    case TN_ROW_STEP_MAP:
        level->maps[step->function](step->alpha, step->beta, count, operands[0], y);
        return;
    case TN_ROW_STEP_COMBINE:
        level->combines[step->function](count, operands[0], strides[0], operands[1], strides[1], y);
        return;
    case TN_ROW_STEP_CHOOSE:
        level->choose(count, operands, strides, y);
        return;
    case TN_ROW_STEP_ROW: {
        float copy[TN_ROW_PROGRAM_BLOCK]; /* a row function need not work in place */
        const float *x = operands[0];
        const uint64_t stride = (uint64_t)strides[0];
        if (x == y) x = memcpy(copy, x, (size_t)count * sizeof(*copy));
        step->row(step->params, (uint64_t)count, &x, &stride, y);
        return;
    }
    }
}

enum { VALUES = TN_ROW_PROGRAM_FIRST_RESULT + ROW_COUNT };

/* Values by number: where they lie, and whether they are rows (1) or one number (0). */
typedef struct block_values {
    const float *at[VALUES];
    int64_t strides[VALUES];
} block_values;

/* A step computes one element where all that it reads is one number. */
static void run_block(const tn_row_program *program, const tn_rows_level *level, int64_t count,
                      block_values *values, float *scratch, float *y) {
    int64_t is_row = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_row_step *step = &program->steps[s];
        const uint32_t *o = step->operands, row = step->result - TN_ROW_PROGRAM_FIRST_RESULT;
        const float *const operands[] = {values->at[o[0]], values->at[o[1]], values->at[o[2]]};
        const int64_t strides[] = {values->strides[o[0]], values->strides[o[1]],
                                   values->strides[o[2]]};
        float *result = row == OUTPUT_ROW ? y : scratch + row * program->block;
        is_row = strides[0] | strides[1] | strides[2];
        tn_row_step_run(step, level, is_row ? count : 1, operands, strides, result);
        values->at[step->result] = result;
        values->strides[step->result] = is_row;
    }
    for (int64_t i = 1; !is_row && i < count; i++)
        y[i] = y[0];
}

/* A step alone needs no rows and no blocks. */
static void run_one(const tn_row_program *program, const tn_rows_level *level, int64_t count,
                    const float *const *tensors, const int64_t *strides, float *y) {
    const tn_row_step *step = program->steps;
    const float *operands[TN_ROW_STEP_OPERANDS];
    int64_t steps[TN_ROW_STEP_OPERANDS], is_row = 0;
    if (step->kind == TN_ROW_STEP_MAP && strides[step->operands[0]]) { /* never of a number */
        level->maps[step->function](step->alpha, step->beta, count, tensors[step->operands[0]], y);
        return;
    }
    for (uint32_t i = 0; i < TN_ROW_STEP_OPERANDS; i++) {
        const uint32_t value = step->operands[i];
        const bool is_tensor = value < TN_ROW_PROGRAM_TENSORS;
        operands[i] =
            is_tensor ? tensors[value] : &program->numbers[value - TN_ROW_PROGRAM_FIRST_NUMBER];
        steps[i] = is_tensor ? strides[value] : 0;
        is_row |= steps[i];
    }
    tn_row_step_run(step, level, is_row ? count : 1, operands, steps, y);
    for (int64_t i = 1; !is_row && i < count; i++)
        y[i] = y[0];
}

void tn_row_program_run(const tn_row_program *program, const tn_rows_level *level, int64_t count,
                        const float *const *tensors, const int64_t *strides, float *scratch,
                        float *y) {
    if (program->step_count == 1 && program->steps[0].kind != TN_ROW_STEP_ROW) {
        run_one(program, level, count, tensors, strides, y);
        return;
    }
    block_values values;
    for (uint32_t i = 0; i < program->tensor_count; i++) {
        values.at[i] = tensors[i];
        values.strides[i] = strides[i];
    }
    for (uint32_t i = 0; i < program->number_count; i++) {
        values.at[TN_ROW_PROGRAM_FIRST_NUMBER + i] = &program->numbers[i];
        values.strides[TN_ROW_PROGRAM_FIRST_NUMBER + i] = 0;
    }
    const int64_t block = program->block;
    for (int64_t done = 0; done < count; done += block) {
        const int64_t some = count - done < block ? count - done : block;
        run_block(program, level, some, &values, scratch, y + done);
        for (uint32_t i = 0; i < program->tensor_count; i++)
            values.at[i] += some * values.strides[i];
    }
}

bool tn_row_program_keeps_zero(const tn_row_program *program) {
    static const float zero;
    const float *tensors[TN_ROW_PROGRAM_TENSORS];
    const int64_t strides[TN_ROW_PROGRAM_TENSORS] = {0};
    float scratch[TN_ROW_PROGRAM_SCRATCH], y = 1;
    for (uint32_t i = 0; i < TN_ROW_PROGRAM_TENSORS; i++)
        tensors[i] = &zero;
    tn_row_program_run(program, &tn_rows_baseline, 1, tensors, strides, scratch, &y);
    return y == 0;
}
