/* SPDX-License-Identifier: Apache-2.0 */
/* Layout and packing of tile_product.h. */
#include "kit/int8/tile_product.h"
#include "kit/math/round_up.h"

#include <string.h>

enum { LIMIT = 1 << 17 /* sums of a longer depth might not fit */ };

bool tn_tile_layout_make(const tn_tile_level *level, int64_t depth, int64_t columns, bool is_packed,
                         tn_tile_layout *out_layout) {
    if (depth < 1 || depth > LIMIT / 2 || columns < 1 || columns > INT32_MAX / LIMIT) return false;
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

void tn_tile_units_cut(const tn_tile_level *level, int64_t rows, int64_t bytes,
                       const tn_tile_layout *layout, uint32_t threads, tn_tile_units *out_units) {
    enum { MOST = 128, COPIED = 192 * 1024 /* bytes, in the core's second-level cache */ };
    const int64_t count = threads > 1 ? (int64_t)threads : 1;
    const int64_t block = level->rows, most = MOST / block * block;
    int64_t each = bytes ? COPIED / bytes / block * block : most;
    each = each < block ? block : each > most ? most : each;
    int64_t units = tn_divide_up(rows, each);
    if (units % count) { /* as many for each thread */
        units = tn_divide_up(units, count) * count;
        each = tn_divide_up(tn_divide_up(rows, units), block) * block;
        units = tn_divide_up(rows, each);
    }
    const int64_t columns = units < count ? tn_divide_up(count, units) : 1;
    *out_units =
        (tn_tile_units){.rows = each,
                        .row_units = units,
                        .column_units = columns < layout->blocks ? columns : layout->blocks};
}

/* Bytes are at block, chunk, half of the columns, quarter of the chunk's row, column, neighbour. */
void tn_tile_pack(const tn_tile_layout *layout, const int8_t *w, int64_t column_stride,
                  int64_t inner, int64_t inner_stride, void *out_blob) {
    int8_t *to = out_blob;
    int32_t *sums = (int32_t *)(void *)(to + weight_bytes(layout));
    memset(out_blob, 0, tn_tile_layout_bytes(layout));
    for (int64_t c = 0; c < layout->columns; c++) {
        const int64_t half = c / 16 % 2, column = c % 16;
        int8_t *block = to + c / TN_TILE_COLUMNS * layout->chunks * layout->chunk * TN_TILE_COLUMNS;
        for (int64_t k = 0; k < layout->depth; k++) {
            int8_t *tile = block + (k / layout->chunk * 2 + half) * layout->chunk * 16;
            const int64_t in_chunk = k % layout->chunk;
            const int8_t weight = w[c * column_stride + k % inner * inner_stride + k / inner];
            tile[in_chunk / 4 * 64 + column * 4 + in_chunk % 4] = weight;
            sums[c] += weight;
        }
    }
}
