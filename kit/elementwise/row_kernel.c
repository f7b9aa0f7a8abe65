/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels around row programs: their state, the output's elements on all threads, and epilogues;
 * see row_program.h. */
#include "kit/elementwise/row_program.h"

#include <stddef.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * state */

/* As many steps are kept as there are. */
tn_status tn_row_program_prepare(tn_call *call, tn_row_start start, uint32_t function) {
    tn_row_program program;
    char why[300] = "";
    if (!tn_row_program_make(call, start, function, &program, why, sizeof(why)))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%s", why);
    const size_t bytes =
        offsetof(tn_row_program, steps) + program.step_count * sizeof(program.steps[0]);
    TN_TRY(tn_kernel_state_create(call, bytes));
    memcpy(call->state, &program, bytes);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * broadcast tensors */

typedef struct broadcast_job {
    const tn_row_program *program;
    const tn_rows_level *level;
    const tn_broadcast_rows *rows; /* at the first row */
    const float *const *tensors;
    float *y;
    float *scratch;              /* the thread's */
    tn_combine_function combine; /* of a program that is nothing else */
} broadcast_job;

static void compute_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                        int64_t count) {
    const broadcast_job *job = user;
    const float *tensors[TN_BROADCAST_MAX_INPUTS];
    for (uint32_t i = 0; i < job->program->tensor_count; i++)
        tensors[i] = job->tensors[i] + rows->offset[i] + first * rows->stride[i];
    tn_row_program_run(job->program, job->level, count, tensors, rows->stride, job->scratch,
                       job->y + rows->output_offset + first);
}

/* Two tensors and one step, without the rest: rows may be short. */
static void combine_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                        int64_t count) {
    const broadcast_job *job = user;
    const float *a = job->tensors[0] + rows->offset[0] + first * rows->stride[0];
    const float *b = job->tensors[1] + rows->offset[1] + first * rows->stride[1];
    job->combine(count, a, rows->stride[0], b, rows->stride[1],
                 job->y + rows->output_offset + first);
}

static tn_status combine_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const broadcast_job *job = user;
    (void)thread;
    tn_broadcast_elements(job->rows, begin, end, combine_row, job);
    return TN_OK;
}

/* An item is an element of the output. */
static tn_status compute_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    _Alignas(64) float scratch[TN_ROW_PROGRAM_SCRATCH];
    broadcast_job job = *(const broadcast_job *)user;
    job.scratch = scratch;
    (void)thread;
    tn_broadcast_elements(job.rows, begin, end, compute_row, &job);
    return TN_OK;
}

tn_status tn_row_program_run_broadcast(tn_call *call, const tn_row_program *program,
                                       const tn_rows_level *level, const tn_broadcast_rows *rows,
                                       const float *const *tensors, int64_t elements) {
    enum { GRAIN = 16384 };
    const tn_row_step *first = program->steps;
    const bool is_combination = program->step_count == 1 && first->kind == TN_ROW_STEP_COMBINE &&
                                first->operands[0] == 0 && first->operands[1] == 1;
    broadcast_job job = {.program = program,
                         .level = level,
                         .rows = rows,
                         .tensors = tensors,
                         .y = call->outputs[0]->data,
                         .combine = is_combination ? level->combines[first->function] : NULL};
    return call->host->parallel_for(call, elements, GRAIN,
                                    is_combination ? combine_elements : compute_elements, &job);
}

/* ----------------------------------------------------------------------------------------------
 * epilogues */

bool tn_row_epilogue_accepts(const tn_call *call) {
    tn_row_program program;
    return call->step_count == 0 ||
           tn_row_program_make(call, TN_ROW_START_VALUE, 0, &program, NULL, 0);
}

bool tn_row_epilogue_keeps_zero(const tn_call *call, float zero) {
    tn_row_program program;
    if (zero != 0 || call->step_count == 0) return zero == 0;
    return tn_row_program_make(call, TN_ROW_START_VALUE, 0, &program, NULL, 0) &&
           tn_row_program_keeps_zero(&program);
}

tn_status tn_row_epilogue_prepare(tn_call *call) {
    return call->step_count == 0 ? TN_OK : tn_row_program_prepare(call, TN_ROW_START_VALUE, 0);
}

void tn_row_epilogue_run(const tn_row_program *epilogue, const tn_rows_level *level, int64_t count,
                         float *row) {
    _Alignas(64) float scratch[TN_ROW_PROGRAM_SCRATCH];
    const float *const tensors[] = {row};
    const int64_t strides[] = {1};
    if (epilogue) tn_row_program_run(epilogue, level, count, tensors, strides, scratch, row);
}
