/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a padded tensor's elements, row by row: a row goes along the last padded axis, and its
 * items are the elements of all axes after that. What lies in the input's range is one run; rows
 * whose sources lie at even distances are moved together.
 */
#include "kit/math/element.h"
#include "kit/region/runs.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/region.h>
#include "pad/pad.h"

/* Some of a row's padding: where each item lies, and where it is read, in items. */
enum { BORDER_MOST = 64 };
typedef struct pad_border {
    int64_t count;
    struct {
        int64_t to, from;
    } items[BORDER_MOST];
} pad_border;

typedef struct pad_job {
    const tn_pad_plan *plan;
    const char *from;
    char *to;
    uint32_t axis;                  /* of the rows */
    int64_t strides[TN_MAX_RANK];   /* of the input, in items */
    size_t item_bytes, value_bytes; /* of an item, and of the constant */
    uint8_t value[8];
    int64_t first, middle; /* items before the run, and of the run */
    tn_runs_function copy;
    bool has_fill;     /* padding is filled with the constant; else it goes by its items */
    int64_t padding;   /* items of a row's padding */
    pad_border border; /* the first of them */
} pad_job;

/* Rows of the output beside each other; `step` is the distance of their sources, in bytes. */
typedef struct pad_rows {
    int64_t count, step;
    char *to;
    const char *from; /* null: the constant */
} pad_rows;

static void fill(const pad_job *job, char *to, int64_t items) {
    tn_element_fill(to, job->value_bytes, items * (int64_t)(job->item_bytes / job->value_bytes),
                    job->value);
}

static int64_t row_bytes_of(const pad_job *job) {
    return job->plan->output[job->axis] * (int64_t)job->item_bytes;
}

/* The padding's items from number `first` on, as many as there is room for. */
static void list_border(const pad_job *job, int64_t first, pad_border *border) {
    const int64_t left = job->padding - first;
    border->count = left < BORDER_MOST ? left : BORDER_MOST;
    for (int64_t i = 0; i < border->count; i++) {
        const int64_t to = first + i < job->first ? first + i : first + i + job->middle;
        const int64_t from = tn_pad_source(job->plan, job->axis, to);
        border->items[i].to = to;
        border->items[i].from = from < 0 ? 0 : from;
    }
}

/* `size` is a constant for items of single elements. */
#define COPY_BORDER(size)                                                                          \
    for (int64_t i = 0; i < rows->count; i++, to += row_bytes, from += step)                       \
        for (int64_t k = 0; k < border->count; k++)                                                \
            memcpy(to + border->items[k].to * (int64_t)(size),                                     \
                   from + border->items[k].from * (int64_t)(size), size);                          \
    return;

static void copy_border(const pad_job *job, const pad_rows *rows, const pad_border *border) {
    const bool is_constant = job->plan->mode == TN_PAD_CONSTANT;
    const int64_t row_bytes = row_bytes_of(job), step = is_constant ? 0 : rows->step;
    const char *from = is_constant ? (const char *)job->value : rows->from;
    char *to = rows->to;
    switch (job->item_bytes) {
    case 1:
        COPY_BORDER(1)
    case 2:
        COPY_BORDER(2)
    case 4:
        COPY_BORDER(4)
    case 8:
        COPY_BORDER(8)
    default:
        COPY_BORDER(job->item_bytes)
    }
}

/* The rows' padding at both ends. */
static void pad_borders(const pad_job *job, const pad_rows *rows) {
    const int64_t last = job->first + job->middle, after = job->padding - job->first;
    if (job->has_fill) {
        char *row = rows->to;
        for (int64_t i = 0; i < rows->count; i++, row += row_bytes_of(job)) {
            fill(job, row, job->first);
            fill(job, row + last * (int64_t)job->item_bytes, after);
        }
        return;
    }
    copy_border(job, rows, &job->border);
    for (int64_t i = BORDER_MOST; i < job->padding; i += BORDER_MOST) {
        pad_border more;
        list_border(job, i, &more);
        copy_border(job, rows, &more);
    }
}

static void move_some(const pad_job *job, const pad_rows *rows) {
    const int64_t item = (int64_t)job->item_bytes, row_bytes = row_bytes_of(job);
    const int64_t source = job->first - job->plan->begin[job->axis];
    if (!rows->from) {
        fill(job, rows->to, rows->count * job->plan->output[job->axis]);
        return;
    }
    const tn_runs runs = {.bytes = job->middle * item,
                          .counts = {1, rows->count},
                          .to_steps = {0, row_bytes},
                          .from_steps = {0, rows->step}};
    if (job->middle > 0) job->copy(&runs, rows->to + job->first * item, rows->from + source * item);
    pad_borders(job, rows);
}

/* How many positions of the output from this one on, at most `most`, have sources along the axis at
 * one distance, which is *out_step, or are constant. */
