/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum of floats by a matrix product of two operands, or sums of one. Labels of two operands are
 * a batch (in both, and in the output), rows (in the left one and the output), columns (in the
 * right one and the output) and a depth (in both alone). Equations with a label of one operand
 * alone, and those of more operands, are left to the elements: another order of sums would let an
 * infinity meet another factor. The product is that of tenon/kit/matrix.h: the right side is packed
 * block by block into the thread's scratch memory. Operands are read as they are where strides
 * allow it, and copied in another order of labels elsewhere; where there is one column, rows are
 * multiplied by it with dot products.
 */
#include "einsum/einsum.h"
#include "kit/gemm/matrix_block.h"
#include "kit/operator/layer.h"
#include <tenon/kit/parallel.h>

enum { ALIGNMENT = 16 }; /* floats */

typedef struct stage {
    tn_einsum_list rows, columns, depth, batch;
    bool has_sums; /* labels of one side that the output lacks */
    int64_t row_count, column_count, depth_count, batch_count;
    tn_einsum_list result; /* batch, rows, columns */
} stage;

/* Where in the workspace things are, in floats. */
typedef struct offsets {
    int64_t left, right, result, zeros, panels, panel, total;
} offsets;

/* How elements of an operand are stepped to: (batch, row or column, depth). */
typedef struct operand {
    const float *data;
    int64_t batch_stride, stride, depth_stride;
} operand;

typedef struct products_run {
    tn_call *call;
    const tn_matrix_level *level;
    tn_einsum einsum;
    uint32_t inputs[2]; /* that of the rows, that of the columns */
    stage stage;        /* of two inputs */
    offsets offsets;
    operand left, right;
} products_run;

static void append(tn_einsum_list *list, const tn_einsum_list *more) {
    for (uint32_t i = 0; i < more->count; i++)
        if (!tn_einsum_has(list, more->labels[i])) tn_einsum_add(list, more->labels[i]);
}

