/* SPDX-License-Identifier: Apache-2.0 */
/* A block of columns over many rows, as tiles (dot.h) of about the same size. */
#ifndef TN_KIT_INT8_DOT_ROWS_H
#define TN_KIT_INT8_DOT_ROWS_H

#include <tenon/kit/dot.h>
#include <tenon/kit/parallel.h>

static inline int64_t tn_dot_output_bytes(const tn_dot_end *end) {
    return end->type == TN_I8 || end->type == TN_U8 ? 1 : 4;
}

/* `count` rows, whose offsets from tile->x are `rows`. `output` is
 * the first row's, as is `residual`, null: none; the tile has the rest. */
static inline void tn_dot_rows_run(const tn_dot_level *level, tn_dot_tile *tile,
                                   const int32_t *rows, int64_t count, char *output,
                                   const char *residual) {
    const int64_t row_bytes = tile->row_stride * tn_dot_output_bytes(tile->end);
    const int64_t vectors = tile->vectors;
    const int64_t most = level->rows[vectors - 1], tiles = (count + most - 1) / most;
    const int64_t group_bytes = vectors * level->lanes * level->group;
    /* The next block; one tile alone waits for its own. */
    tile->ahead = tile->weights + (tiles > 1 ? tile->groups * group_bytes : 0);
    tile->ahead_step = tiles > 1 ? (group_bytes + tiles - 1) / tiles : 0;
    for (int64_t t = 0; t < tiles; t++, tile->ahead += tile->groups * tile->ahead_step) {
        const int64_t from = tn_parallel_first(count, tiles, t),
                      to = tn_parallel_first(count, tiles, t + 1);
        tile->rows = rows + from;
        tile->output = output + from * row_bytes;
        tile->residual = residual ? residual + from * row_bytes : NULL;
        level->functions[to - from - 1][vectors - 1](tile);
    }
}

#endif
