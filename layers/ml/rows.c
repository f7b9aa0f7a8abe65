/* SPDX-License-Identifier: Apache-2.0 */
/* See rows.h. */
#include "ml/rows.h"

#include <tenon/kit/parallel.h>

enum { GRAIN = 8192 };

/* Bytes of a thread, and of all. */
static tn_status count_bytes(tn_call *call, int64_t scratch, uint64_t labels, uint64_t threads,
                             uint64_t *out_thread_bytes, uint64_t *out_bytes) {
    int64_t rows = 0, columns = 0, bytes = 0;
    uint64_t total = 0, table = 0;
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    if (!tn_infer_add(columns, scratch, &bytes) || !tn_infer_multiply(bytes, 8, &bytes) ||
        !tn_infer_add(bytes, 64, &bytes) ||
        __builtin_mul_overflow((uint64_t)bytes, threads, &total) ||
        __builtin_mul_overflow(labels, sizeof(tn_string), &table) ||
        __builtin_add_overflow(total, table, &total))
        return call->host->fail(call, TN_ERROR_MEMORY, "the rows of input 0 are too long");
    *out_thread_bytes = (uint64_t)bytes & ~(uint64_t)63;
    *out_bytes = total;
    return TN_OK;
}

tn_status tn_ml_rows_reshape(tn_call *call, int64_t scratch, uint64_t labels) {
    uint64_t thread_bytes;
    return count_bytes(call, scratch, labels, call->threads ? call->threads : 1, &thread_bytes,
                       &call->workspace_bytes);
}

tn_status tn_ml_rows_open(tn_call *call, int64_t scratch, uint64_t labels, bool is_parallel,
                          tn_ml_rows *out_rows) {
    const uint64_t threads = is_parallel && call->threads ? call->threads : 1;
    uint64_t bytes = 0;
    *out_rows = (tn_ml_rows){.call = call, .is_parallel = is_parallel};
    TN_TRY(count_bytes(call, scratch, labels, threads, &out_rows->thread_bytes, &bytes));
    TN_TRY(tn_rows_read(call, 0, &out_rows->rows, &out_rows->columns));
    out_rows->room =
        is_parallel ? call->workspace : call->host->allocate(call->host, bytes + 1, 64);
    if (!out_rows->room)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a row of input 0");
    out_rows->table =
        (tn_string *)(void *)((char *)out_rows->room + threads * out_rows->thread_bytes);
    return TN_OK;
}

void tn_ml_rows_close(tn_ml_rows *rows) {
    if (!rows->is_parallel) rows->call->host->deallocate(rows->call->host, rows->room);
}

static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_ml_rows *rows = user;
    const tn_tensor *x = rows->call->inputs[0];
    double *room = (double *)(void *)((char *)rows->room + thread * rows->thread_bytes);
    tn_ml_row row = {.columns = rows->columns, .x = room, .scratch = room + rows->columns};
    for (row.index = begin; row.index < end; row.index++) {
        tn_element_read_f64(x->data, x->type, row.index * rows->columns, 1, rows->columns, row.x);
        rows->function(rows->user, &row);
    }
    return TN_OK;
}

tn_status tn_ml_rows_run(tn_ml_rows *rows, int64_t work, tn_ml_row_function function, void *user) {
    rows->function = function;
    rows->user = user;
    if (rows->rows == 0) return TN_OK;
    if (!rows->is_parallel) return do_rows(rows, 0, rows->rows, 0);
    return rows->call->host->parallel_for(
        rows->call, rows->rows, tn_parallel_grain(GRAIN, work > 0 ? work : 1), do_rows, rows);
}
