/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum's matrix products (products.h). Of floats that of tenon/kit/matrix.h: the right side is
 * packed block by block into the thread's scratch memory, and where it is one column, rows are
 * multiplied by it with dot products. Of doubles and integers that of kit/gemm/matrix_types.h.
 */
#include "einsum/products.h"
#include <tenon/kit/parallel.h>

typedef struct product_job {
    const products_run *run;
    void *output;
    int64_t width, blocks; /* columns (rows, of what is not packed) of a block */
} product_job;

/* The first element of a batch of an operand. */
static const char *operand_at(const products_run *run, const operand *side, int64_t batch) {
    return (const char *)side->data + batch * side->batch_stride * run->bytes;
}

/* An item is a block of columns of one product. */
static tn_status do_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const product_job *job = user;
    const products_run *run = job->run;
    const stage *s = &run->stage;
    float *panel = workspace_at(run, run->offsets.panels + run->offsets.panel * thread);
    for (int64_t item = begin; item < end; item++) {
        const int64_t batch = item / job->blocks, first = item % job->blocks * job->width;
        const int64_t left = s->column_count - first;
        const tn_matrix_product product = {
            .level = run->level,
            .a = (const float *)(const void *)operand_at(run, &run->left, batch),
            .bias = workspace_at(run, run->offsets.zeros),
            .output = (float *)job->output + batch * s->row_count * s->column_count,
            .rows = s->row_count,
            .depth = s->depth_count,
            .columns = s->column_count};
        tn_matrix_pack(run->level, s->depth_count, left < job->width ? left : job->width,
                       (const float *)(const void *)operand_at(run, &run->right, batch) +
                           first * run->right.stride,
                       run->right.depth_stride, run->right.stride, 1.0f, panel);
        tn_matrix_block_run(&product, panel, NULL, first, 0, s->row_count);
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
        ((float *)job->output)[item] = dot(
            s->depth_count,
            (const float *)(const void *)operand_at(run, &run->left, batch) + row * s->depth_count,
            (const float *)(const void *)operand_at(run, &run->right, batch));
    }
    return TN_OK;
}

/* An item is a block of rows of one product, whose operands are contiguous. */
static tn_status do_types(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const product_job *job = user;
    const products_run *run = job->run;
    const stage *s = &run->stage;
    const tn_matrix_types_product product =
        tn_matrix_types_of(run->types, run->call->outputs[0]->type);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t batch = item / job->blocks, first = item % job->blocks * job->width;
        const int64_t left = s->row_count - first;
        product(left < job->width ? left : job->width, s->depth_count, s->column_count,
                operand_at(run, &run->left, batch) + first * s->depth_count * run->bytes,
                operand_at(run, &run->right, batch),
                (char *)job->output +
                    (batch * s->row_count + first) * s->column_count * run->bytes);
    }
    return TN_OK;
}

static tn_status multiply_types(const products_run *run, product_job *job) {
    enum { GRAIN = 100000, ROWS = 16 }; /* multiplications, rows of a block */
    const stage *s = &run->stage;
    const double each = (double)ROWS * (double)s->depth_count * (double)s->column_count;
    job->width = ROWS;
    job->blocks = (s->row_count + ROWS - 1) / ROWS;
    return run->call->host->parallel_for(run->call, s->batch_count * job->blocks,
                                         each < GRAIN ? (int64_t)(GRAIN / (each + 1)) + 1 : 1,
                                         do_types, job);
}

tn_status tn_einsum_multiply(const products_run *run, void *output) {
    enum { GRAIN = 400000 }; /* multiplications */
    const stage *s = &run->stage;
    product_job job = {.run = run, .output = output};
    const int64_t elements = s->batch_count * s->row_count * s->column_count;
    if (elements == 0) return TN_OK;
    if (s->depth_count == 0) {
        memset(output, 0, (size_t)(elements * run->bytes));
        return TN_OK;
    }
    if (run->types) return multiply_types(run, &job);
    job.width = (int64_t)run->level->lanes * run->level->vectors;
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
