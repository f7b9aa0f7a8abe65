/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators of two 8-bit tensors that stand for floating-point values; see
 * combine_kernel.h. Sums and products of rows without epilogues are done at once; all else goes
 * through blocks of floats.
 */
#include "kit/elementwise/combine_kernel.h"
#include "kit/math/byte_table.h"
#include "kit/operator/axis_broadcast.h"
#include <tenon/kit/infer.h>
#include "kit/operator/physical.h"

const char *const tn_combine_bytes_combinations[2] = {"qi8, qi8 -> qi8",
                                                      "qi8:nhwc, qi8:nhwc -> qi8:nhwc"};

tn_status tn_combine_bytes_accepts(tn_call *call) {
    const tn_combine_kernel_user *user = call->user;
    tn_row_program program;
    for (uint32_t i = 0; i < 2; i++) {
        if (tn_byte_scale(call->inputs[i]) == 0 ||
            (call->outputs[0]->format != TN_LINEAR &&
             call->inputs[i]->rank != call->outputs[0]->rank))
            return TN_ERROR_UNSUPPORTED;
    }
    return tn_byte_scale(call->outputs[0]) != 0 &&
                   tn_row_program_make(call, TN_ROW_START_COMBINE, user->combine, &program, NULL, 0)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

typedef struct bytes_job {
    const tn_row_program *program;
    const tn_rows_level *level;
    uint32_t combine;
    const tn_broadcast_rows *rows; /* at the first row */
    const int8_t *a, *b;
    int8_t *y;
    float a_scale, b_scale, inverse;
} bytes_job;

/* Elements of a block of floats. */
enum { BLOCK = 512 };

static void combine_block(const bytes_job *job, int64_t count, const int8_t *a, int64_t a_step,
                          const int8_t *b, int64_t b_step, int8_t *y) {
    float left[BLOCK], right[BLOCK], scratch[TN_ROW_PROGRAM_SCRATCH];
    const float *const tensors[] = {left, right};
    const int64_t strides[] = {1, 1};
    job->level->from_bytes(count, a, a_step, job->a_scale, left);
    job->level->from_bytes(count, b, b_step, job->b_scale, right);
    tn_row_program_run(job->program, job->level, count, tensors, strides, scratch, left);
    job->level->to_bytes(count, left, job->inverse, y);
}

/* `count` elements from `first` on of the row that `rows` is at. */
static void combine_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                        int64_t count) {
    const bytes_job *job = user;
    const int64_t a_step = rows->stride[0], b_step = rows->stride[1];
    const int8_t *a = job->a + rows->offset[0] + first * a_step;
    const int8_t *b = job->b + rows->offset[1] + first * b_step;
    int8_t *y = job->y + rows->output_offset + first;
    const float a_scale = job->a_scale * job->inverse, b_scale = job->b_scale * job->inverse;
    const bool is_plain = a_step == 1 && b_step == 1 && job->program->step_count == 1;
    if (is_plain && job->combine == TN_COMBINE_ADD) {
        job->level->add_bytes(count, a, a_scale, b, b_scale, y);
        return;
    }
    if (is_plain && job->combine == TN_COMBINE_SUB) {
        job->level->add_bytes(count, a, a_scale, b, -b_scale, y);
        return;
    }
    if (is_plain && job->combine == TN_COMBINE_MUL) {
        job->level->multiply_bytes(count, a, a_scale * job->b_scale, b, 0, y);
        return;
    }
    for (int64_t i = 0; i < count; i += BLOCK)
        combine_block(job, count - i < BLOCK ? count - i : BLOCK, a + i * a_step, a_step,
                      b + i * b_step, b_step, y + i);
}

/* An item is an element of the output. */
static tn_status combine_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const bytes_job *job = user;
    (void)thread;
    tn_broadcast_elements(job->rows, begin, end, combine_row, job);
    return TN_OK;
}

tn_status tn_combine_bytes_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_combine_kernel_user *user = call->user;
    const tn_tensor *output = call->outputs[0];
    tn_broadcast_rows rows;
    int64_t elements = 0;
    bytes_job job = {.program = call->state,
                     .level = user->level,
                     .combine = user->combine,
                     .rows = &rows,
                     .a = call->inputs[0]->data,
                     .b = call->inputs[1]->data,
                     .y = output->data,
                     .a_scale = tn_byte_scale(call->inputs[0]),
                     .b_scale = tn_byte_scale(call->inputs[1]),
                     .inverse = 1.0f / tn_byte_scale(output)};
    TN_TRY(tn_combine_rows(call, &rows, &elements));
    if (elements == 0) return TN_OK;
    return call->host->parallel_for(call, elements, GRAIN, combine_elements, &job);
}
