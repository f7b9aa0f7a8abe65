/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles and threads of a matrix product; see matrix_product.h. */
#include "kit/gemm/matrix_block.h"

/* Rows of a unit of work. Of deep products more: each unit reads its block of B once. */
#define ROW_CHUNK      (8 * TN_MATRIX_ROWS)
#define DEEP_ROW_CHUNK (32 * TN_MATRIX_ROWS)
/* Of a block of B, in bytes, so much is multiplied by all rows of a unit before what lies deeper:
 * beside as much of A it stays in the second level of the cache, of 1 MB or more. */
#define SLICE_BYTES 131072

typedef struct product_units {
    const tn_matrix_product *product;
    int64_t rows, row_chunks; /* of a unit, and how many units a block has */
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

/* How many of the depth's steps are multiplied at a time: all, where they are few or where too few
 * rows share what is read of B. */
static int64_t slice_depth(const tn_matrix_product *product) {
    const int64_t most = SLICE_BYTES / (int64_t)sizeof(float) / block_columns(product);
    const bool is_deep = product->depth >= 4 * most && product->rows > 2 * TN_MATRIX_ROWS;
    return is_deep ? most : product->depth;
}

static int64_t row_chunk(const tn_matrix_product *product) {
    return slice_depth(product) < product->depth ? DEEP_ROW_CHUNK : ROW_CHUNK;
}

/* A block of columns, and the steps from..from+depth-1 of the product's depth. */
typedef struct block_slice {
    const float *packed, *ahead; /* of these steps, and what is read next */
    int64_t first, columns, from, depth;
} block_slice;

/* Sums of the earlier steps lie in the output: the first ones begin with bias and residual, the
 * last ones end with the activation. */
static void run_slice(const tn_matrix_product *product, const block_slice *slice, int64_t from,
                      int64_t to) {
    static const float no_bias[16 * TN_MATRIX_VECTORS] = {0};
    const int64_t lanes = product->level->lanes, width = block_columns(product);
    const bool is_first = slice->from == 0;
    const bool is_last = slice->from + slice->depth == product->depth;
    tn_matrix_tile tile = {.a_stride = product->depth,
                           .depth = slice->depth,
                           .b = slice->packed,
                           .bias = is_first ? product->bias + slice->first : no_bias,
                           .output_stride = product->columns,
                           .columns = slice->columns,
                           .activation = is_last ? product->activation : 0,
                           .alpha = product->alpha,
                           .beta = product->beta};
    const float *added = is_first ? product->residual : product->output;
    /* A tile of rows fetches its share of what comes next, which all of them together fetch. */
    const int64_t tiles = (product->rows + TN_MATRIX_ROWS - 1) / TN_MATRIX_ROWS;
    tile.ahead_step = slice->ahead ? (width + tiles - 1) / tiles : 0;
    for (int64_t row = from, rows; row < to; row += rows) {
        rows = tile_rows(to - row);
        const int64_t at = row * product->columns + slice->first;
        tile.a = product->a + row * product->depth + slice->from;
        tile.output = product->output + at;
        const int64_t share = row / TN_MATRIX_ROWS * tile.ahead_step; /* columns */
        tile.ahead = slice->ahead && share < width ? slice->ahead + share * slice->depth : NULL;
        tile.residual = added ? added + at : NULL;
        product->level->functions[rows - 1][(slice->columns + lanes - 1) / lanes - 1](&tile);
    }
}

void tn_matrix_block_run(const tn_matrix_product *product, const float *packed, const float *ahead,
                         int64_t first, int64_t from, int64_t to) {
    const int64_t lanes = product->level->lanes, width = block_columns(product);
    const int64_t columns = product->columns - first < width ? product->columns - first : width;
    const int64_t step = (columns + lanes - 1) / lanes * lanes, most = slice_depth(product);
    for (int64_t k = 0; k < product->depth; k += most) {
        const int64_t left = product->depth - k;
        const block_slice slice = {.packed = packed + k * step,
                                   .ahead = left > most ? packed + (k + most) * step : ahead,
                                   .first = first,
                                   .columns = columns,
                                   .from = k,
                                   .depth = left < most ? left : most};
        run_slice(product, &slice, from, to);
    }
}

static tn_status run_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const product_units *units = user;
    const tn_matrix_product *product = units->product;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t unit = product->reverse ? begin + end - 1 - i : i;
        const int64_t from = unit % units->row_chunks * units->rows;
        const int64_t to = from + units->rows < product->rows ? from + units->rows : product->rows;
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
    product_units units = {.product = product, .rows = row_chunk(product)};
    units.row_chunks = (product->rows + units.rows - 1) / units.rows;
    if (product->rows == 0) return TN_OK;
    /* About 4 microseconds a thread at least; a row alone is bound by reading the weights. */
    const int64_t rows = product->rows < units.rows ? product->rows : units.rows;
    const int64_t each = product->depth * width * (rows < 3 ? 3 : rows);
    return call->host->parallel_for(call, blocks * units.row_chunks, 400000 / (each + 1) + 1,
                                    run_units, &units);
}
