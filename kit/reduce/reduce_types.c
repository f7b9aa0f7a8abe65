/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callbacks of reduce_types.h. Columns are joined row by row. A contiguous lane is seen as rows
 * of a block of its own, whose columns are joined at last, by halves: the order does not depend on
 * the threads.
 */
#include "kit/reduce/reduce_types.h"
#include "kit/math/element.h"
#include "kit/reduce/lane_groups.h"
#include "kit/reduce/reduce.h"
#include "kit/reduce/reduce_kernel.h"

#include <math.h>

enum { WIDTH = 256 }; /* cells of a row: all rows of a unit stay in the first cache */

typedef struct cell_row {
    _Alignas(64) char bytes[WIDTH * sizeof(int64_t)];
} cell_row;

typedef struct types_job {
    const tn_reduce_types_user *user;
    const tn_tensor *x, *y;
    tn_lanes lanes;
    tn_cell cell;
} types_job;

tn_status tn_reduce_types_accepts(tn_call *call) {
    const tn_reduce_types_user *user = call->user;
    const tn_tensor *x = call->inputs[0];
    const bool is_whole = !tn_element_is_real(x->type);
    /* those have rows of floats */
    if ((x->type == TN_F32 && user->row.finish != TN_REDUCE_TYPES_LOG) || x->quantization ||
        (is_whole && user->row.finish > TN_REDUCE_TYPES_MEAN) ||
        (is_whole && user->row.finish == TN_REDUCE_TYPES_MEAN && x->type == TN_BOOL))
        return TN_ERROR_UNSUPPORTED;
    return tn_reduce_kernel_accepts(call);
}

static tn_cell cell_of(tn_type type) {
    if (tn_element_is_real(type)) return TN_CELL_F64;
    return type == TN_U64 ? TN_CELL_U64 : TN_CELL_I64;
}

static tn_cell_combine combine_of(const types_job *job, uint32_t combine) {
    return job->user->cells->wide[job->cell].combines[combine];
}

/* `count` elements from `first` on as cells that are joined, which may be the elements themselves.
 */
static const void *load_row(const types_job *job, int64_t first, int64_t count, cell_row *row) {
    const tn_type type = job->x->type;
    const void *from = (const char *)job->x->data + (size_t)first * tn_element_bytes(type);
    const void *cells = row->bytes;
    if (tn_cell_is_own(job->cell, type))
        cells = from;
    else
        job->user->cells->load(job->cell, type, count, from, row->bytes);
    if (job->user->row.map == TN_REDUCE_TYPES_ABSOLUTE && job->cell != TN_CELL_U64)
        job->user->cells->wide[job->cell].maps[TN_MAP_ABS](count, cells, row->bytes);
    else if (job->user->row.map == TN_REDUCE_TYPES_SQUARE)
        combine_of(job, TN_COMBINE_MUL)(count, cells, 1, cells, 1, row->bytes);
    else
        return cells;
    return row->bytes;
}

/* exp(x - most), with one exponent for each column or one for all. */
static const void *load_exponentials(const types_job *job, int64_t first, int64_t count,
                                     const double *most, int64_t stride, cell_row *row) {
    const void *cells = load_row(job, first, count, row);
    combine_of(job, TN_COMBINE_SUB)(count, cells, 1, most, stride, row->bytes);
    job->user->cells->wide[TN_CELL_F64].maps[TN_MAP_EXP](count, row->bytes, row->bytes);
    return row->bytes;
}

/* A unit of work: `columns` cells, in `rows` rows `stride` elements apart. */
typedef struct unit {
    int64_t first, rows, stride, columns;
    const double *most; /* null: no exponentials */
    int64_t most_stride;
} unit;

static const void *read_row(const types_job *job, const unit *u, int64_t row, int64_t columns,
                            cell_row *buffer) {
    const int64_t first = u->first + row * u->stride;
    return u->most ? load_exponentials(job, first, columns, u->most, u->most_stride, buffer)
                   : load_row(job, first, columns, buffer);
}

static void join_rows(const types_job *job, const unit *u, uint32_t combine, cell_row *sums) {
    const tn_cell_combine join = combine_of(job, combine);
    cell_row buffer;
    memcpy(sums->bytes, read_row(job, u, 0, u->columns, &buffer), (size_t)u->columns * 8);
    for (int64_t row = 1; row < u->rows; row++)
        join(u->columns, sums->bytes, 1, read_row(job, u, row, u->columns, &buffer), 1,
             sums->bytes);
}

