/* SPDX-License-Identifier: Apache-2.0 */
/* Programs over cells as jobs of cells.cu, and the kernel of any elementwise operator. */
#include "kit/cuda/any/cells_job.h"
#include "kit/cuda/iteration.h"
#include "kit/elementwise/cell_program.h"
#include "kit/operator/layer.h"

/* ----------------------------------------------------------------------------------------------
 * a call's tensors */

static bool read_tensors(tn_call *call, uint32_t first, uint32_t count, bool is_again,
                         tn_cuda_cells_job *job) {
    const tn_tensor *y = call->outputs[0];
    tn_cuda_iteration iteration;
    tn_cuda_iteration_init(&iteration, y);
    for (uint32_t i = 0; i < count; i++) {
        const tn_tensor *x = is_again && i == 0 ? y : call->inputs[first + i - is_again];
        tn_cuda_iteration_add(&iteration, y, x, x->rank, x->shape);
        job->from[i] = x->data;
        job->types[i] = x->type;
    }
    if (!tn_cuda_iteration_finish(&iteration)) return false;
    job->y = y->data;
    job->y_type = y->type;
    job->count = (uint32_t)tn_element_count(y);
    job->tensor_count = count;
    job->rank = iteration.rank;
    for (uint32_t i = 0; i < iteration.rank; i++) {
        job->extents[i] = tn_divider_make((uint32_t)iteration.extents[i]);
        for (uint32_t k = 0; k < count; k++)
            job->strides[k][i] = iteration.strides[k][i];
    }
    return true;
}

