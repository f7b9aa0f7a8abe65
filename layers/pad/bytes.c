/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pad of 8-bit tensors that stand for real numbers, linear or channels last. Bytes are moved as
 * move.c moves any; where input and output have scales of their own, the input's bytes are brought
 * to the output's scale first.
 */
#include "kit/operator/layer.h"
#include "kit/math/byte_table.h"
#include "kit/operator/physical.h"
#include "pad/pad.h"

/* The plan's axes as they lie in memory. */
static void order_axes(const tn_tensor *x, tn_pad_plan *plan) {
    tn_physical physical;
    const tn_pad_plan logical = *plan;
    tn_physical_init(&physical, x->format, x->rank, x->shape);
    for (uint32_t i = 0; i < plan->rank; i++) {
        const uint32_t place = physical.positions[i];
        plan->input[place] = logical.input[i];
        plan->output[place] = logical.output[i];
        plan->begin[place] = logical.begin[i];
        plan->low[place] = logical.low[i];
        plan->high[place] = logical.high[i];
    }
}

static bool is_rescaled(const tn_call *call) {
    return tn_byte_scale(call->inputs[0]) != tn_byte_scale(call->outputs[0]);
}

static tn_status bytes_accepts(tn_call *call) {
    return tn_byte_scale(call->inputs[0]) != 0 && tn_byte_scale(call->outputs[0]) != 0
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static tn_status bytes_reshape(tn_call *call) {
    call->workspace_bytes = is_rescaled(call) ? call->inputs[0]->bytes : 0;
    return TN_OK;
}

typedef struct rescale_job {
    tn_byte_table table;
    const int8_t *from;
    int8_t *to;
} rescale_job;

static tn_status rescale(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const rescale_job *job = user;
    (void)thread;
    tn_byte_table_apply(&job->table, end - begin, job->from + begin, job->to + begin);
    return TN_OK;
}

/* The constant at the output's scale. */
static int8_t read_value(tn_call *call) {
    const tn_pad_params *params = call->params;
    const tn_tensor *constant = tn_infer_input(call, TN_PAD_CONSTANT_VALUE);
    float value = 0;
    if (constant)
        memcpy(&value, constant->data, sizeof(value));
    else if (call->op->since_version < 11)
        value = params->value;
    return tn_byte_round(value, tn_byte_scale(call->outputs[0]));
}

static tn_status bytes_run(tn_call *call) {
    enum { GRAIN = 65536 };
    const tn_tensor *x = call->inputs[0];
    const void *from = x->data;
    const int8_t value = read_value(call);
    tn_pad_plan plan = {0};
    TN_TRY(tn_pad_read(call, &plan));
    order_axes(x, &plan);
    if (is_rescaled(call) && x->bytes > 0) {
        rescale_job job = {.from = x->data, .to = call->workspace};
        tn_byte_table_rescale(&job.table, tn_byte_scale(x), tn_byte_scale(call->outputs[0]));
        TN_TRY(call->host->parallel_for(call, (int64_t)x->bytes, GRAIN, rescale, &job));
        from = call->workspace;
    }
    return tn_pad_move(call, &plan, from, &value, 1, true);
}

static const char *const combinations[] = {"qi8, i64?, f32?, *? -> qi8",
                                           "qi8:nhwc, i64?, f32?, *? -> qi8:nhwc"};

const tn_kernel tn_pad_bytes = {
    TN_KERNEL_BEGIN("cpu", "", "Pad", "int8_runs", 1,
                    "Runs of 8-bit elements copied on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(combinations),
    .accepts = bytes_accepts,
    .reshape = bytes_reshape,
    .run = bytes_run,
};
