/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of all rows of matrices, which lie side by side, with packed weights on tiles
 * (tile_product.h): rows are read where they are or copied a unit at a time, and units are done on
 * all threads.
 */
#ifndef TN_KIT_INT8_TILE_ROWS_H
#define TN_KIT_INT8_TILE_ROWS_H

#include "kit/int8/tiles/tile_product.h"
#include <tenon/plugin.h>

typedef struct tn_tile_rows {
    const tn_tile_level *level;
    tn_tile_layout layout;
    int64_t rows, depth, columns;
    bool a_is_signed, is_direct; /* rows of A are read where they are */
    int64_t row_bytes;           /* of those that are multiplied */
    tn_tile_units units;
} tn_tile_rows;

/* False: the level does not multiply such matrices. */
bool tn_tile_rows_make(const tn_tile_level *level, int64_t rows, int64_t depth, int64_t columns,
                       bool a_is_signed, uint32_t threads, tn_tile_rows *out_rows);
/* Columns, rounded up to whole blocks. */
int64_t tn_tile_rows_padded(const tn_tile_rows *rows);
/* Scratch memory of each thread. */
uint64_t tn_tile_rows_unit_bytes(const tn_tile_rows *rows);
/* What is multiplied: A, and B as it is packed. */
typedef struct tn_tile_pair {
    const void *a, *blob;
    tn_tile_end end; /* of row 0 */
} tn_tile_pair;
/* Multiplies `count` pairs of matrices. `scratch` has unit_bytes for each of the call's threads. */
tn_status tn_tile_rows_run(tn_call *call, const tn_tile_rows *rows, const tn_tile_pair *pairs,
                           int64_t count, void *scratch);

#endif
