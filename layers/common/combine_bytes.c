/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators of two 8-bit tensors that stand for real numbers; see combine_kernel.h.
 * Sums and products of rows without epilogues are done at once; all else goes through blocks of
 * floats.
 */
#include "common/axis_broadcast.h"
#include "common/byte_table.h"
#include "common/combine_kernel.h"
#include "common/infer.h"
#include "common/physical.h"

const char *const tn_combine_bytes_combinations[2] = {"qi8, qi8 -> qi8",
                                                      "qi8:nhwc, qi8:nhwc -> qi8:nhwc"};

tn_status tn_combine_bytes_accepts(tn_call *call) {
    for (uint32_t i = 0; i < 2; i++) {
        if (tn_byte_scale(call->inputs[i]) == 0 ||
            (call->outputs[0]->format != TN_LINEAR &&
             call->inputs[i]->rank != call->outputs[0]->rank))
            return TN_ERROR_UNSUPPORTED;
    }
    return tn_row_chain_accepts(call) && tn_byte_scale(call->outputs[0]) != 0
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

typedef struct bytes_job {
    const tn_call *call;
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
    float left[BLOCK], right[BLOCK];
    job->level->from_bytes(count, a, a_step, job->a_scale, left);
    job->level->from_bytes(count, b, b_step, job->b_scale, right);
    job->level->combines[job->combine](count, left, 1, right, 1, left);
    tn_row_chain_apply(job->call, job->level, count, left);
    job->level->to_bytes(count, left, job->inverse, y);
}

/* `count` elements from `first` on of the row that `rows` is at. */
static void combine_row(const bytes_job *job, const tn_broadcast_rows *rows, int64_t first,
                        int64_t count) {
    const int64_t a_step = rows->stride[0], b_step = rows->stride[1];
    const int8_t *a = job->a + rows->offset[0] + first * a_step;
    const int8_t *b = job->b + rows->offset[1] + first * b_step;
    int8_t *y = job->y + rows->output_offset + first;
    const float a_scale = job->a_scale * job->inverse, b_scale = job->b_scale * job->inverse;
    const bool is_plain = a_step == 1 && b_step == 1 && job->call->epilogue_count == 0;
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
    tn_broadcast_rows rows = *job->rows;
    int64_t first = begin % rows.count;
    (void)thread;
    tn_broadcast_seek(&rows, begin / rows.count);
    while (begin < end) {
        const int64_t left = rows.count - first;
        const int64_t count = end - begin < left ? end - begin : left;
        combine_row(job, &rows, first, count);
        begin += count;
        first = 0;
        if (!tn_broadcast_next(&rows)) break;
    }
    return TN_OK;
}

static void add_input(tn_broadcast_rows *rows, const tn_tensor *output, uint32_t rank,
                      const int64_t *shape) {
    tn_physical physical;
    tn_physical_init(&physical, output->format, rank, shape);
    tn_broadcast_add(rows, physical.rank, physical.shape);
}

tn_status tn_combine_bytes_run(tn_call *call) {
    enum { GRAIN = 16384 };
    const tn_combine_kernel_user *user = call->user;
    const tn_tensor *output = call->outputs[0];
    uint32_t rank = call->inputs[1]->rank;
    int64_t shape[TN_MAX_RANK];
    tn_physical physical;
    tn_broadcast_rows rows;
    bytes_job job = {.call = call,
                     .level = user->level,
                     .combine = user->combine,
                     .rows = &rows,
                     .a = call->inputs[0]->data,
                     .b = call->inputs[1]->data,
                     .y = output->data,
                     .a_scale = tn_byte_scale(call->inputs[0]),
                     .b_scale = tn_byte_scale(call->inputs[1]),
                     .inverse = 1.0f / tn_byte_scale(output)};
    tn_physical_init(&physical, output->format, output->rank, output->shape);
    tn_broadcast_init(&rows, physical.rank, physical.shape);
    add_input(&rows, output, call->inputs[0]->rank, call->inputs[0]->shape);
    if (call->op->since_version < 7) TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    add_input(&rows, output, rank, call->op->since_version < 7 ? shape : call->inputs[1]->shape);
    if (!tn_broadcast_begin(&rows)) return TN_OK;
    return call->host->parallel_for(call, tn_infer_product(physical.shape, 0, physical.rank), GRAIN,
                                    combine_elements, &job);
}
