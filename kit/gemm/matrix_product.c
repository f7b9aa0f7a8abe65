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

void tn_matrix_block_run(const tn_matrix_product *product, const float *packed, int64_t first,
                         int64_t from, int64_t to) {
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
    for (int64_t row = from; row < to; row += TN_MATRIX_ROWS) {
        const int64_t rows = to - row < TN_MATRIX_ROWS ? to - row : TN_MATRIX_ROWS;
        const int64_t at = row * product->columns + first;
        tile.a = product->a + row * product->depth;
        tile.output = product->output + at;
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
        const int64_t first = unit / units->row_chunks * block_columns(product);
        tn_matrix_block_run(product, product->packed + first * product->depth, first, from, to);
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
