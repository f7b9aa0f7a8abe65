/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elementwise node and the chain after it as a program over rows of floats: what the operators
 * declare as expressions (expression.h), step by step, each a function of rows.h on a block that
 * stays in the cache. The walk over tensors is layers/fused's matter.
 */
#ifndef TN_KIT_ELEMENTWISE_ROW_PROGRAM_H
#define TN_KIT_ELEMENTWISE_ROW_PROGRAM_H

#include <tenon/kit/rows.h>

enum {
    TN_ROW_PROGRAM_TENSORS = 6, /* inputs and operands at most */
    TN_ROW_PROGRAM_NUMBERS = 24,
    TN_ROW_PROGRAM_ROWS = 12, /* values that live at once */
    TN_ROW_PROGRAM_STEPS = 96,
    TN_ROW_PROGRAM_BLOCK = 512, /* floats of a block */
    /* Values have numbers: tensors first, then numbers, then rows of the program's own. */
    TN_ROW_PROGRAM_FIRST_NUMBER = TN_ROW_PROGRAM_TENSORS,
    TN_ROW_PROGRAM_FIRST_ROW = TN_ROW_PROGRAM_FIRST_NUMBER + TN_ROW_PROGRAM_NUMBERS,
    TN_ROW_PROGRAM_VALUES = TN_ROW_PROGRAM_FIRST_ROW + TN_ROW_PROGRAM_ROWS
};

typedef enum tn_row_step_kind {
    TN_ROW_STEP_MAP,
    TN_ROW_STEP_COMBINE,
    TN_ROW_STEP_CHOOSE,
    TN_ROW_STEP_ROW /* a row function, of an operator without an expression */
} tn_row_step_kind;

typedef struct tn_row_step {
    tn_row_step_kind kind;
    uint32_t function; /* MAP, COMBINE: of rows.h */
    float alpha, beta; /* MAP */
    uint32_t operand_count, operands[3], result;
    tn_row_function row; /* ROW */
    const void *params;
} tn_row_step;

typedef struct tn_row_program {
    uint32_t tensor_count, number_count, step_count;
    float numbers[TN_ROW_PROGRAM_NUMBERS];
    tn_row_step steps[TN_ROW_PROGRAM_STEPS]; /* the last one makes the output */
} tn_row_program;

/* Its tensors are those of tn_epilogue_tensors. False: it has no such program, and `out_why` (of
 * `why_bytes`, may be null) says why. Row functions' parameters must live as long as the program.
 */
bool tn_row_program_make(const tn_call *call, tn_row_program *out_program, char *out_why,
                         size_t why_bytes);

/* The same, but every step of the text is a step of the program: none of the functions that are
 * known as a whole. bench/expression_kernels.c compares the two. */
bool tn_row_program_make_steps(const tn_call *call, tn_row_program *out_program, char *out_why,
                               size_t why_bytes);

/* For who makes one: `value` is the output, every step's result is FIRST_ROW and its own number.
 * Drops steps that nothing reads and gives out rows; false: too few. */
bool tn_row_program_finish(tn_row_program *program, uint32_t value);

/* Computes `count` elements, at most TN_ROW_PROGRAM_BLOCK. `strides` (by tensor) are 0 or 1; y may
 * be one of the tensors. `rows` is scratch, one a thread. */
void tn_row_program_run(const tn_row_program *program, const tn_rows_level *level, int64_t count,
                        const float *const *tensors, const int64_t *strides,
                        float (*rows)[TN_ROW_PROGRAM_BLOCK], float *y);

#endif
