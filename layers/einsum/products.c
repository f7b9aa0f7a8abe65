/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum of floats by matrix products: the first operand with the second one, their product with
 * the third one, and so on. Of two operands the labels are a batch (in both, and still needed),
 * rows (in the left one alone), columns (in the right one alone) and a depth (in both, needed no
 * more). Labels of one operand that nobody needs are summed before. Products are those of
 * tenon/kit/matrix.h: the right side is packed block by block into the thread's scratch memory.
 */
#include "einsum/einsum.h"
#include "kit/gemm/matrix_block.h"
#include "kit/operator/layer.h"

enum { ALIGNMENT = 16 }; /* floats */

typedef struct stage {
    tn_einsum_list rows, columns, depth, batch, left_sums, right_sums;
    int64_t row_count, column_count, depth_count, batch_count;
    tn_einsum_list result; /* batch, rows, columns */
} stage;

/* Where in the workspace things are, in floats. */
typedef struct rooms {
    int64_t left, right, results[2], zeros, panels, panel, total;
} rooms;

typedef struct products_run {
    tn_call *call;
    const tn_matrix_level *level;
    tn_einsum einsum;
    tn_einsum_list labels; /* of the left side: of the product so far */
    int64_t strides[TN_EINSUM_LABELS];
    const float *left;
    rooms rooms;
} products_run;

/* Whether the output or an input from `next` on has the label. */
static bool is_needed(const tn_einsum *einsum, uint8_t label, uint32_t next) {
    bool found = tn_einsum_has(&einsum->output, label);
    for (uint32_t i = next; i < einsum->input_count && !found; i++)
        found = tn_einsum_has(&einsum->inputs[i], label);
    return found;
}

static void append(tn_einsum_list *list, const tn_einsum_list *more) {
    for (uint32_t i = 0; i < more->count; i++)
        if (!tn_einsum_has(list, more->labels[i])) tn_einsum_add(list, more->labels[i]);
}

/* The labels of input `input` against those of the left side. */
static stage read_stage(const tn_einsum *einsum, const tn_einsum_list *left, uint32_t input) {
    stage s = {.rows = {.count = 0}};
    tn_einsum_list both = {.count = 0};
    append(&both, left);
    append(&both, &einsum->inputs[input]);
    for (uint32_t i = 0; i < both.count; i++) {
        const uint8_t label = both.labels[i];
        const bool is_left = tn_einsum_has(left, label);
        const bool is_right = tn_einsum_has(&einsum->inputs[input], label);
        const bool needed = is_needed(einsum, label, input + 1);
        if (is_left && is_right)
            tn_einsum_add(needed ? &s.batch : &s.depth, label);
        else if (is_left)
            tn_einsum_add(needed ? &s.rows : &s.left_sums, label);
        else
            tn_einsum_add(needed ? &s.columns : &s.right_sums, label);
    }
    s.batch_count = tn_einsum_count(einsum, &s.batch);
    s.row_count = tn_einsum_count(einsum, &s.rows);
    s.column_count = tn_einsum_count(einsum, &s.columns);
    s.depth_count = tn_einsum_count(einsum, &s.depth);
    append(&s.result, &s.batch);
    append(&s.result, &s.rows);
    append(&s.result, &s.columns);
    return s;
}

/* ----------------------------------------------------------------------------------------------
 * workspace */

static int64_t larger(int64_t a, int64_t b) {
    return a < b ? b : a;
}

