/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LinearAttention in double precision: an item of work is a block of columns of one head's state
 * over all steps. The columns do not depend on each other.
 */
#include "kit/operator/layer.h"
#include "linear_attention/linear_attention.h"
#include "linear_attention/step.h"
#include <tenon/kit/parallel.h>

#include <math.h>

typedef struct linear_job {
    const tn_call *call;
    const tn_linear_level *level;
    tn_linear_attention_sizes sizes;
    double *scratch;
    uint64_t scratch_doubles; /* a thread */
    int64_t blocks;           /* of columns of a head */
} linear_job;

/* A block of columns, and its part of the scratch memory. */
typedef struct columns {
    const linear_job *job;
    int64_t batch, head, first, count;
    double *state;         /* k_depth x TN_LINEAR_COLUMNS */
    double *values, *sums; /* TN_LINEAR_COLUMNS */
    double *row;           /* k_depth: a key, a query, or factors */
} columns;

static tn_status read_job(tn_call *call, linear_job *job) {
    job->call = call;
    job->level = call->user;
    TN_TRY(tn_linear_attention_read(call, &job->sizes));
    job->blocks = (job->sizes.v_depth + TN_LINEAR_COLUMNS - 1) / TN_LINEAR_COLUMNS;
    const uint64_t depth = (uint64_t)job->sizes.k_depth;
    if (__builtin_mul_overflow(depth + 2, (uint64_t)TN_LINEAR_COLUMNS + 1, &job->scratch_doubles) ||
        job->scratch_doubles > INT64_MAX / 65536)
        return call->host->fail(call, TN_ERROR_MEMORY, "the extents are too large");
    return TN_OK;
}

static tn_status columns_reshape(tn_call *call) {
    linear_job job;
    TN_TRY(read_job(call, &job));
    call->workspace_bytes = job.scratch_doubles * sizeof(double) * call->threads;
    return TN_OK;
}

/* `count` numbers of a step's input, from `first` on. */
static void read_row(const columns *of, uint32_t input, int64_t step, int64_t first, int64_t count,
                     double *to) {
    const tn_tensor *tensor = of->job->call->inputs[input];
    const int64_t at = (of->batch * of->job->sizes.steps + step) * tensor->shape[2] + first;
    for (int64_t i = 0; i < count; i++)
        to[i] = tn_element_f64(tensor, at + i);
}

static void read_factors(const columns *of, int64_t step) {
    const tn_linear_attention_sizes *sizes = &of->job->sizes;
    const int64_t depth = sizes->k_depth;
    const bool is_per_head = sizes->decays == sizes->kv_heads;
    if (depth == 0) return;
    read_row(of, TN_LINEAR_DECAY, step, is_per_head ? of->head : of->head * depth,
             is_per_head ? 1 : depth, of->row);
    for (int64_t i = 0; i < (is_per_head ? 1 : depth); i++)
        of->row[i] = exp(of->row[i]);
    for (int64_t i = 1; is_per_head && i < depth; i++)
        of->row[i] = of->row[0];
}

/* v = b (v - S^T k), where `row` is k. */
static void correct_values(const columns *of, int64_t step) {
    const tn_linear_attention_sizes *sizes = &of->job->sizes;
    double rate = 0;
    of->job->level->read(sizes->k_depth, of->row, of->state, of->sums);
    read_row(of, TN_LINEAR_BETA, step, sizes->betas == 1 ? 0 : of->head, 1, &rate);
    for (int64_t i = 0; i < of->count; i++)
        of->values[i] = rate * (of->values[i] - of->sums[i]);
}

static void write_outputs(const columns *of, int64_t step) {
    const tn_linear_attention_sizes *sizes = &of->job->sizes;
    const tn_tensor *output = tn_infer_output(of->job->call, TN_LINEAR_OUTPUT);
    for (int64_t g = 0; output && g < sizes->group; g++) {
        const int64_t head = of->head * sizes->group + g;
        const int64_t row = (of->batch * sizes->steps + step) * sizes->q_heads + head;
        read_row(of, TN_LINEAR_QUERY, step, head * sizes->k_depth, sizes->k_depth, of->row);
        of->job->level->read(sizes->k_depth, of->row, of->state, of->sums);
        for (int64_t i = 0; i < of->count; i++)
            tn_element_set_f64(output, row * sizes->v_depth + of->first + i,
                               of->sums[i] * sizes->scale);
    }
}

