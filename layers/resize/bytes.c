/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize by the nearest element of 8-bit tensors that stand for real numbers, along the last two
 * axes, linear or channels last: bytes are copied, through a table where the scales differ. Other
 * modes stay in floats (kernels.c).
 */
#include "kit/math/byte_table.h"
#include <tenon/kit/infer.h>
#include "resize/kernels.h"
#include "resize/resize.h"

#include <string.h>

/* Where the elements of a context's present shapes come from: a place along each axis for every
 * output place, columns behind rows. */
typedef struct nearest_context {
    int32_t *rows, *columns;
    int64_t capacity; /* of both */
    int64_t planes, lanes, in_height, in_width, out_height, out_width;
    bool is_rescaled;
    tn_byte_table table;
} nearest_context;

static bool is_taken(const tn_resize_plan *plan) {
    if (plan->mode != TN_RESIZE_NEAREST || plan->coordinates == TN_RESIZE_TF_CROP_AND_RESIZE ||
        plan->rank < 2)
        return false;
    for (uint32_t i = 0; i + 2 < plan->rank; i++)
        if (!plan->axes[i].is_identity) return false;
    for (uint32_t i = plan->rank - 2; i < plan->rank; i++)
        if (plan->axes[i].taps != 1 || plan->axes[i].input < 1 || plan->axes[i].output < 1 ||
            plan->axes[i].input > INT32_MAX || plan->axes[i].output > INT32_MAX / 4)
            return false;
    return true;
}

static tn_status nearest_accepts(tn_call *call) {
    tn_resize_plan plan;
    return tn_byte_scale(call->inputs[0]) != 0 && tn_byte_scale(call->outputs[0]) != 0 &&
                   tn_resize_read(call, &plan) == TN_OK && is_taken(&plan)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static tn_status nearest_open(tn_call *call) {
    nearest_context *context = call->host->allocate(call->host, sizeof(*context), 16);
    if (!context)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for the resize's context");
    memset(context, 0, sizeof(*context));
    call->context = context;
    return TN_OK;
}

static void nearest_close(tn_call *call) {
    nearest_context *context = call->context;
    call->host->deallocate(call->host, context->rows);
    call->host->deallocate(call->host, context);
}

static tn_status reserve(tn_call *call, nearest_context *context, int64_t count) {
    if (count <= context->capacity) return TN_OK;
    int32_t *memory = call->host->allocate(call->host, (uint64_t)count * sizeof(*memory), 64);
    if (!memory)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld places",
                                (long long)count);
    call->host->deallocate(call->host, context->rows);
    context->rows = memory;
    context->capacity = count;
    return TN_OK;
}

static void fill_places(const tn_resize_plan *plan, uint32_t axis, int32_t *places) {
    for (int64_t i = 0; i < plan->axes[axis].output; i++) {
        int64_t index = 0;
        double weight;
        (void)tn_resize_taps(plan, axis, i, &index, &weight); /* no crop: always inside */
        places[i] = (int32_t)index;
    }
}

static tn_status nearest_reshape(tn_call *call) {
    nearest_context *context = call->context;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_resize_plan plan;
    TN_TRY(tn_resize_read(call, &plan));
    if (!is_taken(&plan))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "copying the nearest element does not do these axes");
    const uint32_t last = plan.rank - 1;
    TN_TRY(reserve(call, context, plan.axes[last - 1].output + plan.axes[last].output));
    context->columns = context->rows + plan.axes[last - 1].output;
    fill_places(&plan, last - 1, context->rows);
    fill_places(&plan, last, context->columns);
    context->in_height = plan.axes[last - 1].input;
    context->in_width = plan.axes[last].input;
    context->out_height = plan.axes[last - 1].output;
    context->out_width = plan.axes[last].output;
    context->lanes = x->format == TN_LINEAR ? 1 : x->shape[1];
    context->planes =
        x->format == TN_LINEAR ? tn_infer_product(x->shape, 0, last - 1) : x->shape[0];
    context->is_rescaled = tn_byte_scale(x) != tn_byte_scale(y);
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

static const char *const combinations[] = {"qi8, *?... -> qi8", "qi8:nhwc, *?... -> qi8:nhwc"};

const tn_kernel tn_resize_bytes = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "",
    .op = "Resize",
    .device = "cpu",
    .name = "int8_nearest",
    .doc = "The nearest 8-bit elements copied by tables of places.",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
    .accepts = nearest_accepts,
    .open = nearest_open,
    .close = nearest_close,
    .reshape = nearest_reshape,
    .run = nearest_run,
};