/* The labels of both inputs. */
static stage read_stage(const tn_einsum *einsum, const uint32_t *inputs) {
    const tn_einsum_list *left = &einsum->inputs[inputs[0]], *right = &einsum->inputs[inputs[1]];
    stage s = {.rows = {.count = 0}};
    tn_einsum_list both = {.count = 0};
    append(&both, left);
    append(&both, right);
    for (uint32_t i = 0; i < both.count; i++) {
        const uint8_t label = both.labels[i];
        const bool is_left = tn_einsum_has(left, label);
        const bool is_right = tn_einsum_has(right, label);
        const bool needed = tn_einsum_has(&einsum->output, label);
        if (is_left && is_right)
            tn_einsum_add(needed ? &s.batch : &s.depth, label);
        else if (needed)
            tn_einsum_add(is_left ? &s.rows : &s.columns, label);
        else
            s.has_sums = true;
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

/* At most 2^44, which no memory has. */
static int64_t floats_of(int64_t batch, int64_t a, int64_t b) {
    int64_t floats = 0;
    if (!tn_infer_multiply(batch, a, &floats) || !tn_infer_multiply(floats, b, &floats) ||
        floats > INT64_C(1) << 44)
        return INT64_C(1) << 44;
    return (floats + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

/* Sums and products with threads and blocks fit. */
static offsets plan_offsets(const products_run *run) {
    const int64_t block = (int64_t)run->level->lanes * run->level->vectors;
    offsets r = {.left = 0};
    if (run->einsum.input_count < 2) return r;
    const stage *s = &run->stage;
    r.right = floats_of(s->batch_count, s->row_count, s->depth_count);
    r.result = r.right + floats_of(s->batch_count, s->depth_count, s->column_count);
    r.zeros = r.result + floats_of(s->batch_count, s->row_count, s->column_count);
    r.panels = r.zeros + floats_of(1, s->column_count, 1) + block;
    r.panel = floats_of(1, s->depth_count, 1) * block;
    r.total = r.panels + r.panel * run->call->threads;
    return r;
}

/* Whether the depth of the columns' operand lies beside each other. */
static bool has_adjacent_depth(const products_run *run) {
    const tn_einsum_list *labels = &run->einsum.inputs[1], *depth = &run->stage.depth;
    return depth->count > 0 && labels->labels[labels->count - 1] == depth->labels[depth->count - 1];
}

static tn_status read_run(tn_call *call, products_run *run) {
    run->call = call;
    run->level = call->user;
    run->inputs[0] = 0;
    run->inputs[1] = 1;
    TN_TRY(tn_einsum_read(call, &run->einsum));
    if (run->einsum.input_count > 1) run->stage = read_stage(&run->einsum, run->inputs);
    if (run->einsum.input_count > 1 && run->stage.row_count == 1 && run->stage.column_count > 1 &&
        has_adjacent_depth(run)) {
        run->inputs[0] = 1; /* a row by a matrix: the matrix by a column */
        run->inputs[1] = 0;
        run->stage = read_stage(&run->einsum, run->inputs);
    }
    run->offsets = plan_offsets(run);
    return TN_OK;
}

static tn_status products_accepts(tn_call *call) {
    products_run run;
    TN_TRY(read_run(call, &run));
    const uint32_t count = run.einsum.input_count;
    return count == 1 || (count == 2 && !run.stage.has_sums) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status products_reshape(tn_call *call) {
    products_run run;
    TN_TRY(read_run(call, &run));
    call->workspace_bytes = (uint64_t)run.offsets.total * sizeof(float);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * one product */

typedef struct product_job {
    const products_run *run;
    float *output;
    int64_t width, blocks;
} product_job;

/* An item is a block of columns of one product. */
static tn_status do_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const product_job *job = user;
    const products_run *run = job->run;
    const stage *s = &run->stage;
    float *workspace = run->call->workspace;
    float *panel = workspace + run->offsets.panels + run->offsets.panel * thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t batch = item / job->blocks, first = item % job->blocks * job->width;
        const int64_t left = s->column_count - first;
        const tn_matrix_product product = {.level = run->level,
                                           .a = run->left.data + batch * run->left.batch_stride,
                                           .bias = workspace + run->offsets.zeros,
                                           .output =
                                               job->output + batch * s->row_count * s->column_count,
                                           .rows = s->row_count,
                                           .depth = s->depth_count,
                                           .columns = s->column_count};
        tn_matrix_pack(run->level, s->depth_count, left < job->width ? left : job->width,
                       run->right.data + batch * run->right.batch_stride +
                           first * run->right.stride,
                       run->right.depth_stride, run->right.stride, 1.0f, panel);
        tn_matrix_block_run(&product, panel, first, 0, s->row_count);
    }
    return TN_OK;
}

/* Four lanes, which every processor of the architecture has; the order of the sums is fixed. */
typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

static float dot(int64_t count, const float *a, const float *b) {
    quad sums[4] = {{0}};
    float sum = 0;
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int k = 0; k < 4; k++)
            sums[k] += *(const quad *)(a + i + 4 * k) * *(const quad *)(b + i + 4 * k);
    for (; i < count; i++)
        sum += a[i] * b[i];
    const quad all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return sum + ((all[0] + all[1]) + (all[2] + all[3]));
}

/* An item is a row of one product, whose right side is one column. */
static tn_status do_dots(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const product_job *job = user;
    const products_run *run = job->run;
    const stage *s = &run->stage;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t batch = item / s->row_count, row = item % s->row_count;
        job->output[item] = dot(
            s->depth_count, run->left.data + batch * run->left.batch_stride + row * s->depth_count,
            run->right.data + batch * run->right.batch_stride);
    }
    return TN_OK;
}

static tn_status multiply(const products_run *run, float *output) {
    enum { GRAIN = 400000 }; /* multiplications */
    const stage *s = &run->stage;
    product_job job = {
        .run = run, .output = output, .width = (int64_t)run->level->lanes * run->level->vectors};
    const int64_t elements = s->batch_count * s->row_count * s->column_count;
    if (elements == 0) return TN_OK;
    if (s->depth_count == 0) {
        memset(output, 0, (size_t)elements * sizeof(float));
        return TN_OK;
    }
    if (s->column_count == 1)
        return run->call->host->parallel_for(
            run->call, elements, tn_parallel_grain(GRAIN / 8, s->depth_count), do_dots, &job);
    job.blocks = (s->column_count + job.width - 1) / job.width;
    const int64_t each = run->offsets.panel < GRAIN && s->row_count < GRAIN
                             ? run->offsets.panel * (s->row_count + 8)
                             : GRAIN;
    return run->call->host->parallel_for(run->call, s->batch_count * job.blocks,
                                         GRAIN / (each + 1) + 1, do_blocks, &job);
}

/* ----------------------------------------------------------------------------------------------
 * all of them */

/* Input `input` in this order of labels; what the order lacks is summed. */
static tn_status gather_input(const products_run *run, uint32_t input,
                              const tn_einsum_list *const order[3], float *to) {
    const tn_einsum_list *labels = &run->einsum.inputs[input];
    tn_einsum_gather gather = {.einsum = &run->einsum,
                               .order = {.count = 0},
                               .sums = {.count = 0},
                               .from = run->call->inputs[input]->data,
                               .to = to};
    for (int i = 0; i < 3; i++)
        append(&gather.order, order[i]);
    for (uint32_t i = 0; i < labels->count; i++)
        if (!tn_einsum_has(&gather.order, labels->labels[i]) &&
            !tn_einsum_has(&gather.sums, labels->labels[i]))
            tn_einsum_add(&gather.sums, labels->labels[i]);
    tn_einsum_strides(run->call, &run->einsum, input, gather.strides);
    return tn_einsum_gather_run(run->call, &gather);
}

/* The product, whose axes are batch, rows and columns, in the output's order. */
static tn_status order_result(const products_run *run, const float *result, float *to) {
    tn_einsum_gather gather = {.einsum = &run->einsum,
                               .order = run->einsum.output,
                               .sums = {.count = 0},
                               .from = result,
                               .to = to};
    const tn_einsum_list *labels = &run->stage.result;
    int64_t step = 1;
    for (uint32_t i = labels->count; i-- > 0; step *= run->einsum.extents[labels->labels[i]])
        gather.strides[labels->labels[i]] = step;
    return tn_einsum_gather_run(run->call, &gather);
}

static bool is_ordered(const products_run *run) {
    const tn_einsum_list *a = &run->stage.result, *b = &run->einsum.output;
    return a->count == b->count && memcmp(a->labels, b->labels, a->count) == 0;
}

/* The one stride of labels that are stepped through together, the last one fastest; false: there is
 * none. Labels of one element have any. */
static bool find_stride(const tn_einsum *einsum, const tn_einsum_list *list, const int64_t *strides,
                        int64_t *out_stride) {
    int64_t next = 0;
    *out_stride = 0;
    for (uint32_t i = list->count; i-- > 0;) {
        const uint8_t label = list->labels[i];
        if (einsum->extents[label] == 1) continue;
        if (next == 0)
            *out_stride = strides[label];
        else if (strides[label] != next)
            return false;
        next = strides[label] * einsum->extents[label];
        if (next == 0) return false;
    }
    return true;
}

/* The operand of `side` as it is, where its labels have a stride each; those of rows must be
 * contiguous, and the single column. Else a copy in `to`. */
static tn_status read_operand(const products_run *run, int side, float *to, operand *out) {
    const stage *s = &run->stage;
    const tn_einsum_list *own = side == 0 ? &s->rows : &s->columns;
    const int64_t count = side == 0 ? s->row_count : s->column_count;
    const bool is_depth_last = side == 0 || count == 1;
    int64_t strides[TN_EINSUM_LABELS];
    tn_einsum_strides(run->call, &run->einsum, run->inputs[side], strides);
    out->data = run->call->inputs[run->inputs[side]]->data;
    if (find_stride(&run->einsum, &s->batch, strides, &out->batch_stride) &&
        find_stride(&run->einsum, own, strides, &out->stride) &&
        find_stride(&run->einsum, &s->depth, strides, &out->depth_stride) &&
        (!is_depth_last || ((s->depth_count == 1 || out->depth_stride == 1) &&
                            (count == 1 || out->stride == s->depth_count))))
        return TN_OK;
    *out = (operand){to, count * s->depth_count, is_depth_last ? s->depth_count : 1,
                     is_depth_last ? 1 : count};
    return gather_input(run, run->inputs[side],
                        (const tn_einsum_list *const[]){&s->batch, is_depth_last ? own : &s->depth,
                                                        is_depth_last ? &s->depth : own},
                        to);
}

static tn_status products_run_all(tn_call *call) {
    static const tn_einsum_list none = {.count = 0};
    float *workspace = call->workspace, *output = call->outputs[0]->data;
    products_run run;
    TN_TRY(read_run(call, &run));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (run.einsum.input_count == 1)
        return gather_input(
            &run, 0, (const tn_einsum_list *const[]){&run.einsum.output, &none, &none}, output);
    float *result = is_ordered(&run) ? output : workspace + run.offsets.result;
    memset(workspace + run.offsets.zeros, 0,
           (size_t)(run.offsets.panels - run.offsets.zeros) * sizeof(float));
    TN_TRY(read_operand(&run, 0, workspace + run.offsets.left, &run.left));
    TN_TRY(read_operand(&run, 1, workspace + run.offsets.right, &run.right));
    TN_TRY(multiply(&run, result));
    return result == output ? TN_OK : order_result(&run, result, output);
}

static const char *const products_combinations[] = {"f32... -> f32"};
#define PRODUCTS(level_name)                                                                       \
    const tn_kernel tn_einsum_products_##level_name = TN_LEVEL_TABLE(                              \
        level_name, tn_matrix, "Einsum", "products",                                               \
        "A matrix product of two operands, on all threads.", .traits = TN_KERNEL_DETERMINISTIC,    \
        TN_COMBINATIONS(products_combinations), .accepts = products_accepts,                       \
        .reshape = products_reshape, .run = products_run_all)
PRODUCTS(baseline);
PRODUCTS(avx2);
PRODUCTS(avx512);
