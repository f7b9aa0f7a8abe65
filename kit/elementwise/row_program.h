/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of elementwise steps as a program, read once from what the builder hands a kernel: an
 * elementwise node by its expression, or the epilogue after a kernel's own value. Each step is a
 * function of tenon/kit/rows.h over earlier values. On the processor programs run over rows of
 * floats (row_program_run.c), block by block in the cache; on CUDA their steps are printed as
 * source (kit/cuda/fused).
 */
#ifndef TN_KIT_ELEMENTWISE_ROW_PROGRAM_H
#define TN_KIT_ELEMENTWISE_ROW_PROGRAM_H

#include <tenon/kit/broadcast.h>
#include <tenon/kit/rows.h>
#include "kit/operator/kernel_memory.h"

enum {
    TN_ROW_PROGRAM_TENSORS = 8, /* inputs and operands at most */
    TN_ROW_PROGRAM_NUMBERS = 128,
    TN_ROW_PROGRAM_STEPS = 512,
    TN_ROW_STEP_OPERANDS = 3,
    /* Values have numbers: tensors first, then numbers, then the results of steps. */
    TN_ROW_PROGRAM_FIRST_NUMBER = TN_ROW_PROGRAM_TENSORS,
    TN_ROW_PROGRAM_FIRST_RESULT = TN_ROW_PROGRAM_FIRST_NUMBER + TN_ROW_PROGRAM_NUMBERS
};

typedef enum tn_row_step_kind {
    TN_ROW_STEP_MAP,
    TN_ROW_STEP_COMBINE,
    TN_ROW_STEP_CHOOSE,
    TN_ROW_STEP_ROW /* a row function, of an operator without an expression */
} tn_row_step_kind;

typedef struct tn_row_step {
    tn_row_step_kind kind;
    uint32_t function;                       /* MAP, COMBINE: of rows.h */
    float alpha, beta;                       /* MAP */
    uint32_t operands[TN_ROW_STEP_OPERANDS]; /* one or two again where it has fewer */
    uint32_t result;
    tn_row_function row; /* ROW */
    const void *params;
} tn_row_step;

typedef struct tn_row_program {
    uint32_t tensor_count, number_count, step_count;
    uint32_t row_count, block; /* of tn_row_program_schedule */
    float numbers[TN_ROW_PROGRAM_NUMBERS];
    tn_row_step steps[TN_ROW_PROGRAM_STEPS]; /* the last one computes the output */
} tn_row_program;

/* What a program begins with. */
typedef enum tn_row_start {
    TN_ROW_START_EXPRESSION, /* the node's expression over its inputs */
    TN_ROW_START_OPERATIONS, /* the same for cells.h: its functions of integers, and none for whole
                                expressions */
    TN_ROW_START_COMBINE,    /* `function` of rows.h over the first two inputs */
    TN_ROW_START_VALUE       /* tensor 0: what the kernel has computed */
} tn_row_start;

/* Reads the node's value and the call's steps after it. The tensors are those of
 * tn_epilogue_tensors, but for VALUE: there is one, and no operand. Result s is value FIRST_RESULT
 * + s. False: it has no such program, and `out_why` (of `why_bytes`, may be null) says why. Row
 * functions' parameters must outlive the program. */
bool tn_row_program_read(const tn_call *call, tn_row_start start, uint32_t function,
                         tn_row_program *out_program, char *out_why, size_t why_bytes);

/* --- on the processor --- */

enum {
    TN_ROW_PROGRAM_ROWS = 12, /* results that live at once */
    TN_ROW_PROGRAM_BLOCK = 2048,
    TN_ROW_PROGRAM_SCRATCH = 6144 /* floats that a thread needs */
};

/* Gives results rows of the scratch memory; false, with a reason: it is too long to run. */
bool tn_row_program_schedule(tn_row_program *program, char *out_why, size_t why_bytes);

/* Both of them. */
bool tn_row_program_make(const tn_call *call, tn_row_start start, uint32_t function,
                         tn_row_program *out_program, char *out_why, size_t why_bytes);

/* Computes `count` elements. `strides` (by tensor) are 0 or 1; y may be one of the tensors. */
void tn_row_program_run(const tn_row_program *program, const tn_rows_level *level, int64_t count,
                        const float *const *tensors, const int64_t *strides, float *scratch,
                        float *y);

/* The output's elements on all threads: `rows`, begun, has the tensors as they are broadcast. */
tn_status tn_row_program_run_broadcast(tn_call *call, const tn_row_program *program,
                                       const tn_rows_level *level, const tn_broadcast_rows *rows,
                                       const float *const *tensors, int64_t elements);

/* Whether zeros become zero, so that padded lanes stay what they must be. */
bool tn_row_program_keeps_zero(const tn_row_program *program);

/* The callback `prepare` of kernels that run a program: it becomes call->state, which
 * tn_kernel_state_destroy releases. */
tn_status tn_row_program_prepare(tn_call *call, tn_row_start start, uint32_t function);

/* --- epilogues: the steps after a value that a kernel has computed --- */

/* What such kernels list; rows.h has all of these activations. */
#define TN_ROW_ABSORBS TN_FACET_ACTIVATION "(" TN_ACTIVATIONS_1_0 "), " TN_FACET_ROW

bool tn_row_epilogue_accepts(const tn_call *call);
/* Whether the value that zero becomes is zero. */
bool tn_row_epilogue_keeps_zero(const tn_call *call, float zero);
/* call->state becomes the program, as above; null: there are no steps. */
tn_status tn_row_epilogue_prepare(tn_call *call) TN_NOEXCEPT;
/* Does it on `count` floats in place, best while they are in the cache: TN_ROW_PROGRAM_BLOCK at a
 * time. */
void tn_row_epilogue_run(const tn_row_program *epilogue, const tn_rows_level *level, int64_t count,
                         float *row);

#endif
