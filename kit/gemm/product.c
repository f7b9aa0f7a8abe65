/* SPDX-License-Identifier: Apache-2.0 */
/* The inner product of references; see product.h. */
#include "kit/gemm/product.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

#include <math.h>

/* Two doubles at once: what every processor of the architecture has. */
typedef double pair __attribute__((vector_size(16)));

enum { COLUMNS = TN_PRODUCT_COLUMNS, PAIRS = 4 };

/* Eight columns of the panel: all sums stay in registers. */
static void half_tile(int64_t depth, const double *rows, const double *panel, double *sums) {
    pair first[PAIRS] = {{0}}, second[PAIRS] = {{0}};
    for (int64_t k = 0; k < depth; k++) {
        const pair *values = (const pair *)(panel + k * COLUMNS);
        pair a = {rows[k], rows[k]}, b = {rows[depth + k], rows[depth + k]};
        for (int i = 0; i < PAIRS; i++) {
            first[i] += a * values[i];
            second[i] += b * values[i];
        }
    }
    for (int i = 0; i < PAIRS; i++) {
        ((pair *)sums)[i] = first[i];
        ((pair *)(sums + COLUMNS))[i] = second[i];
    }
}

void tn_product_tile(int64_t depth, const double *rows, const double *panel, double *sums) {
    for (int column = 0; column < COLUMNS; column += 2 * PAIRS)
        half_tile(depth, rows, panel + column, sums + column);
}

tn_status tn_product_allocate(tn_call *call, int64_t count, size_t item_bytes, void **out_memory) {
    int64_t bytes;
    void *memory = NULL;
    if (tn_infer_multiply(count, (int64_t)item_bytes, &bytes))
        memory = call->host->allocate(call->host, (uint64_t)bytes + 1, 64);
    if (!memory)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld values of scratch",
                                (long long)count);
    *out_memory = memory;
    return TN_OK;
}

tn_status tn_product_create(tn_call *call, int64_t depth, tn_product *out_product) {
    int64_t rows = depth * TN_PRODUCT_ROWS, panel;
    int64_t sums = TN_PRODUCT_ROWS * COLUMNS;
    void *memory = NULL;
    if (!tn_infer_multiply(depth, COLUMNS, &panel)) panel = INT64_MAX / 64;
    TN_TRY(tn_product_allocate(call, panel + sums + rows, sizeof(double), &memory));
    out_product->panel = memory;
    out_product->sums = out_product->panel + panel;
    out_product->rows = out_product->sums + sums;
    return TN_OK;
}

void tn_product_destroy(const tn_call *call, tn_product *product) {
    call->host->deallocate(call->host, product->panel);
}

static int64_t offset_of(const tn_product_matrix *matrix, int64_t row, int64_t column) {
    return matrix->offset + row * matrix->row_stride + column * matrix->column_stride;
}

/* Rows begin..begin+rows-1 of a, one after the other; a missing second row is zero. */
static void read_rows(const tn_product *product, const tn_product_job *job, int64_t begin,
                      int64_t rows) {
    const tn_product_matrix *a = &job->a;
    for (int64_t row = 0; row < rows; row++)
        tn_element_read_f64(a->data, a->type, offset_of(a, begin + row, 0), a->column_stride,
                            job->depth, product->rows + row * job->depth);
    for (int64_t i = rows * job->depth; i < TN_PRODUCT_ROWS * job->depth; i++)
        product->rows[i] = 0;
}

static void read_panel(const tn_product *product, const tn_product_job *job, int64_t first,
                       int64_t count) {
    const tn_product_matrix *b = &job->b;
    for (int64_t k = 0; k < job->depth; k++) {
        double *values = product->panel + k * COLUMNS;
        tn_element_read_f64(b->data, b->type, offset_of(b, k, first), b->column_stride, count,
                            values);
        for (int64_t i = count; i < COLUMNS; i++)
            values[i] = 0;
    }
}

static void finish_row(const tn_product_job *job, int64_t row, int64_t first, int64_t count,
                       double *sums) {
    const tn_product_matrix *c = &job->c;
    for (int64_t i = 0; i < count; i++) {
        double addend =
            c->data ? tn_element_load_f64(c->data, c->type, offset_of(c, row, first + i)) : 0;
        sums[i] = job->alpha * sums[i] + (c->data ? job->beta * addend : 0);
    }
    tn_element_write_f64(job->y->data, job->y->type, job->y_offset + row * job->columns + first,
                         count, sums);
}

static void compute_real(const tn_product *product, const tn_product_job *job) {
    for (int64_t first = 0; first < job->columns; first += COLUMNS) {
        int64_t count = job->columns - first < COLUMNS ? job->columns - first : COLUMNS;
        read_panel(product, job, first, count);
        for (int64_t row = 0; row < job->rows; row += TN_PRODUCT_ROWS) {
            int64_t rows = job->rows - row < TN_PRODUCT_ROWS ? 1 : TN_PRODUCT_ROWS;
            read_rows(product, job, row, rows);
            tn_product_tile(job->depth, product->rows, product->panel, product->sums);
            for (int64_t i = 0; i < rows; i++)
                finish_row(job, row + i, first, count, product->sums + i * COLUMNS);
        }
    }
}

/* One element in arithmetic modulo 2^64, from which every narrower type is cut. */
static int64_t sum_whole(const tn_product_job *job, int64_t row, int64_t column) {
    const tn_product_matrix *a = &job->a, *b = &job->b, *c = &job->c;
    uint64_t sum = 0;
    for (int64_t k = 0; k < job->depth; k++)
        sum += (uint64_t)tn_element_load_i64(a->data, a->type, offset_of(a, row, k)) *
               (uint64_t)tn_element_load_i64(b->data, b->type, offset_of(b, k, column));
    sum *= (uint64_t)(int64_t)job->alpha;
    if (c->data)
        sum += (uint64_t)(int64_t)job->beta *
               (uint64_t)tn_element_load_i64(c->data, c->type, offset_of(c, row, column));
    return (int64_t)sum;
}

static bool is_whole(double value) {
    return value == trunc(value) && fabs(value) < 9007199254740992.0;
}

void tn_product_compute(const tn_product *product, const tn_product_job *job) {
    tn_type type = job->y->type;
    if (tn_element_is_real(type) || !is_whole(job->alpha) || !is_whole(job->beta)) {
        compute_real(product, job);
        return;
    }
    for (int64_t row = 0; row < job->rows; row++)
        for (int64_t column = 0; column < job->columns; column++)
            tn_element_store_i64(job->y->data, type, job->y_offset + row * job->columns + column,
                                 sum_whole(job, row, column));
}
