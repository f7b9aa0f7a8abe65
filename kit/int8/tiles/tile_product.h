/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of 8-bit activations with signed 8-bit weights on tiles, summed exactly in 32 bits, and
 * stored as floats or in 8 bits:
 *
 *     v[r][c] = saturate(round((terms[c] + sum over k of a[r][k] * b[k][c]) * factors[c]) + zero)
 *
 * halves to the even number, the product with a factor being one of 32-bit floats; and where
 * another tensor z is added to it
 *
 *     y[r][c] = saturate(round((v - zero) * own_factor + (z - z_zero) * z_factor) + sum_zero)
 *
 * On AMX a tile of A has 16 rows of a chunk of the depth, up to 64 bytes; one of B a quarter as
 * many rows of 16 columns, 4 neighbours of the depth side by side. Blocks of 32 rows and 32 columns
 * of sums stay in four tiles over all chunks. With AVX-512 VNNI a chunk has 4 bytes, and blocks of
 * up to 14 rows and 32 columns stay in vectors. The loops are tile_product_body.h, compiled once
 * for each of the two levels.
 */
#ifndef TN_KIT_INT8_TILE_PRODUCT_H
#define TN_KIT_INT8_TILE_PRODUCT_H

#include <tenon/kit/levels.h>
#include <stdbool.h>
#include <stdint.h>

enum { TN_TILE_COLUMNS = 32 /* of a block */ };

typedef struct tn_tile_level tn_tile_level;

typedef struct tn_tile_layout {
    int64_t depth, columns;
    int64_t chunk, chunks; /* chunk * chunks >= depth */
    int64_t blocks;        /* of columns */
} tn_tile_layout;

/* `is_packed`: rows of A have `depth` bytes, of which chunks are equal parts; else they are as long
 * as whole chunks of the level's most bytes. False: there is nothing to multiply, it is too large,
 * or there are no such parts. */
bool tn_tile_layout_make(const tn_tile_level *level, int64_t depth, int64_t columns, bool is_packed,
                         tn_tile_layout *out_layout);
/* Bytes of packed weights and their sums. */
uint64_t tn_tile_layout_bytes(const tn_tile_layout *layout);
/* The sums of the columns' weights, layout->blocks * TN_TILE_COLUMNS of them. */
const int32_t *tn_tile_sums(const tn_tile_layout *layout, const void *blob);
/* Packs weights: element k of column c is w[c * column_stride + k % inner * inner_stride + k /
 * inner], a filter's channels and taps, or, with the depth as `inner`, a matrix' rows. */
void tn_tile_pack(const tn_tile_layout *layout, const int8_t *w, int64_t column_stride,
                  int64_t inner, int64_t inner_stride, void *out_blob);

/* What is added to the sum of row r and column c: rows[r] * columns[c]. */
typedef struct tn_tile_correction {
    const int32_t *rows, *columns; /* null: nothing */
} tn_tile_correction;
enum { TN_TILE_CORRECTIONS = 2 };

/* What becomes of the sums; z null: nothing is added. Arrays of columns have layout->blocks *
 * TN_TILE_COLUMNS elements. */
typedef struct tn_tile_end {
    const int32_t *terms;
    tn_tile_correction
        corrections[TN_TILE_CORRECTIONS]; /* rows: of row 0; the second alone: none */
    const float *factors;
    int32_t zero;
    bool is_signed; /* of v, y and z */
    const uint8_t *z;
    int32_t z_zero, sum_zero;
    float own_factor, z_factor;
    uint8_t *y;           /* row 0 */
    int64_t row_stride;   /* of y and z, in elements */
    const uint8_t *table; /* 256 bytes: y is what is there by the bits of that y; null: none */
    /* Null: integers as above; else y and z are of its type, v = sums * factors + biases, and the
     * rest is as dot.h says. Of 32-bit integers y are the sums, without factors. */
    const struct tn_dot_end *values;
    const float *biases; /* where there are values */
} tn_tile_end;

