/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of resize.h where the last two axes alone change: the rows that an output row depends
 * on are joined first, then its columns; channels last, all channels of a position at once.
 */
#include "kit/operator/kernel_memory.h"
#include "resize/kernels.h"
#include "resize/quantized/resize.h"
#include <tenon/kit/open.h>
#include <tenon/kit/parallel.h>

enum { MOST_TAPS = 64, GRAIN = 16384 };

typedef struct resize_context {
    tn_kernel_context kept; /* tables: of both axes, for the present shapes */
    tn_quantized_resize_axis vertical, horizontal;
    int64_t planes, lanes;
} resize_context;

static bool has_rank(const tn_tensor *x) {
    return x->rank == 4 || (x->rank > 2 && x->format == TN_LINEAR);
}

static bool read_plan(tn_call *call, tn_resize_plan *plan) {
    return tn_quantized_resize_read(call, plan) == TN_OK && has_rank(call->inputs[0]) &&
           tn_resize_changes_images(plan, MOST_TAPS);
}

static tn_status resize_accepts(tn_call *call) {
    tn_resize_plan plan;
    const bool is_read = tn_open_has(call) ? has_rank(call->inputs[0]) : read_plan(call, &plan);
    return is_read ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status resize_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(resize_context));
}

static uint64_t table_bytes(const tn_resize_axis *axis) {
    return (uint64_t)(axis->taps * axis->output) * (sizeof(int32_t) + sizeof(double)) + 8;
}

/* Fills one axis's tables at `memory` and answers what lies behind them. */
static char *fill_axis(const tn_resize_plan *plan, uint32_t number, char *memory,
                       tn_quantized_resize_axis *out_axis) {
    const tn_resize_axis *axis = &plan->axes[number];
    const int64_t count = axis->taps * axis->output;
    double *weights = (double *)(void *)memory;
    int32_t *indices = (int32_t *)(void *)(weights + count);
    int64_t index[MOST_TAPS];
    double weight[MOST_TAPS];
    for (int64_t i = 0; i < axis->output; i++) {
        (void)tn_resize_taps(plan, number, i, index, weight); /* no crop: always inside */
        for (int64_t t = 0; t < axis->taps; t++) {
            indices[t * axis->output + i] = (int32_t)index[t];
            weights[t * axis->output + i] = weight[t];
        }
    }
    *out_axis = (tn_quantized_resize_axis){axis->input, axis->output, axis->taps, indices, weights};
    return memory + table_bytes(axis) / 8 * 8;
}

static uint64_t scratch_bytes(const resize_context *context) {
    return ((uint64_t)(context->horizontal.in * context->lanes) * sizeof(double) + 63) / 64 * 64;
}

static tn_status resize_reshape(tn_call *call) {
    resize_context *context = call->context;
    tn_resize_plan plan;
    if (!read_plan(call, &plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "resizing integers by rows does not do these axes");
    const int64_t *shape = call->inputs[0]->shape;
    const uint32_t vertical = plan.rank - 2, horizontal = plan.rank - 1;
    const bool is_last = call->inputs[0]->format == TN_NHWC;
    TN_TRY(tn_kernel_context_reserve(call, table_bytes(&plan.axes[vertical]) +
                                               table_bytes(&plan.axes[horizontal])));
    char *rest = fill_axis(&plan, vertical, context->kept.tables, &context->vertical);
    (void)fill_axis(&plan, horizontal, rest, &context->horizontal);
    context->lanes = is_last ? shape[1] : 1;
    context->planes = is_last ? shape[0] : tn_infer_product(shape, 0, vertical);
    call->workspace_bytes = scratch_bytes(context) * call->threads;
    return TN_OK;
}

typedef struct resize_job {
    const resize_context *context;
    const tn_quantized_resize_level *level;
    tn_resize_steps steps;
    const uint8_t *x;
    uint8_t *y;
    char *scratch;
} resize_job;

/* An item is an output row of a plane, or of an image. */
static tn_status resize_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const resize_job *job = user;
    const resize_context *context = job->context;
    const tn_quantized_resize_axis *vertical = &context->vertical,
                                   *horizontal = &context->horizontal;
    const int64_t row = horizontal->in * context->lanes;
    double *joined = (double *)(void *)(job->scratch + thread * scratch_bytes(context));
    const uint8_t *rows[MOST_TAPS];
    for (int64_t i = begin; i < end; i++) {
        const int64_t plane = i / vertical->out, y = i % vertical->out;
        for (int64_t t = 0; t < vertical->taps; t++)
            rows[t] =
                job->x + (plane * vertical->in + vertical->index[t * vertical->out + y]) * row;
        job->level->vertical(&job->steps, vertical->taps, rows, vertical->weight + y, vertical->out,
                             row, joined);
        job->level->horizontal(&job->steps, horizontal, context->lanes, joined,
                               job->y + i * horizontal->out * context->lanes);
    }
    return TN_OK;
}

static tn_status resize_run(tn_call *call) {
    const resize_context *context = call->context;
    resize_job job = {.context = context,
                      .level = call->user,
                      .x = call->inputs[0]->data,
                      .y = call->outputs[0]->data,
                      .scratch = call->workspace};
    if (call->outputs[0]->bytes == 0) return TN_OK;
    tn_quantized_resize_steps(call, &job.steps);
    return call->host->parallel_for(
        call, context->planes * context->vertical.out,
        tn_parallel_grain(GRAIN,
                          (context->horizontal.in + context->horizontal.out) * context->lanes),
        resize_rows, &job);
}

static const char *const combinations[] = {"u8|i8:nhwc, *?, *?, *?, f32, *?, f32, *? -> u8|i8:nhwc",
                                           "u8|i8, *?, *?, *?, f32, *?, f32, *? -> u8|i8"};
TN_LEVEL_KERNELS_OF(, tn_quantized_resize, TN_LEVELS(tn_resize_bytes), "Tenon", 1, "QLinearResize",
                    "rows", "Rows joined in double precision, then columns.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(combinations), .accepts = resize_accepts, .open = resize_open,
                    .close = tn_kernel_context_destroy, .reshape = resize_reshape,
                    .run = resize_run);
