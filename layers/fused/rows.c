/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel in 32-bit floats: accepting, and walking tensors whose shapes are broadcast; see
 * fused.h. */
#include "fused/fused.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/epilogue.h>
#include <tenon/kit/infer.h>
#include "kit/operator/physical.h"

/* ----------------------------------------------------------------------------------------------
 * shapes */

/* The extents of tensor `index`, of `count`, with all axes of the output; the vector of a bias or a
 * scale lies along an axis. */
static bool find_extents(const tn_call *call, const tn_tensor *tensor, uint32_t index,
                         uint32_t count, int64_t *out_shape) {
    const uint32_t rank = call->outputs[0]->rank, input_count = count - call->operand_count;
    uint32_t axis = 0;
    if (tensor->rank > rank) return false;
    for (uint32_t k = 0; k < rank; k++)
        out_shape[k] = k + tensor->rank < rank ? 1 : tensor->shape[k + tensor->rank - rank];
    if (index < input_count || !tn_epilogue_vector_axis(call, index - input_count, &axis))
        return true;
    for (uint32_t k = 0; k < rank; k++)
        out_shape[k] = k == axis ? tn_infer_product(tensor->shape, 0, tensor->rank) : 1;
    return axis < rank;
}

/* Whether a tensor can be walked in the output's format. Of others than the whole, only what lies
 * alike in all formats is. */
static bool fits_format(const tn_tensor *tensor, const tn_tensor *y, const int64_t *shape) {
    if (y->format == TN_LINEAR) return tensor->format == TN_LINEAR;
    if (tensor->format == y->format && tensor->rank == y->rank && tensor->shape[1] == y->shape[1])
        return true;
    if (tn_physical_block(y->format) != 0 || tn_physical_block(tensor->format) != 0) return false;
    for (uint32_t k = 0; k < y->rank; k++)
        if (k != 1 && shape[k] != 1) return false;
    return true;
}

static bool is_walkable(const tn_call *call) {
    const tn_tensor *tensors[TN_ROW_PROGRAM_TENSORS], *y = call->outputs[0];
    uint32_t count = 0;
    int64_t shape[TN_MAX_RANK];
    if (!y || !tn_epilogue_tensors(call, TN_ROW_PROGRAM_TENSORS, tensors, &count)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (tensors[i]->type != TN_F32 || !find_extents(call, tensors[i], i, count, shape) ||
            !fits_format(tensors[i], y, shape))
            return false;
    return true;
}

/* Whether zeros become zero, so that padded lanes stay what they must be. */
static bool keeps_zero(const tn_row_program *program) {
    static const float zero;
    const float *tensors[TN_ROW_PROGRAM_TENSORS];
    const int64_t strides[TN_ROW_PROGRAM_TENSORS] = {0};
    float rows[TN_ROW_PROGRAM_ROWS][TN_ROW_PROGRAM_BLOCK], y = 1;
    for (uint32_t i = 0; i < TN_ROW_PROGRAM_TENSORS; i++)
        tensors[i] = &zero;
    tn_row_program_run(program, &tn_rows_baseline, 1, tensors, strides, rows, &y);
    return y == 0;
}

/* ----------------------------------------------------------------------------------------------
 * callbacks */

tn_status tn_fused_rows_accepts(tn_call *call) {
    tn_row_program program;
    if (!is_walkable(call) || !tn_row_program_make(call, &program, NULL, 0) ||
        tn_fused_is_idle(call, &program) ||
        (tn_physical_is_padded(call->outputs[0]) && !keeps_zero(&program)))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

tn_status tn_fused_rows_prepare(tn_call *call) {
    char why[300] = "";
    tn_row_program *program = call->host->allocate(call->host, sizeof(*program), 64);
    if (!program)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a program over rows");
    if (!tn_row_program_make(call, program, why, sizeof(why))) {
        call->host->deallocate(call->host, program);
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%s", why);
    }
    call->state = program;
    return TN_OK;
}

void tn_fused_rows_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

tn_status tn_fused_rows_reshape(tn_call *call) {
    return is_walkable(call) ? TN_OK
                             : call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                                "inputs of more axes than the output");
}

typedef struct fused_job {
    const tn_row_program *program;
    const tn_rows_level *level;
    const tn_broadcast_rows *rows; /* at the first row */
    const float *tensors[TN_ROW_PROGRAM_TENSORS];
    float *y;
    float (*scratch)[TN_ROW_PROGRAM_BLOCK]; /* the thread's */
} fused_job;

static void compute_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                        int64_t count) {
    const fused_job *job = user;
    const float *tensors[TN_ROW_PROGRAM_TENSORS];
    for (uint32_t i = 0; i < job->program->tensor_count; i++)
        tensors[i] = job->tensors[i] + rows->offset[i] + first * rows->stride[i];
    float *y = job->y + rows->output_offset + first;
    for (int64_t done = 0; done < count; done += TN_ROW_PROGRAM_BLOCK) {
        const int64_t left = count - done;
        const int64_t some = left < TN_ROW_PROGRAM_BLOCK ? left : TN_ROW_PROGRAM_BLOCK;
        tn_row_program_run(job->program, job->level, some, tensors, rows->stride, job->scratch,
                           y + done);
        for (uint32_t i = 0; i < job->program->tensor_count; i++)
            tensors[i] += some * rows->stride[i];
    }
}

/* An item is an element of the output. */
static tn_status compute_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    _Alignas(64) float scratch[TN_ROW_PROGRAM_ROWS][TN_ROW_PROGRAM_BLOCK];
    fused_job job = *(const fused_job *)user;
    job.scratch = scratch;
    (void)thread;
    tn_broadcast_elements(job.rows, begin, end, compute_row, &job);
    return TN_OK;
}

tn_status tn_fused_rows_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_tensor *tensors[TN_ROW_PROGRAM_TENSORS], *y = call->outputs[0];
    uint32_t count = 0;
    int64_t shape[TN_MAX_RANK];
    tn_physical physical;
    tn_broadcast_rows rows;
    fused_job job = {
        .program = call->state, .level = call->user, .rows = &rows, .y = call->outputs[0]->data};
    (void)tn_epilogue_tensors(call, TN_ROW_PROGRAM_TENSORS, tensors, &count); /* reshape looked */
    tn_physical_init(&physical, y->format, y->rank, y->shape);
    tn_broadcast_init(&rows, physical.rank, physical.shape);
    const int64_t elements = tn_infer_product(physical.shape, 0, physical.rank);
    for (uint32_t i = 0; i < count; i++) {
        (void)find_extents(call, tensors[i], i, count, shape);
        tn_physical_init(&physical, y->format, y->rank, shape);
        tn_broadcast_add(&rows, physical.rank, physical.shape);
        job.tensors[i] = tensors[i]->data;
    }
    if (!tn_broadcast_begin(&rows)) return TN_OK;
    return call->host->parallel_for(call, elements, GRAIN, compute_elements, &job);
}
