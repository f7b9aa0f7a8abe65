/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels of integer.h share: X is copied once, channels last, with its padding, as the
 * products want it (copy.c), or read where it is if it is so already. What a window sees is then at
 * a table of offsets, so that no element is copied twice. An item is a group of an image, or in a
 * depthwise convolution an image, whose groups are its channels (depthwise.c). A unit of work is a
 * band of positions of an item.
 *
 *     y = sum of (x - x_zero) * (w - w_zero) = sum of x * w + term - w_zero * sum of x
 *     term = x_zero * (depth * w_zero - sum of w), and QLinearConv's bias
 *
 * where 128 is taken off unsigned bytes and off their zero points. Where weights have no zero
 * points, sums begin at the terms, and tiles end in bytes.
 */
#ifndef TN_LAYERS_CONV_INTEGER_RUN_H
#define TN_LAYERS_CONV_INTEGER_RUN_H

#include "conv/depthwise.h"
#include "conv/integer/integer.h"
#include "kit/int8/integer_product.h"
#include "kit/math/byte_table.h"

enum { TN_INTEGER_CONV_BAND = 64 /* the most positions of a band */ };

typedef void tn_look_up_bytes(const tn_byte_table *table, int64_t count, const int8_t *from,
                              int8_t *to);

typedef struct tn_integer_conv_level {
    const tn_integer_level *integer;
    const tn_depthwise_level *depthwise;
    tn_look_up_bytes *look_up;
} tn_integer_conv_level;

typedef struct tn_integer_conv {
    tn_call *call;
    const tn_conv_inputs *inputs;
    const tn_integer_level *level;
    const tn_depthwise_level *depthwise; /* null: a convolution of another kind */
    tn_window window;
    int64_t items, item_groups, channels, filters; /* channels and filters of an item */
    int64_t taps, positions, bands;
    int64_t plane, row_count;                   /* elements of a channel of X; rows of its copy */
    int64_t padded_extents[TN_WINDOW_MAX_RANK]; /* of the copy */
    int64_t item_elements;                      /* of the copy */
    /* Taps are done run by run, those beside each other in memory: a run has whole groups. */
    int64_t runs, run_taps, run_groups;
    tn_dot_layout layout;
    const void *blob;
    tn_dot_choice choice;
    int64_t padded; /* filters of an item, rounded up */

    /* in the workspace */
    char *x;
    int32_t *offsets;           /* of groups of inputs */
    tn_dot_tile *tiles;         /* of each item's group and block, but for X, rows and the output */
    int64_t *tap_offsets;       /* depthwise: of taps */
    int32_t *tap_numbers;       /* depthwise */
    int32_t *weights;           /* depthwise: less their zero points, see depthwise_body.h */
    tn_depthwise_block *blocks; /* depthwise, by rows */
    int32_t *zeros, *terms;     /* item_groups x padded, as the next two */
    int32_t *initial;           /* what sums of tiles that end in bytes begin at */
    float *factors;
    bool has_zeros, are_finite; /* zero points of W; factors */
    bool ends_in_bytes;         /* tiles */
    tn_dot_end end;             /* of all tiles */
    tn_look_up_bytes *look_up;  /* null: there is no step behind the node, or `end` bounds do it */
    tn_byte_table table;
    char *scratch; /* of threads */
    uint64_t scratch_bytes;
} tn_integer_conv;

/* A band: its sums, rows x run->padded, and the memory for its bytes. */
typedef struct tn_integer_conv_band {
    int64_t item, first, rows;
    int32_t *sums;
    uint8_t *bytes;
    int32_t row_sums[TN_INTEGER_CONV_BAND]; /* of X; where there are zero points of W */
    int32_t offsets[TN_INTEGER_CONV_BAND];  /* of the windows' corners in the item's copy */
} tn_integer_conv_band;

/* copy.c. The range of X and its padding, where the level has products that go by it. */
tn_status tn_integer_conv_find_range(tn_integer_conv *run, tn_dot_range *out_range);
/* Whether X is as its copy would be. */
bool tn_integer_conv_is_copy(const tn_integer_conv *run);
/* `item` elements of the copy and its rows; a unit is a row. */
tn_status tn_integer_conv_copy(void *user, int64_t begin, int64_t end, uint32_t thread);
void tn_integer_conv_corners(const tn_integer_conv *run, tn_integer_conv_band *band);
/* Offsets of taps in an item's copy, in elements. */
int64_t tn_integer_conv_tap(const tn_integer_conv *run, int64_t tap);
/* X's zero point as the copy has it. */
int32_t tn_integer_conv_x_zero(const tn_integer_conv *run);

/* bands.c: the filters' zero points, once the blob is there, and scales; a unit is a band. */
void tn_integer_conv_read_zeros(tn_integer_conv *run);
void tn_integer_conv_read_scales(tn_integer_conv *run);
/* The tiles, once zero points, scales and how X is kept are known. */
void tn_integer_conv_begin_tiles(tn_integer_conv *run);
tn_status tn_integer_conv_do_units(void *user, int64_t begin, int64_t end, uint32_t thread);

/* depthwise.c: `has_rows` says whether rows of windows are done at once as far as the shapes tell,
 * `read_rows` whether weights and scales allow it, too, once they are read; a unit of do_rows is a
 * row of the output. */
void tn_integer_conv_pack_depthwise(tn_integer_conv *run);
bool tn_integer_conv_has_rows(const tn_integer_conv *run);
uint64_t tn_integer_conv_row_bytes(const tn_integer_conv *run); /* of a thread */
bool tn_integer_conv_read_rows(const tn_integer_conv *run);
tn_status tn_integer_conv_do_rows(void *user, int64_t begin, int64_t end, uint32_t thread);
void tn_integer_conv_do_depthwise(const tn_integer_conv *run, tn_integer_conv_band *band);

#endif
