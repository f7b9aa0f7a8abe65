/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a padded tensor's elements, row by row: a row goes along the last padded axis, and its
 * items are the elements of all axes after that. What lies in the input's range is one run.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "pad/pad.h"

typedef struct pad_job {
    const tn_pad_plan *plan;
    const char *from;
    char *to;
    uint32_t axis;                  /* of the rows */
    int64_t strides[TN_MAX_RANK];   /* of the input, in items */
    size_t item_bytes, value_bytes; /* of an item, and of the constant */
    uint8_t value[8];
    int64_t first, middle; /* items before the run, and of the run */
} pad_job;

static void fill(const pad_job *job, char *to, int64_t items) {
    tn_element_fill(to, job->value_bytes, items * (int64_t)(job->item_bytes / job->value_bytes),
                    job->value);
}

/* One item; most have the size of an element. */
static void copy_item(size_t bytes, char *to, const char *from) {
    switch (bytes) {
    case 1:
        *to = *from;
        return;
    case 4:
        memcpy(to, from, 4);
        return;
    default:
        memcpy(to, from, bytes);
    }
}

/* The items begin..end-1 of a row, all of them padding. */
static void pad_items(const pad_job *job, char *row, const char *from, int64_t begin, int64_t end) {
    if (job->plan->mode == TN_PAD_CONSTANT) {
        fill(job, row + (size_t)begin * job->item_bytes, end - begin);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        copy_item(job->item_bytes, row + (size_t)i * job->item_bytes,
                  from + (size_t)tn_pad_source(job->plan, job->axis, i) * job->item_bytes);
}

static void move_row(const pad_job *job, char *row, const char *from) {
    const int64_t count = job->plan->output[job->axis], last = job->first + job->middle;
    const int64_t source = job->first - job->plan->begin[job->axis];
    pad_items(job, row, from, 0, job->first);
    if (job->middle > 0)
        memcpy(row + (size_t)job->first * job->item_bytes, from + (size_t)source * job->item_bytes,
               (size_t)job->middle * job->item_bytes);
    pad_items(job, row, from, last, count);
}

static tn_status move_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const pad_job *job = user;
    const tn_pad_plan *plan = job->plan;
    const size_t row_bytes = (size_t)plan->output[job->axis] * job->item_bytes;
    int64_t index[TN_MAX_RANK], first = begin; /* of the row along the axes before its own */
    (void)thread;
    for (uint32_t i = job->axis; i-- > 0; first /= plan->output[i])
        index[i] = first % plan->output[i];
    for (int64_t row = begin; row < end; row++) {
        int64_t offset = 0;
        bool is_constant = false;
        for (uint32_t i = 0; i < job->axis; i++) {
            const int64_t source = tn_pad_source(plan, i, index[i]);
            is_constant = is_constant || source < 0;
            offset += source * job->strides[i];
        }
        char *to = job->to + (size_t)row * row_bytes;
        if (is_constant)
            fill(job, to, plan->output[job->axis]);
        else
            move_row(job, to, job->from + offset * (int64_t)job->item_bytes);
        for (uint32_t i = job->axis; i-- > 0 && ++index[i] == plan->output[i];)
            index[i] = 0;
    }
    return TN_OK;
}

static int64_t limit(int64_t value, int64_t highest) {
    return value < 0 ? 0 : value > highest ? highest : value;
}

/* The number of rows. */
static int64_t make_job(const tn_pad_plan *plan, pad_job *job) {
    int64_t rows = 1, items = 1, stride = 1;
    for (uint32_t i = 0; i < plan->rank; i++)
        if (plan->begin[i] != 0 || plan->output[i] != plan->input[i]) job->axis = i;
    for (uint32_t i = plan->rank; i-- > job->axis + 1;)
        items *= plan->input[i];
    for (uint32_t i = job->axis + 1; i-- > 0;) {
        job->strides[i] = stride;
        stride *= plan->input[i];
        if (i < job->axis) rows *= plan->output[i];
    }
    job->item_bytes = (size_t)items * job->value_bytes;
    const int64_t count = plan->output[job->axis], begin = plan->begin[job->axis];
    job->first = limit(plan->low[job->axis] + begin, count);
    job->middle = limit(plan->high[job->axis] + begin, count) - job->first;
    if (job->middle < 0) job->middle = 0;
    return rows;
}

tn_status tn_pad_move(tn_call *call, const tn_pad_plan *plan, const void *from, const void *value,
                      size_t element_bytes, bool is_parallel) {
    enum { GRAIN_BYTES = 65536 };
    const tn_tensor *output = call->outputs[0];
    pad_job job = {.plan = plan, .from = from, .to = output->data, .value_bytes = element_bytes};
    if (tn_element_count(output) == 0) return TN_OK;
    if (plan->rank == 0) {
        memcpy(output->data, from, element_bytes);
        return TN_OK;
    }
    memcpy(job.value, value, element_bytes);
    const int64_t rows = make_job(plan, &job);
    if (!is_parallel) return move_rows(&job, 0, rows, 0);
    const int64_t row_bytes = plan->output[job.axis] * (int64_t)job.item_bytes;
    return call->host->parallel_for(call, rows, GRAIN_BYTES / row_bytes + 1, move_rows, &job);
}

static tn_status pad(tn_call *call, bool is_parallel) {
    const tn_pad_params *params = call->params;
    const tn_tensor *constant = tn_infer_input(call, TN_PAD_CONSTANT_VALUE);
    const tn_type type = call->outputs[0]->type;
    uint8_t value[8] = {0};
    tn_pad_plan plan = {0};
    TN_TRY(tn_pad_read(call, &plan));
    if (constant)
        memcpy(value, constant->data, tn_element_bytes(type));
    else if (call->op->since_version < 11)
        tn_element_store_f64(value, type, 0, (double)params->value);
    return tn_pad_move(call, &plan, call->inputs[0]->data, value, tn_element_bytes(type),
                       is_parallel);
}

tn_status tn_pad_reference(tn_call *call) {
    return pad(call, false);
}

tn_status tn_pad_run(tn_call *call) {
    return pad(call, true);
}
