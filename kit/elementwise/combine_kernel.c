/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of combine_kernel.h. */
#include "kit/elementwise/combine_kernel.h"
#include "kit/operator/axis_broadcast.h"
#include <tenon/kit/infer.h>
#include "kit/operator/physical.h"

const char *const tn_combine_kernel_combinations[4] = {
    "f32, f32 -> f32", "f32:nhwc, f32:nhwc -> f32:nhwc", "f32:c16, f32:c16 -> f32:c16",
    "f32:c8, f32:c8 -> f32:c8"};

/* Whether two zeros become zero, so that padded lanes stay what they must be. */
static bool keeps_zero(const tn_call *call) {
    tn_known_steps steps;
    const tn_combine_kernel_user *user = call->user;
    const float zero = 0;
    float y = 0;
    user->level->combines[user->combine](1, &zero, 1, &zero, 1, &y);
    if (!tn_row_chain_read(call, &steps)) return false;
    tn_row_chain_apply(&steps, user->level, 1, &y);
    return y == 0;
}

/* Other formats than linear are walked as they lie: the inputs have all axes of the output, and its
 * channels. */
static bool fits_format(const tn_call *call, uint32_t input) {
    const tn_tensor *x = call->inputs[input], *y = call->outputs[0];
    return y->format == TN_LINEAR || (x->rank == y->rank && x->shape[1] == y->shape[1]);
}

tn_status tn_combine_kernel_accepts(tn_call *call) {
    if (!tn_row_chain_accepts(call) || !fits_format(call, 0) || !fits_format(call, 1))
        return TN_ERROR_UNSUPPORTED;
    return tn_physical_is_padded(call->outputs[0]) && !keeps_zero(call) ? TN_ERROR_UNSUPPORTED
                                                                        : TN_OK;
}

typedef struct combine_job {
    const tn_known_steps *steps;
    const tn_rows_level *level;
    tn_combine_function function;
    const tn_broadcast_rows *rows; /* at the first row */
    const float *a, *b;
    float *y;
} combine_job;

/* `count` elements from `first` on of the row that `rows` is at. */
static void combine_row(const void *user, const tn_broadcast_rows *rows, int64_t first,
                        int64_t count) {
    const combine_job *job = user;
    const float *a = job->a + rows->offset[0] + first * rows->stride[0];
    const float *b = job->b + rows->offset[1] + first * rows->stride[1];
    float *y = job->y + rows->output_offset + first;
    if (job->steps->count == 0) {
        job->function(count, a, rows->stride[0], b, rows->stride[1], y);
        return;
    }
    for (int64_t i = 0; i < count; i += TN_ROW_BLOCK) {
        const int64_t some = count - i < TN_ROW_BLOCK ? count - i : TN_ROW_BLOCK;
        job->function(some, a + i * rows->stride[0], rows->stride[0], b + i * rows->stride[1],
                      rows->stride[1], y + i);
        tn_row_chain_apply(job->steps, job->level, some, y + i);
    }
}

/* An item is an element of the output. */
static tn_status combine_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const combine_job *job = user;
    (void)thread;
    tn_broadcast_elements(job->rows, begin, end, combine_row, job);
    return TN_OK;
}

/* One more input with the extents `shape`, as it lies in the output's format. */
static void add_input(tn_broadcast_rows *rows, const tn_tensor *output, uint32_t rank,
                      const int64_t *shape) {
    tn_physical physical;
    tn_physical_init(&physical, output->format, rank, shape);
    tn_broadcast_add(rows, physical.rank, physical.shape);
}

tn_status tn_combine_walk(tn_call *call, tn_broadcast_rows *rows, tn_body body, void *job) {
    enum { GRAIN = 16384 };
    const tn_tensor *output = call->outputs[0];
    uint32_t rank = call->inputs[1]->rank;
    int64_t shape[TN_MAX_RANK];
    tn_physical physical;
    tn_physical_init(&physical, output->format, output->rank, output->shape);
    tn_broadcast_init(rows, physical.rank, physical.shape);
    add_input(rows, output, call->inputs[0]->rank, call->inputs[0]->shape);
    if (call->op->since_version < 7) TN_TRY(tn_axis_broadcast_shape(call, &rank, shape));
    add_input(rows, output, rank, call->op->since_version < 7 ? shape : call->inputs[1]->shape);
    if (!tn_broadcast_begin(rows)) return TN_OK;
    return call->host->parallel_for(call, tn_infer_product(physical.shape, 0, physical.rank), GRAIN,
                                    body, job);
}

tn_status tn_combine_kernel_run(tn_call *call) {
    const tn_combine_kernel_user *user = call->user;
    const tn_tensor *output = call->outputs[0];
    tn_broadcast_rows rows;
    tn_known_steps steps;
    combine_job job = {.steps = &steps,
                       .level = user->level,
                       .function = user->level->combines[user->combine],
                       .rows = &rows,
                       .a = call->inputs[0]->data,
                       .b = call->inputs[1]->data,
                       .y = output->data};
    (void)tn_row_chain_read(call, &steps); /* accepts looked */
    return tn_combine_walk(call, &rows, combine_elements, &job);
}