/* A contiguous lane of `count` elements, at least one: its result is the first cell. */
static void join_lane(const types_job *job, unit u, int64_t count, uint32_t combine,
                      cell_row *sums) {
    const tn_cell_combine join = combine_of(job, combine);
    u.columns = count < WIDTH ? count : WIDTH;
    u.rows = count / u.columns;
    u.stride = u.columns;
    join_rows(job, &u, combine, sums);
    const int64_t left = count - u.rows * u.columns;
    if (left > 0) {
        cell_row buffer;
        join(left, sums->bytes, 1, read_row(job, &u, u.rows, left, &buffer), 1, sums->bytes);
    }
    for (int64_t columns = u.columns; columns > 1; columns -= columns / 2)
        join(columns / 2, sums->bytes, 1, sums->bytes + (columns - columns / 2) * 8, 1,
             sums->bytes);
}

/* Products that are not numbers, of lanes `step` elements apart. */
static void mend_products(const types_job *job, const unit *u, int64_t lanes, int64_t step,
                          int64_t stride, cell_row *sums) {
    double *cells = (double *)(void *)sums->bytes;
    if (job->user->row.combine != TN_COMBINE_MUL || job->cell != TN_CELL_F64) return;
    for (int64_t i = 0; i < lanes; i++)
        if (isnan(cells[i]))
            cells[i] = tn_reduce_product(job->x->type, job->x->data, u->first + i * step,
                                         job->lanes.count, stride);
}

static void finish(const types_job *job, int64_t columns, const double *most, cell_row *sums) {
    const tn_reduce_types_finish how = job->user->row.finish;
    const tn_cell_functions *functions = &job->user->cells->wide[job->cell];
    double *cells = (double *)(void *)sums->bytes;
    const int64_t whole = job->lanes.count;
    const double real = (double)job->lanes.count;
    if (how == TN_REDUCE_TYPES_MEAN)
        functions->combines[TN_COMBINE_DIV](
            columns, cells, 1, job->cell == TN_CELL_F64 ? (const void *)&real : &whole, 0, cells);
    else if (how == TN_REDUCE_TYPES_ROOT)
        functions->maps[TN_MAP_SQRT](columns, cells, cells);
    else if (how >= TN_REDUCE_TYPES_LOG)
        functions->maps[TN_MAP_LOG](columns, cells, cells);
    for (int64_t i = 0; most && i < columns; i++)
        cells[i] = isinf(most[i]) ? most[i] : cells[i] + most[i];
}

static void write(const types_job *job, int64_t columns, const cell_row *sums, int64_t at) {
    const tn_type type = job->y->type;
    job->user->cells->store(job->cell, type, columns, sums->bytes,
                            (char *)job->y->data + (size_t)at * tn_element_bytes(type));
}

/* An item is a contiguous lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const types_job *job = user;
    const bool has_exponents = job->user->row.finish == TN_REDUCE_TYPES_LOG_SUM_EXP;
    const int64_t count = job->lanes.count;
    cell_row sums;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        unit u = {.first = i * count};
        double most = 0;
        if (has_exponents) {
            join_lane(job, u, count, TN_COMBINE_MAX, &sums);
            memcpy(&most, sums.bytes, sizeof(most));
            u.most = &most;
        }
        join_lane(job, u, count, job->user->row.combine, &sums);
        mend_products(job, &u, 1, 0, 1, &sums);
        finish(job, 1, u.most, &sums);
        write(job, 1, &sums, i);
    }
    return TN_OK;
}

/* An item is a group of columns. */
static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const types_job *job = user;
    const bool has_exponents = job->user->row.finish == TN_REDUCE_TYPES_LOG_SUM_EXP;
    const tn_lanes *lanes = &job->lanes;
    const int64_t groups = tn_lane_groups(lanes, WIDTH);
    cell_row sums, most;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        unit u = {.rows = lanes->count, .stride = lanes->inner, .most_stride = 1};
        u.first = tn_lane_group(lanes, WIDTH, groups, i, &u.columns);
        if (has_exponents) {
            join_rows(job, &u, TN_COMBINE_MAX, &most);
            u.most = (const double *)(const void *)most.bytes;
        }
        join_rows(job, &u, job->user->row.combine, &sums);
        mend_products(job, &u, u.columns, 1, lanes->inner, &sums);
        finish(job, u.columns, u.most, &sums);
        write(job, u.columns, &sums, i / groups * lanes->inner + i % groups * WIDTH);
    }
    return TN_OK;
}

tn_status tn_reduce_types_run(tn_call *call) {
    enum { GRAIN = 16384 };
    types_job job = {.user = call->user,
                     .x = call->inputs[0],
                     .y = call->outputs[0],
                     .cell = cell_of(call->inputs[0]->type)};
    if (!tn_reduce_kernel_lanes(call, &job.lanes))
        return call->host->fail(call, TN_ERROR_STATE, "the axes are others than in the plan");
    if (tn_element_count(job.y) == 0) return TN_OK;
    if (job.lanes.count == 0) return call->op->reference(call);
    return tn_lanes_do(call, &job.lanes, job.lanes.count, WIDTH, GRAIN, do_lanes, do_columns, &job);
}