/* Zero: it does not fit. */
static int64_t floats_of(int64_t batch, int64_t a, int64_t b) {
    int64_t floats = 0;
    if (!tn_infer_multiply(batch, a, &floats) || !tn_infer_multiply(floats, b, &floats) ||
        floats > INT64_C(1) << 44)
        return INT64_C(1) << 44;
    return (floats + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

/* All sizes are at most 2^44 floats, sums and products with threads and blocks fit. */
static rooms plan_rooms(const products_run *run) {
    const int64_t block = (int64_t)run->level->lanes * run->level->vectors;
    tn_einsum_list labels = run->einsum.inputs[0];
    int64_t left = 0, right = 0, result = 0, depth = 0, columns = 0;
    for (uint32_t i = 1; i < run->einsum.input_count; i++) {
        const stage s = read_stage(&run->einsum, &labels, i);
        left = larger(left, floats_of(s.batch_count, s.row_count, s.depth_count));
        right = larger(right, floats_of(s.batch_count, s.depth_count, s.column_count));
        result = larger(result, floats_of(s.batch_count, s.row_count, s.column_count));
        depth = larger(depth, floats_of(1, s.depth_count, 1));
        columns = larger(columns, floats_of(1, s.column_count, 1));
        labels = s.result;
    }
    rooms r = {.left = 0, .right = left, .panel = depth * block};
    r.results[0] = r.right + right;
    r.results[1] = r.results[0] + result;
    r.zeros = r.results[1] + result;
    r.panels = r.zeros + columns + block;
    r.total = r.panels + r.panel * run->call->threads;
    return r;
}

static tn_status read_run(tn_call *call, products_run *run) {
    run->call = call;
    run->level = call->user;
    TN_TRY(tn_einsum_read(call, &run->einsum));
    run->labels = run->einsum.inputs[0];
    tn_einsum_strides(call, &run->einsum, 0, run->strides);
    run->left = call->inputs[0]->data;
    run->rooms = plan_rooms(run);
    return TN_OK;
}

static tn_status products_reshape(tn_call *call) {
    products_run run;
    TN_TRY(read_run(call, &run));
    call->workspace_bytes = (uint64_t)run.rooms.total * sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * one product */

typedef struct product_job {
    const products_run *run;
    const stage *stage;
    float *output;
    int64_t width, blocks;
} product_job;

/* An item is a block of columns of one product. */
static tn_status do_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const product_job *job = user;
    const products_run *run = job->run;
    const stage *s = job->stage;
    float *workspace = run->call->workspace;
    float *panel = workspace + run->rooms.panels + run->rooms.panel * thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t batch = item / job->blocks, first = item % job->blocks * job->width;
        const int64_t left = s->column_count - first;
        const tn_matrix_product product = {
            .level = run->level,
            .a = workspace + run->rooms.left + batch * s->row_count * s->depth_count,
            .bias = workspace + run->rooms.zeros,
            .output = job->output + batch * s->row_count * s->column_count,
            .rows = s->row_count,
            .depth = s->depth_count,
            .columns = s->column_count};
        tn_matrix_pack(run->level, s->depth_count, left < job->width ? left : job->width,
                       workspace + run->rooms.right + batch * s->depth_count * s->column_count +
                           first,
                       s->column_count, 1, 1.0f, panel);
        tn_matrix_block_run(&product, panel, first, 0, s->row_count);
    }
    return TN_OK;
}

static tn_status multiply(const products_run *run, const stage *s, float *output) {
    enum { GRAIN = 400000 }; /* multiplications */
    product_job job = {.run = run,
                       .stage = s,
                       .output = output,
                       .width = (int64_t)run->level->lanes * run->level->vectors};
    const int64_t elements = s->batch_count * s->row_count * s->column_count;
    if (elements == 0) return TN_OK;
    if (s->depth_count == 0) {
        memset(output, 0, (size_t)elements * sizeof(float));
        return TN_OK;
    }
    job.blocks = (s->column_count + job.width - 1) / job.width;
    const int64_t each = larger(run->rooms.panel, 1) < GRAIN && s->row_count < GRAIN
                             ? run->rooms.panel * (s->row_count + 8)
                             : GRAIN;
    return run->call->host->parallel_for(run->call, s->batch_count * job.blocks,
                                         GRAIN / (each + 1) + 1, do_blocks, &job);
}

/* ----------------------------------------------------------------------------------------------
 * all of them */

/* The left side by the labels first, second, third; the rest is `sums`. */
static tn_status gather_side(const products_run *run, const float *from, const int64_t *strides,
                             const tn_einsum_list *const order[3], const tn_einsum_list *sums,
                             float *to) {
    tn_einsum_gather gather = {
        .einsum = &run->einsum, .order = {.count = 0}, .sums = *sums, .from = from, .to = to};
    for (int i = 0; i < 3; i++)
        append(&gather.order, order[i]);
    memcpy(gather.strides, strides, sizeof(gather.strides));
    return tn_einsum_gather_run(run->call, &gather);
}

static void row_major(const tn_einsum *einsum, const tn_einsum_list *labels, int64_t *out_strides) {
    int64_t step = 1;
    memset(out_strides, 0, TN_EINSUM_LABELS * sizeof(*out_strides));
    for (uint32_t i = labels->count; i-- > 0; step *= einsum->extents[labels->labels[i]])
        out_strides[labels->labels[i]] = step;
}

/* The left side becomes its product with input `input`. */
static tn_status do_stage(products_run *run, uint32_t input) {
    const stage s = read_stage(&run->einsum, &run->labels, input);
    float *workspace = run->call->workspace;
    float *result = workspace + run->rooms.results[input % 2];
    int64_t strides[TN_EINSUM_LABELS];
    TN_TRY(gather_side(run, run->left, run->strides,
                       (const tn_einsum_list *const[]){&s.batch, &s.rows, &s.depth}, &s.left_sums,
                       workspace + run->rooms.left));
    tn_einsum_strides(run->call, &run->einsum, input, strides);
    TN_TRY(gather_side(run, run->call->inputs[input]->data, strides,
                       (const tn_einsum_list *const[]){&s.batch, &s.depth, &s.columns},
                       &s.right_sums, workspace + run->rooms.right));
    TN_TRY(multiply(run, &s, result));
    row_major(&run->einsum, &s.result, run->strides);
    run->labels = s.result;
    run->left = result;
    return TN_OK;
}

static tn_status products_run_all(tn_call *call) {
    static const tn_einsum_list none = {.count = 0};
    tn_einsum_list sums = {.count = 0};
    products_run run;
    TN_TRY(read_run(call, &run));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (run.einsum.input_count > 1)
        memset((float *)call->workspace + run.rooms.zeros, 0,
               (size_t)(run.rooms.panels - run.rooms.zeros) * sizeof(float));
    for (uint32_t i = 1; i < run.einsum.input_count; i++)
        TN_TRY(do_stage(&run, i));
    for (uint32_t i = 0; i < run.labels.count; i++)
        if (!tn_einsum_has(&run.einsum.output, run.labels.labels[i]) &&
            !tn_einsum_has(&sums, run.labels.labels[i]))
            tn_einsum_add(&sums, run.labels.labels[i]);
    return gather_side(&run, run.left, run.strides,
                       (const tn_einsum_list *const[]){&run.einsum.output, &none, &none}, &sums,
                       call->outputs[0]->data);
}

static const char *const products_combinations[] = {"f32... -> f32"};
#define PRODUCTS(level_name)                                                                       \
    const tn_kernel tn_einsum_products_##level_name = {                                            \
        TN_KERNEL_BEGIN("cpu", "", "Einsum", "products_" #level_name, 1,                           \
                        "Matrix products of two operands at a time, on all threads."),             \
        .requires_features = TN_KIT_FEATURES_##level_name,                                         \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        TN_COMBINATIONS(products_combinations),                                                    \
        .reshape = products_reshape,                                                               \
        .run = products_run_all,                                                                   \
        .user = (void *)(uintptr_t)&tn_matrix_##level_name}
PRODUCTS(baseline);
PRODUCTS(avx2);
PRODUCTS(avx512);