static int64_t count_even(const tn_pad_plan *plan, uint32_t axis, int64_t position, int64_t most,
                          int64_t *out_step) {
    const int64_t inside = position - plan->begin[axis],
                  source = tn_pad_source(plan, axis, position);
    int64_t count = 1;
    *out_step = 1;
    if (inside >= plan->low[axis] && inside < plan->high[axis])
        return plan->high[axis] - inside < most ? plan->high[axis] - inside : most;
    if (most > 1) *out_step = tn_pad_source(plan, axis, position + 1) - source;
    if (source < 0) *out_step = 0;
    while (count < most &&
           tn_pad_source(plan, axis, position + count) == source + count * *out_step)
        count++;
    return count;
}

/* The rows from this one on, at most `most`, that are moved together. The index is that of the
 * first one along the axes before its own. */
static void find_rows(const pad_job *job, const int64_t *index, int64_t most, pad_rows *rows) {
    const int64_t item_bytes = (int64_t)job->item_bytes;
    int64_t offset = 0, step = 0;
    bool is_constant = false;
    for (uint32_t i = 0; i < job->axis; i++) {
        const int64_t source = tn_pad_source(job->plan, i, index[i]);
        is_constant = is_constant || source < 0;
        offset += source * job->strides[i];
    }
    rows->count = 1;
    if (job->axis > 0) {
        const uint32_t before = job->axis - 1;
        const int64_t left = job->plan->output[before] - index[before];
        rows->count =
            count_even(job->plan, before, index[before], left < most ? left : most, &step);
        step *= job->strides[before] * item_bytes;
    }
    rows->step = step;
    rows->from = is_constant ? NULL : job->from + offset * item_bytes;
}

static tn_status move_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    enum { CACHED_BYTES = 16384 }; /* of rows whose middles, then borders are written */
    const pad_job *job = user;
    const tn_pad_plan *plan = job->plan;
    const int64_t row_bytes = row_bytes_of(job), most = (CACHED_BYTES + row_bytes - 1) / row_bytes;
    int64_t index[TN_MAX_RANK], first = begin; /* of the row along the axes before its own */
    pad_rows rows;
    (void)thread;
    for (uint32_t i = job->axis; i-- > 0; first /= plan->output[i])
        index[i] = first % plan->output[i];
    for (int64_t row = begin; row < end; row += rows.count) {
        find_rows(job, index, end - row < most ? end - row : most, &rows);
        rows.to = job->to + row * row_bytes;
        move_some(job, &rows);
        int64_t steps = rows.count;
        for (uint32_t i = job->axis; i-- > 0; steps = 1) {
            index[i] += steps;
            if (index[i] < plan->output[i]) break;
            index[i] = 0;
        }
    }
    return TN_OK;
}

static int64_t limit(int64_t value, int64_t highest) {
    return value < 0 ? 0 : value > highest ? highest : value;
}

/* The number of rows. */
static int64_t make_job(const tn_pad_plan *plan, pad_job *job) {
    enum { FEW = 16 }; /* items that are copied sooner than filled */
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
    job->copy = tn_runs_best();
    job->padding = count - job->middle;
    job->has_fill = plan->mode == TN_PAD_CONSTANT &&
                    (job->padding > FEW || job->item_bytes != job->value_bytes);
    if (!job->has_fill) list_border(job, 0, &job->border);
    return rows;
}

/* The reference: one element after the other. */
static void move_elements(const tn_pad_plan *plan, const pad_job *job) {
    int64_t strides[TN_MAX_RANK], count = 1;
    tn_region_strides(plan->rank, plan->input, strides);
    for (uint32_t i = 0; i < plan->rank; i++)
        count *= plan->output[i];
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, offset = 0;
        bool is_constant = false;
        for (uint32_t i = plan->rank; i-- > 0; rest /= plan->output[i]) {
            const int64_t source = tn_pad_source(plan, i, rest % plan->output[i]);
            is_constant = is_constant || source < 0;
            offset += source * strides[i];
        }
        memcpy(job->to + (size_t)n * job->value_bytes,
               is_constant ? (const char *)job->value
                           : job->from + offset * (int64_t)job->value_bytes,
               job->value_bytes);
    }
}

tn_status tn_pad_move(tn_call *call, const tn_pad_plan *plan, const void *from, const void *value,
                      size_t element_bytes, bool is_parallel) {
    enum { GRAIN_BYTES = 65536 };
    const tn_tensor *output = call->outputs[0];
    pad_job job = {.plan = plan, .from = from, .to = output->data, .value_bytes = element_bytes};
    if (tn_element_count(output) == 0) return TN_OK;
    memcpy(job.value, value, element_bytes);
    if (plan->rank == 0 || !is_parallel) {
        move_elements(plan, &job);
        return TN_OK;
    }
    const int64_t rows = make_job(plan, &job);
    return call->host->parallel_for(call, rows, GRAIN_BYTES / row_bytes_of(&job) + 1, move_rows,
                                    &job);
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
