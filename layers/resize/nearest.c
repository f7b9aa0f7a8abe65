/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize by the nearest element of 8-bit tensors, plain integers or such that stand for
 * floating-point values, along the last two axes, linear or channels last: bytes are copied,
 * through a table where the scales differ. Other modes stay in floats (kernels.c).
 */
#include "kit/math/byte_table.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include "resize/kernels.h"
#include <tenon/kit/open.h>

/* The input's row of each output row, and the input's column of each output column. */
typedef struct nearest_context {
    tn_kernel_context kept; /* tables: rows, then columns */
    const int32_t *rows, *columns;
    int64_t planes, lanes, in_height, in_width, out_height, out_width;
    bool is_rescaled;
    tn_byte_table table;
} nearest_context;

/* Not such that stand for floating-point values. */
static bool are_integers(const tn_call *call) {
    const tn_type type = call->inputs[0]->type;
    return (type == TN_U8 || type == TN_I8) && !call->inputs[0]->quantization &&
           !call->outputs[0]->quantization;
}

static bool has_mode(const tn_call *call) {
    const tn_resize_params *params = call->params;
    return params->mode == TN_RESIZE_NEAREST &&
           (are_integers(call) ||
            (tn_byte_scale(call->inputs[0]) != 0 && tn_byte_scale(call->outputs[0]) != 0));
}

static bool read_plan(tn_call *call, tn_resize_plan *plan) {
    return has_mode(call) && tn_resize_read(call, plan) == TN_OK &&
           tn_resize_changes_images(plan, 1);
}

static tn_status nearest_accepts(tn_call *call) {
    tn_resize_plan plan;
    const bool is_read = tn_open_has(call) ? has_mode(call) && tn_resize_may_change_images(call)
                                           : read_plan(call, &plan);
    return is_read ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status nearest_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(nearest_context));
}

/* The table of an axis; returns what lies behind it. */
static int32_t *fill_axis(const tn_resize_plan *plan, uint32_t axis, int32_t *table) {
    for (int64_t i = 0; i < plan->axes[axis].output; i++) {
        int64_t index = 0;
        double weight;
        (void)tn_resize_taps(plan, axis, i, &index, &weight); /* no crop: always inside */
        *table++ = (int32_t)index;
    }
    return table;
}

static tn_status nearest_reshape(tn_call *call) {
    nearest_context *context = call->context;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_resize_plan plan;
    if (!read_plan(call, &plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "copying the nearest element does not do these axes");
    const uint32_t last = plan.rank - 1;
    TN_TRY(tn_kernel_context_reserve(
        call, (uint64_t)(plan.axes[last - 1].output + plan.axes[last].output) * sizeof(int32_t)));
    int32_t *rows = context->kept.tables, *columns = fill_axis(&plan, last - 1, rows);
    (void)fill_axis(&plan, last, columns);
    context->rows = rows;
    context->columns = columns;
    context->in_height = plan.axes[last - 1].input;
    context->in_width = plan.axes[last].input;
    context->out_height = plan.axes[last - 1].output;
    context->out_width = plan.axes[last].output;
    context->lanes = x->format == TN_LINEAR ? 1 : x->shape[1];
    context->planes =
        x->format == TN_LINEAR ? tn_infer_product(x->shape, 0, last - 1) : x->shape[0];
    context->is_rescaled = !are_integers(call) && tn_byte_scale(x) != tn_byte_scale(y);
    if (context->is_rescaled)
        tn_byte_table_rescale(&context->table, tn_byte_scale(x), tn_byte_scale(y));
    return TN_OK;
}

typedef struct nearest_job {
    const nearest_context *context;
    const int8_t *input;
    int8_t *output;
} nearest_job;

static void copy_row(const nearest_context *context, const int8_t *from, int8_t *to) {
    const int64_t lanes = context->lanes;
    if (lanes == 1) {
        for (int64_t i = 0; i < context->out_width; i++)
            to[i] = from[context->columns[i]];
    } else {
        for (int64_t i = 0; i < context->out_width; i++)
            memcpy(to + i * lanes, from + context->columns[i] * lanes, (size_t)lanes);
    }
    if (context->is_rescaled)
        tn_byte_table_apply(&context->table, context->out_width * lanes, to, to);
}

/* An item is a row of an output's plane; one from the same input row as that before it is that. */
static tn_status copy_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const nearest_job *job = user;
    const nearest_context *context = job->context;
    const int64_t out_row = context->out_width * context->lanes;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t plane = i / context->out_height, row = i % context->out_height;
        int8_t *to = job->output + i * out_row;
        const bool is_same = i > begin && row > 0 && context->rows[row] == context->rows[row - 1];
        if (is_same)
            memcpy(to, to - out_row, (size_t)out_row);
        else
            copy_row(context,
                     job->input + (plane * context->in_height + context->rows[row]) *
                                      context->in_width * context->lanes,
                     to);
    }
    return TN_OK;
}

static tn_status nearest_run(tn_call *call) {
    enum { GRAIN_BYTES = 65536 };
    const nearest_context *context = call->context;
    nearest_job job = {context, call->inputs[0]->data, call->outputs[0]->data};
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return call->host->parallel_for(call, context->planes * context->out_height,
                                    GRAIN_BYTES / (context->out_width * context->lanes) + 1,
                                    copy_rows, &job);
}

static const char *const combinations[] = {"qi8, *?... -> qi8", "qi8:nhwc, *?... -> qi8:nhwc",
                                           "u8|i8, *?... -> u8|i8",
                                           "u8|i8:nhwc, *?... -> u8|i8:nhwc"};

const tn_kernel tn_resize_int8_nearest = {
    TN_KERNEL_BEGIN("cpu", "", "Resize", "int8_nearest", 2,
                    "The nearest 8-bit elements copied by tables of indices."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
    TN_COMBINATIONS(combinations),
    .accepts = nearest_accepts,
    .open = nearest_open,
    .close = tn_kernel_context_destroy,
    .reshape = nearest_reshape,
    .run = nearest_run,
};
