/* SPDX-License-Identifier: Apache-2.0 */
/* What products.c, which reads nodes as matrix products, and multiply.c, which computes those,
 * share. */
#ifndef TN_LAYERS_EINSUM_PRODUCTS_H
#define TN_LAYERS_EINSUM_PRODUCTS_H

#include "einsum/einsum.h"
#include "kit/gemm/matrix_block.h"
#include "kit/gemm/matrix_types.h"
#include "kit/operator/layer.h"

typedef struct stage {
    tn_einsum_list rows, columns, depth, batch;
    bool has_sums; /* labels of one side that the output lacks */
    int64_t row_count, column_count, depth_count, batch_count;
    tn_einsum_list result; /* batch, rows, columns */
} stage;

/* Where in the workspace things are, in elements. */
typedef struct offsets {
    int64_t left, right, result, zeros, panels, panel, total;
} offsets;

/* How elements of an operand are stepped to: (batch, row or column, depth). */
typedef struct operand {
    const void *data;
    int64_t batch_stride, stride, depth_stride;
} operand;

/* What a kernel's `user` points at: one of both. */
typedef struct products_user {
    const tn_matrix_level *level; /* of 32-bit floats */
    const tn_matrix_types *types; /* of doubles and integers */
} products_user;

typedef struct products_run {
    tn_call *call;
    const tn_matrix_level *level;
    const tn_matrix_types *types;
    int64_t bytes; /* of an element */
    tn_einsum einsum;
    uint32_t inputs[2]; /* that of the rows, that of the columns */
    stage stage;        /* of two inputs */
    offsets offsets;
    operand left, right;
} products_run;

static inline void *workspace_at(const products_run *run, int64_t element) {
    return (char *)run->call->workspace + element * run->bytes;
}

/* output[batch][row][column] = sum over the depth of left * right. [called: run] */
tn_status tn_einsum_multiply(const products_run *run, void *output);

#endif
