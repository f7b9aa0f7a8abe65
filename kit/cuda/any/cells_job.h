/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators of any types on CUDA: their expressions as programs over cells
 * (kit/elementwise/cell_program.h), which the GPU interprets; and casts. For C and CUDA C++.
 */
#ifndef TN_KIT_CUDA_ANY_CELLS_JOB_H
#define TN_KIT_CUDA_ANY_CELLS_JOB_H

#include "kit/cuda/any/each.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TN_CUDA_CELLS_TENSORS = 8,
    TN_CUDA_CELLS_NUMBERS = 12,
    TN_CUDA_CELLS_STEPS = 24,
    TN_CUDA_CELLS_RESULTS = 13,
    /* Values: tensors, numbers, results. */
    TN_CUDA_CELLS_FIRST_NUMBER = TN_CUDA_CELLS_TENSORS,
    TN_CUDA_CELLS_FIRST_RESULT = TN_CUDA_CELLS_FIRST_NUMBER + TN_CUDA_CELLS_NUMBERS,
    TN_CUDA_CELLS_VALUES = TN_CUDA_CELLS_FIRST_RESULT + TN_CUDA_CELLS_RESULTS
};
typedef enum tn_cuda_cell { TN_CUDA_CELL_F64, TN_CUDA_CELL_I64, TN_CUDA_CELL_U64 } tn_cuda_cell;
enum { TN_CUDA_CELLS_MAP, TN_CUDA_CELLS_COMBINE, TN_CUDA_CELLS_CHOOSE };

typedef struct tn_cuda_cells_step {
    uint8_t kind, function, operands[3], result; /* TN_CUDA_CELLS_MAP ...; of cells.h */
} tn_cuda_cells_step;

typedef struct tn_cuda_cells_job {
    tn_cuda_cell cell;
    uint32_t tensor_count, number_count, step_count;
    union {
        double real;
        int64_t whole;
    } numbers[TN_CUDA_CELLS_NUMBERS];
    tn_cuda_cells_step steps[TN_CUDA_CELLS_STEPS];
    double divisor; /* by which the result is divided, in F64 */
    /* of a run */
    const void *from[TN_CUDA_CELLS_TENSORS];
    tn_type types[TN_CUDA_CELLS_TENSORS], y_type;
    void *y;
    uint32_t rank, count;
    tn_divider extents[TN_MAX_RANK];
    int64_t strides[TN_CUDA_CELLS_TENSORS][TN_MAX_RANK];
} tn_cuda_cells_job;
cudaError_t tn_cuda_cells_launch(const void *job, cudaStream_t stream);
/* Whether the interpreter has this function of these cells. */
bool tn_cuda_cells_has(tn_cuda_cell cell, uint32_t kind, uint32_t function);

/* Kernels of operators that are a combination of any number of tensors (variadic.h): `user` points
 * at this. */
typedef struct tn_cuda_variadic_user {
    uint32_t combine;
    bool is_mean;
} tn_cuda_variadic_user;
tn_status tn_cuda_variadic_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_cuda_variadic_run(tn_call *call) TN_NOEXCEPT;

/* `count` elements in another type, as kit/operator/cast.h has it. */
typedef struct tn_cuda_cast_job {
    const void *x;
    void *y;
    tn_type x_type, y_type;
    int64_t count;
} tn_cuda_cast_job;
cudaError_t tn_cuda_cast_launch(const void *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
