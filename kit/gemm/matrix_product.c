/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles and threads of a matrix product; see matrix_product.h. */
#include "kit/gemm/matrix_block.h"

#define ROW_CHUNK (8 * TN_MATRIX_ROWS)

typedef struct product_units {
    const tn_matrix_product *product;
    int64_t row_chunks;
} product_units;

static int64_t block_columns(const tn_matrix_product *product) {
    return (int64_t)product->level->lanes * product->level->vectors;
}

/* Of the next tile, where so many are left. The last two tiles share what is left evenly: one of
 * few rows would wait for B, which it reads at the speed of the cache. */
static int64_t tile_rows(int64_t left) {
    if (left <= TN_MATRIX_ROWS) return left;
    return left < 2 * TN_MATRIX_ROWS ? (left + 1) / 2 : TN_MATRIX_ROWS;
}

void tn_matrix_block_run(const tn_matrix_product *product, const float *packed, const float *ahead,
                         int64_t first, int64_t from, int64_t to) {
    const int64_t lanes = product->level->lanes, width = block_columns(product);
    const int64_t columns = product->columns - first < width ? product->columns - first : width;
    const int64_t vectors = (columns + lanes - 1) / lanes;
    tn_matrix_tile tile = {.a_stride = product->depth,
                           .depth = product->depth,
                           .b = packed,
                           .bias = product->bias + first,
                           .output_stride = product->columns,
                           .columns = columns,
                           .activation = product->activation,
                           .alpha = product->alpha,
                           .beta = product->beta};
    /* A tile of rows fetches its share of the next block, which all of them together fetch. */
    const int64_t tiles = (product->rows + TN_MATRIX_ROWS - 1) / TN_MATRIX_ROWS;
    tile.ahead_step = ahead ? (width + tiles - 1) / tiles : 0;
    for (int64_t row = from, rows; row < to; row += rows) {
        rows = tile_rows(to - row);
        const int64_t at = row * product->columns + first;
        tile.a = product->a + row * product->depth;
        tile.output = product->output + at;
        const int64_t share = row / TN_MATRIX_ROWS * tile.ahead_step; /* columns */
        tile.ahead = ahead && share < width ? ahead + share * product->depth : NULL;
        tile.residual = product->residual ? product->residual + at : NULL;
        product->level->functions[rows - 1][vectors - 1](&tile);
    }
}

static tn_status run_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const product_units *units = user;
    const tn_matrix_product *product = units->product;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t unit = product->reverse ? begin + end - 1 - i : i;
        const int64_t from = unit % units->row_chunks * ROW_CHUNK;
        const int64_t to = from + ROW_CHUNK < product->rows ? from + ROW_CHUNK : product->rows;
        const int64_t width = block_columns(product);
        const int64_t first = unit / units->row_chunks * width;
        const int64_t next = product->reverse ? first - width : first + width;
        const float *ahead =
            next < 0 || next >= product->columns ? NULL : product->packed + next * product->depth;
        tn_matrix_block_run(product, product->packed + first * product->depth, ahead, first, from,
                            to);
    }
    return TN_OK;
}

tn_status tn_matrix_product_run(tn_call *call, const tn_matrix_product *product) {
    const int64_t width = block_columns(product);
    const int64_t blocks = (product->columns + width - 1) / width;
    product_units units = {.product = product,
                           .row_chunks = (product->rows + ROW_CHUNK - 1) / ROW_CHUNK};
    if (product->rows == 0) return TN_OK;
    /* About 4 microseconds a thread at least; a row alone is bound by reading the weights. */
    const int64_t rows = product->rows < ROW_CHUNK ? product->rows : ROW_CHUNK;
    const int64_t each = product->depth * width * (rows < 3 ? 3 : rows);
    return call->host->parallel_for(call, blocks * units.row_chunks, 400000 / (each + 1) + 1,
                                    run_units, &units);
}
