/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of matrices that vary from run to run, and sums of their rows, for one processor level:
 * tile_product_body.h includes it. Two blocks are packed at once, of which rows are a vector. */
#include "kit/int8/tiles/tile_product.h"
#include <tenon/kit/vector.h>

#include <immintrin.h>

enum { PACK_COLUMNS = 2 * TN_TILE_COLUMNS, PACK_ROWS = 4, PACK_VECTORS = 4 };

/* Four neighbours of the depth side by side: of 16 columns in each vector. */
TN_INLINE void interleave_rows(const __m512i rows[PACK_ROWS], __m512i out[PACK_VECTORS]) {
    const __m512i a = _mm512_unpacklo_epi8(rows[0], rows[1]);
    const __m512i b = _mm512_unpackhi_epi8(rows[0], rows[1]);
    const __m512i c = _mm512_unpacklo_epi8(rows[2], rows[3]);
    const __m512i d = _mm512_unpackhi_epi8(rows[2], rows[3]);
    const __m512i first = _mm512_unpacklo_epi16(a, c); /* of 16 columns 0..3 */
    const __m512i second = _mm512_unpackhi_epi16(a, c);
    const __m512i third = _mm512_unpacklo_epi16(b, d);
    const __m512i fourth = _mm512_unpackhi_epi16(b, d);
    const __m512i low[2] = {_mm512_shuffle_i32x4(first, second, 0x44),
                            _mm512_shuffle_i32x4(third, fourth, 0x44)};
    const __m512i high[2] = {_mm512_shuffle_i32x4(first, second, 0xee),
                             _mm512_shuffle_i32x4(third, fourth, 0xee)};
    out[0] = _mm512_shuffle_i32x4(low[0], low[1], 0x88);
    out[1] = _mm512_shuffle_i32x4(low[0], low[1], 0xdd);
    out[2] = _mm512_shuffle_i32x4(high[0], high[1], 0x88);
    out[3] = _mm512_shuffle_i32x4(high[0], high[1], 0xdd);
}

/* Rows k..k + 3; zeros are behind the last one. */
TN_INLINE void load_rows(const tn_tile_layout *layout, const uint8_t *b, int64_t k, __mmask64 mask,
                         __m512i flips, __m512i rows[PACK_ROWS]) {
    TN_UNROLL for (int i = 0; i < PACK_ROWS; i++) {
        rows[i] = _mm512_setzero_si512();
        if (k + i < layout->depth)
            rows[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, b + (k + i) * layout->columns),
                                       flips);
    }
}

/* One block, or two; `to` is the first one's. */
static void pack_blocks(const tn_tile_layout *layout, const uint8_t *b, uint8_t flip,
                        int64_t columns, int8_t *to, int32_t *to_sums) {
    const __m512i ones = _mm512_set1_epi8(1);
    const __mmask64 mask = columns < PACK_COLUMNS ? ((__mmask64)1 << columns) - 1 : ~(__mmask64)0;
    const __m512i flips = _mm512_maskz_set1_epi8(mask, (char)flip);
    const int64_t chunk = layout->chunk, half = chunk * 16, block = 2 * half * layout->chunks;
    const int vectors = columns <= TN_TILE_COLUMNS ? 2 : PACK_VECTORS;
    __m512i sums[PACK_VECTORS] = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                                  _mm512_setzero_si512(), _mm512_setzero_si512()};
    for (int64_t of = 0; of < layout->chunks; of++, to += 2 * half) {
        for (int64_t k = 0; k < chunk; k += PACK_ROWS) {
            __m512i rows[PACK_ROWS], out[PACK_VECTORS];
            load_rows(layout, b, of * chunk + k, mask, flips, rows);
            interleave_rows(rows, out);
            int8_t *first = to + k * 16;
            TN_UNROLL for (int i = 0; i < PACK_VECTORS; i++) {
                sums[i] = _mm512_dpbusd_epi32(sums[i], ones, out[i]);
                if (i < vectors) _mm512_storeu_si512(first + i / 2 * block + i % 2 * half, out[i]);
            }
        }
    }
    for (int i = 0; i < vectors; i++)
        _mm512_storeu_si512(to_sums + i * 16, sums[i]);
}

static void pack(const tn_tile_layout *layout, const uint8_t *b, uint8_t flip, int64_t first,
                 int64_t last, void *out_blob) {
    const int64_t bytes = layout->chunks * layout->chunk * TN_TILE_COLUMNS; /* of a block */
    int32_t *sums = (int32_t *)(void *)((char *)out_blob + layout->blocks * bytes);
    for (int64_t block = first; block < last; block += 2) {
        const int64_t column = block * TN_TILE_COLUMNS, left = layout->columns - column;
        const int64_t most = (last - block) * TN_TILE_COLUMNS;
        pack_blocks(layout, b + column, flip, left < most ? left : most,
                    (int8_t *)out_blob + block * bytes, sums + column);
    }
}

static int32_t sum_bytes(const uint8_t *bytes, int64_t count, bool is_signed) {
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum = _mm512_setzero_si512();
    for (int64_t i = 0; i < count; i += 64) {
        const int64_t left = count - i;
        const __mmask64 mask = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
        const __m512i of = _mm512_maskz_loadu_epi8(mask, bytes + i);
        sum = is_signed ? _mm512_dpbusd_epi32(sum, ones, of) : _mm512_dpbusd_epi32(sum, of, ones);
    }
    return _mm512_reduce_add_epi32(sum);
}