/* How work is cut for threads: into units of rows and, of few rows, of columns. */
typedef struct tn_tile_units {
    int64_t rows; /* of a unit, a multiple of the level's; the last one may have fewer */
    int64_t row_units, column_units;
} tn_tile_units;
/* Whether threads share columns rather than rows: A, of `bytes`, is less than half as large as the
 * weights, of which each thread then reads its part alone. */
bool tn_tile_units_by_columns(const tn_tile_layout *layout, int64_t bytes, uint32_t threads);
/* `bytes`: of a row that a unit copies, 0: none; threads 0: one. */
void tn_tile_units_cut(const tn_tile_level *level, int64_t rows, int64_t bytes,
                       const tn_tile_layout *layout, uint32_t threads, tn_tile_units *out_units);

/* Rows of A that lie apart as those of a product do, such as windows beside each other in an image.
 * The depth is cut into equal segments, such as rows of a kernel, each `segment_step` bytes behind
 * the one before; those that see zeros alone need not be read. */
typedef struct tn_tile_line {
    int64_t offset;       /* of the first segment that is read, from product.a */
    int64_t first, count; /* segments that are read */
} tn_tile_line;

typedef struct tn_tile_product {
    const tn_tile_layout *layout;
    const void *blob;
    const uint8_t *a;
    int64_t a_stride; /* bytes from row to row, layout->chunks * chunk of which are read */
    bool a_is_signed; /* and, where the level has to_unsigned, was copied by it */
    int64_t rows;     /* that are stored */
    int64_t readable; /* rows that may be read, at least the level's least_rows */
    int64_t skipped;  /* of them, those before the first that is stored */
    /* Where the level has lines: line_count of them, of `across` rows each; null: all rows are one,
     * and the depth is one segment. Rows and `readable` then do not count. */
    const tn_tile_line *lines;
    int64_t line_count, across, segments, segment_step;
    const tn_tile_end *end;
} tn_tile_product;

/* What windows see of images, channels last, as rows of A: the kernel's rows one after the other.
 */
typedef struct tn_tile_window {
    int64_t height, width, channels;
    int64_t kernel_height, kernel_width, dilation_height;
    int64_t run_bytes; /* of a kernel's row */
    int64_t run_step;  /* from the beginning of one to that of the next in a row of A */
    int64_t row_bytes; /* of a row of A: of all runs, or a multiple of 64, the end of which is 0 */
    int64_t step;      /* from window to window */
    uint8_t padding;
} tn_tile_window;

struct tn_tile_level {
    int64_t rows;       /* the most of a block */
    int64_t least_rows; /* of A that may be read, however few are stored */
    int64_t chunk;      /* the most bytes of one */
    bool has_lines;
    /* Between them a thread may multiply; they set and clear its tiles. */
    void (*begin)(const tn_tile_layout *layout);
    void (*end)(void);
    /* Copies `count` bytes with 128 added, in which a signed A is multiplied; `to` may be `from`.
     * Null: it is multiplied as it is. */
    void (*to_unsigned)(uint8_t *to, const uint8_t *from, int64_t count);
    /* Packs blocks first..last-1 of a matrix whose rows of `layout->columns` bytes are one after
     * the other; `flip` is inverted in each, 0x80 makes unsigned bytes signed ones less 128.
     * `first` is even. */
    void (*pack)(const tn_tile_layout *layout, const uint8_t *b, uint8_t flip, int64_t first,
                 int64_t last, void *out_blob);
    int32_t (*sum)(const uint8_t *bytes, int64_t count, bool is_signed);
    /* The columns of blocks first..last-1. */
    void (*run)(const tn_tile_product *product, int64_t first, int64_t last);
    /* Of `count` windows beside each other, the first of which begins at (y, x) of the image; they
     * may reach beyond it. */
    void (*gather)(const tn_tile_window *window, const uint8_t *image, int64_t y, int64_t x,
                   int64_t count, uint8_t *to);
};

extern const tn_tile_level tn_tile_amx, tn_tile_avx512vnni;

#endif