static void take_step(const columns *of, int64_t step) {
    const tn_linear_attention_sizes *sizes = &of->job->sizes;
    const tn_linear_level *level = of->job->level;
    if (sizes->is_gated) {
        read_factors(of, step);
        level->decay(sizes->k_depth, of->row, of->state);
    }
    read_row(of, TN_LINEAR_KEY, step, of->head * sizes->k_depth, sizes->k_depth, of->row);
    read_row(of, TN_LINEAR_VALUE, step, of->head * sizes->v_depth + of->first, of->count,
             of->values);
    if (sizes->is_delta) correct_values(of, step);
    level->add(sizes->k_depth, of->row, of->values, of->state);
    write_outputs(of, step);
}

static void do_columns(const columns *of) {
    const tn_linear_attention_sizes *sizes = &of->job->sizes;
    const tn_tensor *past = tn_infer_input(of->job->call, TN_LINEAR_PAST);
    const tn_tensor *present = tn_infer_output(of->job->call, TN_LINEAR_PRESENT);
    const int64_t row = (of->batch * sizes->kv_heads + of->head) * sizes->k_depth;
    memset(of->state, 0, (size_t)sizes->k_depth * TN_LINEAR_COLUMNS * sizeof(double));
    memset(of->values, 0, TN_LINEAR_COLUMNS * sizeof(double));
    for (int64_t k = 0; past && k < sizes->k_depth; k++)
        for (int64_t i = 0; i < of->count; i++)
            of->state[k * TN_LINEAR_COLUMNS + i] =
                tn_element_f64(past, (row + k) * sizes->v_depth + of->first + i);
    for (int64_t step = 0; step < sizes->steps; step++)
        take_step(of, step);
    for (int64_t k = 0; present && k < sizes->k_depth; k++)
        for (int64_t i = 0; i < of->count; i++)
            tn_element_set_f64(present, (row + k) * sizes->v_depth + of->first + i,
                               of->state[k * TN_LINEAR_COLUMNS + i]);
}

static tn_status do_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const linear_job *job = user;
    const tn_linear_attention_sizes *sizes = &job->sizes;
    for (int64_t item = begin; item < end; item++) {
        const int64_t head = item / job->blocks, first = item % job->blocks * TN_LINEAR_COLUMNS;
        const int64_t left = sizes->v_depth - first;
        columns of = {.job = job,
                      .batch = head / sizes->kv_heads,
                      .head = head % sizes->kv_heads,
                      .first = first,
                      .count = left < TN_LINEAR_COLUMNS ? left : TN_LINEAR_COLUMNS,
                      .state = job->scratch + thread * job->scratch_doubles};
        of.values = of.state + sizes->k_depth * TN_LINEAR_COLUMNS;
        of.sums = of.values + TN_LINEAR_COLUMNS;
        of.row = of.sums + TN_LINEAR_COLUMNS;
        do_columns(&of);
    }
    return TN_OK;
}

static tn_status columns_run(tn_call *call) {
    enum { GRAIN = 65536 };
    linear_job job;
    TN_TRY(read_job(call, &job));
    const tn_linear_attention_sizes *sizes = &job.sizes;
    job.scratch = call->workspace;
    if (sizes->batch == 0 || sizes->v_depth == 0) return TN_OK;
    const int64_t each = (sizes->steps + 1) * (sizes->k_depth + 1) * TN_LINEAR_COLUMNS;
    return call->host->parallel_for(call, sizes->batch * sizes->kv_heads * job.blocks,
                                    tn_parallel_grain(GRAIN, each), do_items, &job);
}

TN_LEVEL_KERNELS(columns, tn_linear, "LinearAttention", "columns",
                 "Blocks of columns of the state on all threads, in double precision.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                 .reshape = columns_reshape, .run = columns_run);
const tn_kernel *const tn_linear_attention_kernels[1] = {TN_LEVEL_LIST(columns)};
