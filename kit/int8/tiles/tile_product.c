/* SPDX-License-Identifier: Apache-2.0 */
/* Layout and packing of tile_product.h. */
#include "kit/int8/tiles/tile_product.h"
#include "kit/math/round_up.h"

#include <string.h>

enum { LIMIT = 1 << 17 /* sums of a longer depth might not fit */ };

bool tn_tile_layout_make(const tn_tile_level *level, int64_t depth, int64_t columns, bool is_packed,
                         tn_tile_layout *out_layout) {
    if (depth < 1 || depth > LIMIT / 2 || columns < 1 || columns > INT32_MAX / 64) return false;
    const int64_t chunks = tn_divide_up(depth, level->chunk);
    if (is_packed && depth % (chunks * 4) != 0) return false;
    *out_layout = (tn_tile_layout){.depth = depth,
                                   .columns = columns,
                                   .chunks = chunks,
                                   .chunk = is_packed ? depth / chunks : level->chunk,
                                   .blocks = tn_divide_up(columns, TN_TILE_COLUMNS)};
    return true;
}

static uint64_t weight_bytes(const tn_tile_layout *layout) {
    return (uint64_t)(layout->blocks * layout->chunks * layout->chunk * TN_TILE_COLUMNS);
}

uint64_t tn_tile_layout_bytes(const tn_tile_layout *layout) {
    return weight_bytes(layout) + (uint64_t)layout->blocks * TN_TILE_COLUMNS * sizeof(int32_t);
}

const int32_t *tn_tile_sums(const tn_tile_layout *layout, const void *blob) {
    return (const int32_t *)(const void *)((const char *)blob + weight_bytes(layout));
}

bool tn_tile_units_by_columns(const tn_tile_layout *layout, int64_t bytes, uint32_t threads) {
    return layout->blocks >= 2 * (int64_t)threads && (int64_t)weight_bytes(layout) / 2 > bytes;
}

void tn_tile_units_cut(const tn_tile_level *level, int64_t rows, int64_t bytes,
                       const tn_tile_layout *layout, uint32_t threads, tn_tile_units *out_units) {
    enum { MOST = 140, COPIED = 192 * 1024 /* bytes, in the core's second-level cache */ };
    const int64_t count = threads > 1 ? (int64_t)threads : 1;
    const int64_t block = level->rows, most = MOST / block * block;
    int64_t each = bytes ? COPIED / bytes / block * block : most;
    each = each < block ? block : each > most ? most : each;
    int64_t units = tn_divide_up(rows, each);
    const bool is_by_columns =
        tn_tile_units_by_columns(layout, rows * layout->chunks * layout->chunk, threads);
    if (units % count && !is_by_columns) units = tn_divide_up(units, count) * count;
    each = tn_divide_up(tn_divide_up(rows, units), block) * block; /* all about as many */
    units = tn_divide_up(rows, each);
    const int64_t columns = units < count                    ? tn_divide_up(count, units)
                            : units % count && is_by_columns ? count
                                                             : 1;
    *out_units =
        (tn_tile_units){.rows = each,
                        .row_units = units,
                        .column_units = columns < layout->blocks ? columns : layout->blocks};
}

/* Four neighbours of the depth: where they are from the beginning of a column, fewer at its end. */
typedef struct pack_quarter {
    int64_t offsets[4];
    int count;
} pack_quarter;

/* Element k + 1 is the next one of `inner` that are `stride` apart, or the first of the next run.
 */
typedef struct pack_cursor {
    int64_t inner, stride;
    int64_t index, run; /* of the next element */
} pack_cursor;

static pack_quarter next_quarter(pack_cursor *cursor, int64_t left) {
    pack_quarter quarter = {.count = left < 4 ? (int)left : 4};
    for (int i = 0; i < quarter.count; i++) {
        quarter.offsets[i] = cursor->index * cursor->stride + cursor->run;
        if (++cursor->index < cursor->inner) continue;
        cursor->index = 0;
        cursor->run++;
    }
    return quarter;
}

/* The same four elements of `columns` columns, side by side, and added to the columns' sums. */
static void pack_row(const pack_quarter *quarter, const int8_t *w, int64_t column_stride,
                     int64_t columns, int8_t *to, int32_t *sums) {
    const int64_t *at = quarter->offsets;
    if (quarter->count < 4) {
        for (int64_t c = 0; c < columns; c++)
            for (int i = 0; i < quarter->count; i++)
                sums[c] += to[c * 4 + i] = w[c * column_stride + at[i]];
        return;
    }
    for (int64_t c = 0; c < columns; c++, w += column_stride, to += 4) {
        const int8_t four[4] = {w[at[0]], w[at[1]], w[at[2]], w[at[3]]};
        memcpy(to, four, 4);
        sums[c] += four[0] + four[1] + four[2] + four[3];
    }
}

/* Bytes are at block, chunk, half of the columns, quarter of the chunk's row, column, neighbour. */
void tn_tile_pack(const tn_tile_layout *layout, const int8_t *w, int64_t column_stride,
                  int64_t inner, int64_t inner_stride, void *out_blob) {
    const int64_t half = layout->chunk * 16;
    int8_t *block = out_blob;
    int32_t *sums = (int32_t *)(void *)(block + weight_bytes(layout));
    memset(out_blob, 0, tn_tile_layout_bytes(layout));
    for (int64_t c = 0; c < layout->columns; c += TN_TILE_COLUMNS) {
        const int64_t columns =
            layout->columns - c < TN_TILE_COLUMNS ? layout->columns - c : TN_TILE_COLUMNS;
        const int64_t first = columns < 16 ? columns : 16;
        pack_cursor cursor = {.inner = inner, .stride = inner_stride};
        for (int64_t k = 0; k < layout->depth; k += 4) {
            const pack_quarter quarter = next_quarter(&cursor, layout->depth - k);
            const int8_t *from = w + c * column_stride;
            int8_t *to = block + k / layout->chunk * 2 * half + k % layout->chunk * 16;
            pack_row(&quarter, from, column_stride, first, to, sums + c);
            if (columns > 16)
                pack_row(&quarter, from + 16 * column_stride, column_stride, columns - 16,
                         to + half, sums + c + 16);
        }
        block += layout->chunks * half * 2;
    }
}
