/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner product of the references of convolutions and matrix products, in double: two rows
 * against a panel of columns. Every sum is taken in the order of its depth, whichever row or column
 * it belongs to, so that equal inputs give equal bits. Fast kernels are elsewhere (matrix.h).
 */
#ifndef TN_KIT_GEMM_PRODUCT_H
#define TN_KIT_GEMM_PRODUCT_H

#include <tenon/plugin.h>

enum { TN_PRODUCT_COLUMNS = 16, TN_PRODUCT_ROWS = 2 };

/* sums[r * COLUMNS + c] = sum over k of rows[r * depth + k] * panel[k * COLUMNS + c]. All pointers
 * are aligned to 64 bytes but `rows`. */
void tn_product_tile(int64_t depth, const double *rows, const double *panel, double *sums);

/* Memory for a panel, rows and sums, from the host; freed by tn_product_destroy. */
typedef struct tn_product {
    double *panel, *rows, *sums;
} tn_product;
tn_status tn_product_create(tn_call *call, int64_t depth, tn_product *out_product);
void tn_product_destroy(const tn_call *call, tn_product *product); /* a zeroed one is fine */

/* A matrix inside a tensor's data: element (r, c) lies at offset + r * row_stride + c *
 * column_stride. */
typedef struct tn_product_matrix {
    const void *data;
    tn_type type;
    int64_t offset, row_stride, column_stride;
} tn_product_matrix;

/* y = alpha * a b + beta * c, row-major at y_offset of y's data; c's data null: none; c may be y.
 * Where y is real all matrices are, of any types: computed in double and rounded once. Else all
 * have y's type: integers wrap, in int64 where alpha and beta are integers, else in double. */
typedef struct tn_product_job {
    int64_t rows, columns, depth;
    double alpha, beta;
    tn_product_matrix a, b, c;
    tn_tensor *y;
    int64_t y_offset;
} tn_product_job;
/* `product` was made for at least job->depth. */
void tn_product_compute(const tn_product *product, const tn_product_job *job);

/* count * item_bytes of the host's memory, aligned to 64 bytes; at least one byte. The caller gives
 * it back by host->deallocate. TN_ERROR_MEMORY. */
tn_status tn_product_allocate(tn_call *call, int64_t count, size_t item_bytes, void **out_memory);

#endif
