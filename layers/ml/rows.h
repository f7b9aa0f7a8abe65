/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that compute row by row, in double precision: their reference does it on one thread,
 * their kernel on all of them. Room for rows and labels is the workspace's, or of the reference
 * allocated.
 */
#ifndef TN_LAYERS_ML_ROWS_H
#define TN_LAYERS_ML_ROWS_H

#include "kit/operator/layer.h"
#include "ml/scores.h"

/* A row of input 0 as doubles, which may be changed; behind it is the scratch that was asked for.
 */
typedef struct tn_ml_row {
    int64_t index, columns;
    double *x, *scratch;
} tn_ml_row;
typedef void (*tn_ml_row_function)(void *user, const tn_ml_row *row);

typedef struct tn_ml_rows {
    tn_call *call;
    void *memory;
    tn_string *table; /* for labels */
    int64_t rows, columns;
    uint64_t thread_bytes;
    tn_ml_row_function function;
    void *user;
    bool is_parallel;
} tn_ml_rows;

/* A kernel's `reshape`: `scratch` doubles a thread, and room for `labels` labels. */
tn_status tn_ml_rows_reshape(tn_call *call, int64_t scratch, uint64_t labels);
/* The same of the call that runs; closed by tn_ml_rows_close. */
tn_status tn_ml_rows_open(tn_call *call, int64_t scratch, uint64_t labels, bool is_parallel,
                          tn_ml_rows *out_rows);
void tn_ml_rows_close(tn_ml_rows *rows);
/* `work`: about how many operations a row takes. */
tn_status tn_ml_rows_run(tn_ml_rows *rows, int64_t work, tn_ml_row_function function, void *user);

/* Defines PREFIX_rows, the kernel of PREFIX_reshape and PREFIX_run. */
#define TN_ML_ROWS_KERNEL(prefix, operator_name, ...)                                              \
    TN_CPU_KERNEL_OF(prefix##_rows, TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, TN_ML,          \
                     operator_name, "rows", "Rows on all threads.", .reshape = prefix##_reshape,   \
                     .run = prefix##_run, __VA_ARGS__)

#endif
