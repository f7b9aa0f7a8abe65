/* SPDX-License-Identifier: Apache-2.0 */
/* Units of rows; see tile_rows.h. */
#include "kit/int8/tiles/tile_rows.h"
#include "kit/math/round_up.h"
#include <tenon/kit/dot.h>

#include <string.h>

bool tn_tile_rows_make(const tn_tile_level *level, int64_t rows, int64_t depth, int64_t columns,
                       bool a_is_signed, uint32_t threads, tn_tile_rows *out_rows) {
    tn_tile_rows made = {.level = level,
                         .rows = rows,
                         .depth = depth,
                         .columns = columns,
                         .a_is_signed = a_is_signed};
    if (rows < 1 || depth < 1) return false;
    const bool is_packed = tn_tile_layout_make(level, depth, columns, true, &made.layout);
    if (!is_packed && !tn_tile_layout_make(level, depth, columns, false, &made.layout))
        return false;
    const bool is_copied = a_is_signed && level->to_unsigned;
    made.is_direct = is_packed && rows >= level->least_rows && !is_copied;
    made.row_bytes = made.layout.chunk * made.layout.chunks;
    tn_tile_units_cut(level, rows, made.is_direct ? 0 : made.row_bytes, &made.layout, threads,
                      &made.units);
    *out_rows = made;
    return true;
}

int64_t tn_tile_rows_padded(const tn_tile_rows *rows) {
    return rows->layout.blocks * TN_TILE_COLUMNS;
}

uint64_t tn_tile_rows_unit_bytes(const tn_tile_rows *rows) {
    return rows->is_direct ? 0 : tn_whole_lines((uint64_t)(rows->units.rows * rows->row_bytes));
}

/* The last row again up to whole blocks. */
static void copy_rows(const tn_tile_rows *rows, const uint8_t *from, int64_t count, uint8_t *to) {
    const tn_tile_level *level = rows->level;
    for (int64_t r = 0; r < count || r % level->least_rows; r++, to += rows->row_bytes) {
        const int64_t row = r < count ? r : count - 1;
        if (rows->a_is_signed && level->to_unsigned)
            level->to_unsigned(to, from + row * rows->depth, rows->depth);
        else
            memcpy(to, from + row * rows->depth, (size_t)rows->depth);
        memset(to + rows->depth, 0, (size_t)(rows->row_bytes - rows->depth));
    }
}

typedef struct rows_job {
    const tn_tile_rows *rows;
    const tn_tile_pair *pairs;
    uint8_t *scratch;
} rows_job;

/* What becomes of a unit's rows. */
static tn_tile_end end_from(const tn_tile_end *of, int64_t first) {
    tn_tile_end end = *of;
    const int64_t bytes = end.values && end.values->type != TN_I8 ? 4 : 1;
    end.y += first * end.row_stride * bytes;
    if (end.z) end.z += first * end.row_stride * bytes;
    for (int i = 0; i < TN_TILE_CORRECTIONS && end.corrections[i].rows; i++)
        end.corrections[i].rows += first;
    return end;
}

static void do_unit(const rows_job *job, int64_t unit, uint8_t *scratch) {
    const tn_tile_rows *rows = job->rows;
    const tn_tile_level *level = rows->level;
    const tn_tile_units *units = &rows->units;
    const int64_t column = unit % units->column_units, blocks = rows->layout.blocks;
    const int64_t row_unit = unit / units->column_units;
    const tn_tile_pair *pair = &job->pairs[row_unit / units->row_units];
    const int64_t first = row_unit % units->row_units * units->rows, left = rows->rows - first;
    const int64_t count = left < units->rows ? left : units->rows;
    const uint8_t *a = (const uint8_t *)pair->a + first * rows->depth;
    const tn_tile_end end = end_from(&pair->end, first);
    tn_tile_product product = {.layout = &rows->layout,
                               .blob = pair->blob,
                               .a_stride = rows->row_bytes,
                               .a_is_signed = rows->a_is_signed,
                               .rows = count,
                               .end = &end};
    if (rows->is_direct) { /* of the last unit, rows before it are read, too */
        product.skipped = count < level->least_rows ? level->least_rows - count : 0;
        product.a = a - product.skipped * rows->depth;
        product.readable = count + product.skipped;
    } else {
        copy_rows(rows, a, count, scratch);
        product.a = scratch;
        product.readable = tn_divide_up(count, level->least_rows) * level->least_rows;
    }
    level->run(&product, column * blocks / units->column_units,
               (column + 1) * blocks / units->column_units);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const rows_job *job = user;
    const tn_tile_level *level = job->rows->level;
    uint8_t *scratch = job->scratch + thread * tn_tile_rows_unit_bytes(job->rows);
    level->begin(&job->rows->layout);
    for (int64_t unit = begin; unit < end; unit++)
        do_unit(job, unit, scratch);
    level->end();
    return TN_OK;
}

tn_status tn_tile_rows_run(tn_call *call, const tn_tile_rows *rows, const tn_tile_pair *pairs,
                           int64_t count, void *scratch) {
    enum {
        GRAIN = 4000000, /* products that are worth a thread */
        LEAST_ROWS = 8   /* that reading the weights takes as long as */
    };
    const tn_tile_units *units = &rows->units;
    rows_job job = {.rows = rows, .pairs = pairs, .scratch = scratch};
    const int64_t counted = units->rows < LEAST_ROWS ? LEAST_ROWS : units->rows;
    const int64_t each = counted * rows->row_bytes * rows->columns / units->column_units;
    return call->host->parallel_for(call, count * units->row_units * units->column_units,
                                    GRAIN / (each + 1) + 1, do_units, &job);
}
