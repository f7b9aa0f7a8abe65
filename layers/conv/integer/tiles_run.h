/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions on tiles (kit/int8/tiles/tile_product.h), channels last, of signed weights and one
 * group. Rows of the product are positions, its depth is what a window sees. A window of one
 * element with stride 1 is read where it is; others as lines (lines.h), or where the level has none
 * they are gathered, a unit of positions at a time, with the zero point as padding.
 */
#ifndef TN_LAYERS_CONV_INTEGER_TILES_RUN_H
#define TN_LAYERS_CONV_INTEGER_TILES_RUN_H

#include "conv/integer/lines.h"

typedef struct tn_conv_tiles {
    tn_call *call;
    tn_window window;
    tn_tile_layout layout;
    int64_t channels, filters, height, width; /* of X */
    int32_t x_zero;
    int64_t rows;    /* positions of all images */
    bool is_element; /* rows are positions of X */
    bool is_direct;  /* which is read where it is */
    void (*to_unsigned)(uint8_t *to, const uint8_t *from, int64_t count); /* null: as X is */
    bool is_by_lines, is_by_columns; /* which threads share, where they do not share lines */
    tn_conv_lines lines;
    int64_t row_bytes; /* of A */
    int64_t run_step;  /* of them, from one row of the kernel to the next: of whole chunks where the
                        * level has lines, the end of which has weights of 0 */
    tn_tile_units units;
    tn_tile_product product;
    tn_tile_end end; /* by the kernel; its pointers are of row 0 */
} tn_conv_tiles;

/* Reads a node whose window is resolved; call->user is the level. False: its kind is none of these.
 */
bool tn_conv_tiles_read(tn_call *call, const tn_window *window, const tn_tensor *w, int32_t x_zero,
                        tn_conv_tiles *out_run);
/* Packs weights, filters x channels x taps. Fails without memory for a copy of them. */
tn_status tn_conv_tiles_pack(const tn_conv_tiles *run, const int8_t *w, void *out_blob);
/* Filters, rounded up to whole blocks. */
int64_t tn_conv_tiles_padded(const tn_conv_tiles *run);
/* Of each thread, for rows that are gathered. */
uint64_t tn_conv_tiles_unit_bytes(const tn_conv_tiles *run);
/* Multiplies on all threads. `scratch` has unit_bytes for each of them. */
tn_status tn_conv_tiles_run(tn_conv_tiles *run, const void *blob, void *scratch);

#endif
