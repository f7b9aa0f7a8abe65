/* SPDX-License-Identifier: Apache-2.0 */
/* A row program while it is read (row_program.h): its values, and expressions as steps. */
#ifndef TN_KIT_ELEMENTWISE_ROW_BUILD_H
#define TN_KIT_ELEMENTWISE_ROW_BUILD_H

#include "kit/elementwise/row_program.h"

typedef struct tn_row_builder {
    tn_row_program *program;
    char *why;
    size_t why_bytes;
    bool has_patterns;
    bool has_cells; /* functions of cells.h, too */
} tn_row_builder;

/* Whether it is a function of cells.h alone, which rows of floats do not have. */
bool tn_row_step_is_of_cells(const tn_row_step *step);
/* Notes why; answers false. */
bool tn_row_build_fail(const tn_row_builder *builder, const char *format, ...) TN_PRINTF(2, 3);

/* Values: a number, and the result of a step, which is folded where its operands are numbers. */
bool tn_row_build_number(const tn_row_builder *builder, double number, uint32_t *out_value);
bool tn_row_build_step(const tn_row_builder *builder, tn_row_step step, uint32_t *out_value);
bool tn_row_build_map(const tn_row_builder *builder, uint32_t function, float alpha, float beta,
                      uint32_t x, uint32_t *out_value);
bool tn_row_build_combine(const tn_row_builder *builder, uint32_t function, uint32_t a, uint32_t b,
                          uint32_t *out_value);
/* The value again as the result of a step. */
bool tn_row_build_copy(const tn_row_builder *builder, uint32_t value, uint32_t *out_value);

/* An operator with its node's parameters, and the values of its inputs; UINT32_MAX: not there. */
typedef struct tn_row_inputs {
    const tn_operator *op;
    const void *params;
    uint32_t count;
    uint32_t values[TN_ROW_PROGRAM_TENSORS];
} tn_row_inputs;

/* The value of an expression over them; null: there is none. */
bool tn_row_build_expression(const tn_row_builder *builder, const char *text,
                             const tn_row_inputs *inputs, uint32_t *out_value);

/* Computes `count` elements of one step from its operands, at most TN_ROW_PROGRAM_BLOCK of a row
 * function; strides are 0 or 1. */
void tn_row_step_run(const tn_row_step *step, const tn_rows_level *level, int64_t count,
                     const float *const *operands, const int64_t *strides, float *y);

#endif