static bool are_tensors_fit(tn_call *call, uint32_t most) {
    if (call->input_count == 0 || call->input_count > most || !call->outputs[0]) return false;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (!call->inputs[i] || call->inputs[i]->rank > call->outputs[0]->rank) return false;
    return tn_cuda_any_accepts(call) == TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * expressions */

/* The number of a value in the job; false: it has too many. */
static bool find_value(uint32_t value, uint8_t *out_value) {
    uint32_t at = value;
    if (value >= TN_ROW_PROGRAM_FIRST_RESULT) {
        at = value - TN_ROW_PROGRAM_FIRST_RESULT;
        if (at >= TN_CUDA_CELLS_RESULTS) return false;
        at += TN_CUDA_CELLS_FIRST_RESULT;
    } else if (value >= TN_ROW_PROGRAM_FIRST_NUMBER) {
        at = value - TN_ROW_PROGRAM_FIRST_NUMBER;
        if (at >= TN_CUDA_CELLS_NUMBERS) return false;
        at += TN_CUDA_CELLS_FIRST_NUMBER;
    }
    *out_value = (uint8_t)at;
    return true;
}

static bool read_step(const tn_row_step *from, tn_cuda_cell cell, tn_cuda_cells_step *to) {
    if (from->kind == TN_ROW_STEP_ROW) return false;
    to->kind = from->kind == TN_ROW_STEP_MAP       ? TN_CUDA_CELLS_MAP
               : from->kind == TN_ROW_STEP_COMBINE ? TN_CUDA_CELLS_COMBINE
                                                   : TN_CUDA_CELLS_CHOOSE;
    to->function = (uint8_t)from->function;
    for (uint32_t k = 0; k < 3; k++)
        if (!find_value(from->operands[k], &to->operands[k])) return false;
    return find_value(from->result, &to->result) &&
           (to->kind == TN_CUDA_CELLS_CHOOSE || tn_cuda_cells_has(cell, to->kind, from->function));
}

/* Cells of less than 64 bits were taken where wider ones give the same. */
static bool make_program(tn_call *call, tn_cuda_cells_job *job) {
    tn_cell_program program;
    *job = (tn_cuda_cells_job){.divisor = 1};
    if (!tn_cell_program_make(call, &program)) return false;
    const tn_row_program *rows = &program.program;
    if (rows->step_count == 0 || rows->step_count > TN_CUDA_CELLS_STEPS ||
        rows->number_count > TN_CUDA_CELLS_NUMBERS)
        return false;
    const tn_cell cell = program.cell;
    job->cell = cell == TN_CELL_F32 || cell == TN_CELL_F64   ? TN_CUDA_CELL_F64
                : cell == TN_CELL_I64 || cell == TN_CELL_I32 ? TN_CUDA_CELL_I64
                                                             : TN_CUDA_CELL_U64;
    job->number_count = rows->number_count;
    job->step_count = rows->step_count;
    for (uint32_t i = 0; i < rows->number_count; i++) {
        if (job->cell == TN_CUDA_CELL_F64)
            job->numbers[i].real = (double)rows->numbers[i];
        else
            job->numbers[i].whole = (int64_t)rows->numbers[i];
    }
    for (uint32_t s = 0; s < rows->step_count; s++)
        if (!read_step(&rows->steps[s], job->cell, &job->steps[s])) return false;
    return true;
}

static tn_status cells_accepts(tn_call *call) {
    tn_cuda_cells_job job;
    return are_tensors_fit(call, TN_CUDA_CELLS_TENSORS) && make_program(call, &job)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static tn_status cells_prepare(tn_call *call) {
    TN_TRY(tn_kernel_state_create(call, sizeof(tn_cuda_cells_job)));
    return tn_kernel_state_finish(
        call, make_program(call, call->state)
                  ? TN_OK
                  : call->host->fail(call, TN_ERROR_UNSUPPORTED, "it has no program over cells"));
}

static tn_status cells_run(tn_call *call) {
    tn_cuda_cells_job job = *(const tn_cuda_cells_job *)call->state;
    if (!are_tensors_fit(call, TN_CUDA_CELLS_TENSORS))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "a tensor of more than 2^31 - 1 elements, or of more axes than the "
                                "output");
    if (!read_tensors(call, 0, call->input_count, false, &job)) return TN_OK;
    return tn_cuda_any_run(call, tn_cuda_cells_launch, &job);
}

static const tn_kernel cells = {
    TN_KERNEL_BEGIN("cuda", "*", "*", "cells", 1,
                    "Any elementwise operator of any types, its expression interpreted."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_CAPTURABLE | TN_KERNEL_FALLBACK,
    .accepts = cells_accepts,
    .prepare = cells_prepare,
    .release = tn_kernel_state_destroy,
    .run = cells_run,
};
TN_CUDA_LAYER(cells, &cells);

/* ----------------------------------------------------------------------------------------------
 * one function over any number of tensors */

tn_status tn_cuda_variadic_accepts(tn_call *call) {
    return are_tensors_fit(call, UINT32_MAX) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* The first tensors, and the output with those that follow, until there are no more. */
tn_status tn_cuda_variadic_run(tn_call *call) {
    const tn_cuda_variadic_user *user = call->user;
    const tn_type type = call->outputs[0]->type;
    tn_cuda_cells_job job = {.cell = tn_element_is_real(type) ? TN_CUDA_CELL_F64
                                     : type == TN_U64         ? TN_CUDA_CELL_U64
                                                              : TN_CUDA_CELL_I64};
    if (!are_tensors_fit(call, UINT32_MAX))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "a tensor of more than 2^31 - 1 elements");
    for (uint32_t done = 0; done < call->input_count;) {
        const bool is_again = done > 0;
        const uint32_t most = TN_CUDA_CELLS_TENSORS - is_again, left = call->input_count - done;
        const uint32_t count = (left < most ? left : most) + is_again;
        job.divisor = 1;
        if (user->is_mean && count - is_again == left) job.divisor = (double)call->input_count;
        job.step_count = count - 1;
        for (uint32_t s = 0; s + 1 < count; s++)
            job.steps[s] = (tn_cuda_cells_step){
                .kind = TN_CUDA_CELLS_COMBINE,
                .function = (uint8_t)user->combine,
                .operands = {s == 0 ? 0 : TN_CUDA_CELLS_FIRST_RESULT, (uint8_t)(s + 1), 0},
                .result = TN_CUDA_CELLS_FIRST_RESULT};
        if (!read_tensors(call, done, count, is_again, &job)) return TN_OK;
        TN_TRY(tn_cuda_any_run(call, tn_cuda_cells_launch, &job));
        done += count - is_again;
    }
    return TN_OK;
}
