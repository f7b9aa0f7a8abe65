/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of images, channels last, as lines of a product on tiles (tn_tile_line): a line of the
 * output is a line of rows, a row of the kernel a segment of the depth, whose bytes lie side by
 * side in the image. Lines are read where they are, or from a copy of a unit's with padding at both
 * ends: each byte is copied once, where windows that are gathered take it once a tap.
 */
#ifndef TN_LAYERS_CONV_INTEGER_LINES_H
#define TN_LAYERS_CONV_INTEGER_LINES_H

#include "conv/integer/integer.h"
#include "kit/int8/tiles/tile_product.h"

typedef struct tn_conv_lines {
    tn_window window;
    int64_t images, channels;
    int64_t left, line_bytes; /* padding before a line, and a line's bytes with padding */
    bool is_copied;
    bool is_skipping; /* rows of padding are not multiplied: they are 0 */
    uint8_t padding;  /* as it is copied */
    void (*to_unsigned)(uint8_t *to, const uint8_t *from, int64_t count); /* null: plain copies */
    int64_t count, units; /* lines of a unit, units of an image */
} tn_conv_lines;

/* Whether the level does the window so; `x` is the input, `zero` its zero point. */
bool tn_conv_lines_make(const tn_tile_level *level, const tn_window *window, const tn_tensor *x,
                        int32_t zero, uint32_t threads, tn_conv_lines *out_lines);
/* Scratch memory of a thread. */
uint64_t tn_conv_lines_bytes(const tn_conv_lines *lines);
/* Sets the product's rows to those of unit `unit` of all images, and answers the first one. */
int64_t tn_conv_lines_read(const tn_conv_lines *lines, const uint8_t *x, int64_t unit,
                           uint8_t *scratch, tn_tile_product *product);

#endif
