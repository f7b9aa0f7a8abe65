/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that compute row by row, in double precision: their reference does it on one thread,
 * their kernel on all of them. Room for rows and labels is the workspace's, or of the reference
 * allocated.
 */
#ifndef TN_LAYERS_ML_ROWS_H
#define TN_LAYERS_ML_ROWS_H

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
    void *room;
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

#endif
