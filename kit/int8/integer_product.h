/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices of 8-bit integers with zero points, summed exactly in 32 bits:
 *
 *     sum[r][c] = sum over k of (a[r][k] - a_zero[r]) * (b[k][c] - b_zero[c])
 *
 * on the tiles of tenon/kit/dot.h, which multiply signed bytes: 128 is taken off unsigned ones, and
 * off their zero points. What zero points add to the plain sums follows from the sums of a row of A
 * and of a column of B. A band of rows is done at once.
 */
#ifndef TN_KIT_INT8_INTEGER_PRODUCT_H
#define TN_KIT_INT8_INTEGER_PRODUCT_H

#include "kit/int8/integer_rows.h"
#include <tenon/kit/dot_pack.h>

enum { TN_INTEGER_BAND = 24 /* the most rows of a band */ };

typedef struct tn_integer_level tn_integer_level;
struct tn_integer_level {
    const tn_dot_level *dot;
    const tn_integer_rows *rows;
    const tn_integer_level *narrow; /* for constant weights that tn_dot_bytes_are_narrow; or null */
};

extern const tn_integer_level tn_integer_baseline, tn_integer_avx2, tn_integer_avx512vnni;

/* One or more matrices B, packed by tn_dot_pack_bytes. */
typedef struct tn_integer_product {
    const tn_integer_level *level;
    tn_dot_layout layout;
    const void *blob;
    int64_t depth; /* rows of B */
    bool a_is_unsigned, b_is_unsigned;
} tn_integer_product;

typedef struct tn_integer_band {
    int64_t matrix, rows;
    const uint8_t *a; /* rows x depth */
    int64_t a_stride; /* from row to row */
    int32_t a_zero[TN_INTEGER_BAND];
    const int32_t *b_zero; /* of each column */
    /* set by tn_integer_band_run, in the scratch memory: rows x stride */
    int32_t *sums;
    int64_t stride;
} tn_integer_band;

/* Of unsigned A, or signed. False: there is nothing to multiply, or it is too large. The blob is
 * set by the caller. */
bool tn_integer_product_make(const tn_integer_level *level, int64_t matrices, int64_t depth,
                             int64_t columns, bool a_is_unsigned, tn_integer_product *out_product);
/* Packs B's matrices [depth][columns], one after the other: blocks first..last-1 of the
 * tn_integer_product_blocks that all have. */
int64_t tn_integer_product_blocks(const tn_integer_product *product);
void tn_integer_product_pack(const tn_integer_product *product, const void *b, int64_t first,
                             int64_t last, void *out_blob);

/* The level for a constant B: the product's, or its narrow one where B allows it. TN_ERROR_MEMORY.
 * [called: prepare] */
tn_status tn_integer_product_choose(tn_call *call, const tn_integer_product *product, const void *b,
                                    const tn_integer_level **out_level);

/* Scratch memory of a band, a multiple of 64 bytes; 0: too much. */
uint64_t tn_integer_band_bytes(const tn_integer_product *product);
void tn_integer_band_run(const tn_integer_product *product, tn_integer_band *band, void *scratch);

#endif
