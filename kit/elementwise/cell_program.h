/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elementwise operator's expression as a row program (row_program.h) in the arithmetic that its
 * types have: rows of 32-bit floats where all of them fit, else of cells (cells.h). Elements of
 * other types are loaded block by block, and the result is stored once.
 */
#ifndef TN_KIT_ELEMENTWISE_CELL_PROGRAM_H
#define TN_KIT_ELEMENTWISE_CELL_PROGRAM_H

#include "kit/elementwise/cells.h"
#include "kit/elementwise/row_program.h"

typedef struct tn_cell_level {
    const tn_rows_level *rows;
    const tn_cells_level *cells;
} tn_cell_level;

extern const tn_cell_level tn_cell_baseline, tn_cell_avx2, tn_cell_avx512;

enum { TN_CELL_NUMBERS = 24, TN_CELL_BLOCK = 512 };

typedef union tn_cell_number {
    float f32;
    double f64;
    int64_t whole;
    int32_t whole_32;
    uint8_t truth;
} tn_cell_number;

typedef struct tn_cell_program {
    tn_cell cell;
    tn_cell_number numbers[TN_CELL_NUMBERS];
    tn_row_program program; /* the last: as many steps are kept as there are */
} tn_cell_program;

/* The program of a call without steps; false: its arithmetic is none of one kind of cells, or has
 * functions that these lack. */
bool tn_cell_program_make(const tn_call *call, tn_cell_program *out_program);
/* The callback `prepare`: it becomes call->state, which tn_kernel_state_destroy releases. */
tn_status tn_cell_program_prepare(tn_call *call);
/* Computes the output, inputs broadcast, on all threads. */
tn_status tn_cell_program_run(tn_call *call, const tn_cell_level *level);

#endif
