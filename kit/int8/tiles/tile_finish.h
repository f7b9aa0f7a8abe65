/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of sums (tile_product.h), for one processor level: tile_product_body.h includes it.
 * Sums of a block are rows of TN_TILE_COLUMNS of them, and have the block's terms. */
#include "kit/int8/dot_finish.h"
#include "kit/int8/tiles/tile_product.h"
#include <tenon/kit/vector.h>

#include <immintrin.h>
#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * 64 bytes in the table, by their bits: as they are stored where the level has VBMI, else
 * afterwards (look_up_rows) */

#if defined(__AVX512VBMI__)
#define WITH_VBMI
#else
#define WITH_VBMI __attribute__((target("avx512vbmi")))
#endif

WITH_VBMI TN_INLINE __m512i look_up(const uint8_t *table, __m512i x) {
    const __m512i low =
        _mm512_permutex2var_epi8(_mm512_loadu_si512(table), x, _mm512_loadu_si512(table + 64));
    const __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(table + 128), x,
                                                  _mm512_loadu_si512(table + 192));
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
}

#if defined(__AVX512VBMI__)
TN_INLINE __m512i look_up_stored(const tn_tile_end *e, __m512i bytes) {
    return e->table ? look_up(e->table, bytes) : bytes;
}
#define look_up_rows(e, y, rows, columns) ((void)0)
#else
#define look_up_stored(e, bytes) (bytes)

/* A row of 16 bytes at a time: a shuffle gives zero for what is in other rows. */
TN_INLINE __m512i look_up_shuffled(const uint8_t *table, __m512i x) {
    __m512i y = _mm512_setzero_si512();
    for (int r = 0; r < 16; r++) {
        const __m512i row = _mm512_broadcast_i32x4(
            _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * r)));
        const __m512i at = _mm512_adds_epu8(x, _mm512_set1_epi8(0x70));
        y = _mm512_or_si512(y, _mm512_shuffle_epi8(row, at));
        x = _mm512_sub_epi8(x, _mm512_set1_epi8(16));
    }
    return y;
}

/* Of two rows at a time; the last of an odd number is done alone. */
#define LOOK_UP_ROWS(name, function)                                                               \
    static void name(const tn_tile_end *e, uint8_t *y, int64_t rows, int64_t columns) {            \
        const __mmask32 mask = 0xffffffffu >> (TN_TILE_COLUMNS - columns);                         \
        for (int64_t r = 0; r < rows; r += 2, y += 2 * e->row_stride) {                            \
            const __mmask32 below = r + 1 < rows ? mask : 0;                                       \
            uint8_t *next = y + e->row_stride;                                                     \
            const __m512i bytes = function(                                                        \
                e->table,                                                                          \
                _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(mask, y)),       \
                                   _mm256_maskz_loadu_epi8(below, next), 1));                      \
            _mm256_mask_storeu_epi8(y, mask, _mm512_castsi512_si256(bytes));                       \
            _mm256_mask_storeu_epi8(next, below, _mm512_extracti64x4_epi64(bytes, 1));             \
        }                                                                                          \
    }
WITH_VBMI LOOK_UP_ROWS(look_up_rows_vbmi, look_up)
    LOOK_UP_ROWS(look_up_rows_shuffled, look_up_shuffled)

    /* Rows of up to TN_TILE_COLUMNS bytes that were stored. */
    static void look_up_rows(const tn_tile_end *e, uint8_t *y, int64_t rows, int64_t columns) {
    if (!e->table) return;
    if (__builtin_cpu_supports("avx512vbmi"))
        look_up_rows_vbmi(e, y, rows, columns);
    else
        look_up_rows_shuffled(e, y, rows, columns);
}
#endif

/* ----------------------------------------------------------------------------------------------
 * any columns and factors */

/* NaN is 0. */
TN_INLINE __m512 within(__m512 value, __m512 low, __m512 high) {
    const __mmask16 is_number = _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q);
    return _mm512_min_ps(_mm512_max_ps(_mm512_maskz_mov_ps(is_number, value), low), high);
}

/* 16 columns of all rows; `is_sum` and `is_signed` are constants wherever this is inlined. */
TN_INLINE void finish_half(const tn_tile_end *e, const int32_t *sums, int64_t rows, int64_t column,
                           __mmask16 mask, uint8_t *y, const uint8_t *z, const bool is_sum,
                           const bool is_signed) {
    const __m512 factors = _mm512_loadu_ps(e->factors + column);
    const int32_t lowest = is_signed ? -128 : 0, highest = is_signed ? 127 : 255;
    const __m512 low = _mm512_set1_ps((float)(lowest - e->zero));
    const __m512 high = _mm512_set1_ps((float)(highest - e->zero));
    const __m512 sum_low = _mm512_set1_ps((float)(lowest - e->sum_zero));
    const __m512 sum_high = _mm512_set1_ps((float)(highest - e->sum_zero));
    const __m512 own = _mm512_set1_ps(e->own_factor), other = _mm512_set1_ps(e->z_factor);
    const __m512i z_zero = _mm512_set1_epi32(e->z_zero);
    const __m512i zero = _mm512_set1_epi32(is_sum ? e->sum_zero : e->zero);
    for (int64_t r = 0; r < rows; r++) {
        const __m512i sum = _mm512_loadu_si512(sums + r * TN_TILE_COLUMNS);
        __m512 value = within(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), factors), low, high);
        if (is_sum) {
            const __m128i bytes = _mm_maskz_loadu_epi8(mask, z + r * e->row_stride);
            const __m512i wide =
                is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
            const __m512 added =
                _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(wide, z_zero)), other);
            value = _mm512_roundscale_ps(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
            value = within(_mm512_add_ps(_mm512_mul_ps(value, own), added), sum_low, sum_high);
        }
        const __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(value), zero);
        const __m512i bytes = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(whole));
        _mm_mask_storeu_epi8(y + r * e->row_stride, mask,
                             _mm512_castsi512_si128(look_up_stored(e, bytes)));
    }
}

/* ----------------------------------------------------------------------------------------------
 * whole blocks of finite factors as bytes: what is out of 16 bits saturates as the byte does */

/* Bytes of two rows, of which vectors of columns are a and b, c and d. */
TN_INLINE __m512i to_bytes(__m512i a, __m512i b, __m512i c, __m512i d, int32_t zero,
                           const bool is_signed) {
    const __m512i zeros = _mm512_set1_epi16((int16_t)zero);
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zeros);
    const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zeros);
    const __m512i bytes =
        is_signed ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}

/* What is the same for a block. */
typedef struct block_end {
    const tn_tile_end *e;
    bool is_whole; /* finish_block computes what finish_half does: no value is NaN */
    __m512 factors[2], low, high, own, other, most;
    __m512i z_zero;
} block_end;

/* 16 columns of a row before their zero point is added; z null: nothing else is. */
TN_INLINE __m512i requantise(const block_end *of, const int32_t *sums, const uint8_t *z,
                             const int half, const bool is_sum, const bool is_signed) {
    __m512 value =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums + half * 16)), of->factors[half]);
    if (is_sum) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(z + half * 16));
        const __m512i wide = is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        const __m512 added =
            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(wide, of->z_zero)), of->other);
        value = _mm512_min_ps(_mm512_max_ps(value, of->low), of->high);
        value = _mm512_roundscale_ps(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        value = _mm512_add_ps(_mm512_mul_ps(value, of->own), added);
    }
    return _mm512_cvtps_epi32(_mm512_min_ps(value, of->most));
}

TN_INLINE void finish_block(const block_end *of, const int32_t *sums, int64_t rows, uint8_t *y,
                            const uint8_t *z, const bool is_sum, const bool is_signed) {
    const int32_t zero = is_sum ? of->e->sum_zero : of->e->zero;
    const int64_t stride = of->e->row_stride;
    for (int64_t r = 0; r < rows; r += 2) {
        const int64_t next = r + 1 < rows; /* the last of an odd number is done twice */
        const int32_t *above = sums + r * TN_TILE_COLUMNS, *below = above + next * TN_TILE_COLUMNS;
        const uint8_t *z_above = is_sum ? z + r * stride : NULL;
        const uint8_t *z_below = is_sum ? z_above + next * stride : NULL;
        __m512i bytes =
            to_bytes(requantise(of, above, z_above, 0, is_sum, is_signed),
                     requantise(of, above, z_above, 1, is_sum, is_signed),
                     requantise(of, below, z_below, 0, is_sum, is_signed),
                     requantise(of, below, z_below, 1, is_sum, is_signed), zero, is_signed);
        bytes = look_up_stored(of->e, bytes);
        uint8_t *to = y + r * stride;
        _mm256_storeu_si256((void *)to, _mm512_castsi512_si256(bytes));
        _mm256_storeu_si256((void *)(to + next * stride), _mm512_extracti64x4_epi64(bytes, 1));
    }
}

/* Values of bytes with scales: scale, bias, residual, bounds. */
TN_INLINE __m512 scale_value(const block_end *of, const __m512 *biases, const int32_t *sums,
                             const int8_t *z, const int half, const bool is_sum) {
    __m512 value =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums + half * 16)), of->factors[half]);
    value = _mm512_add_ps(value, biases[half]);
    if (is_sum) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(z + half * 16));
        const __m512 added = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
        value = _mm512_add_ps(value, _mm512_mul_ps(added, of->other));
    }
    return _mm512_min_ps(of->high, _mm512_max_ps(of->low, value));
}

TN_INLINE void store_scaled(const block_end *of, const int32_t *sums, int64_t rows,
                            const float *of_columns, int8_t *y, const int8_t *z,
                            const bool is_sum) {
    const __m512 biases[2] = {_mm512_loadu_ps(of_columns), _mm512_loadu_ps(of_columns + 16)};
    for (int64_t r = 0; r < rows; r++, sums += TN_TILE_COLUMNS, y += of->e->row_stride) {
        for (int half = 0; half < 2; half++) {
            const __m512 value = scale_value(of, biases, sums, z, half, is_sum);
            _mm_storeu_si128((__m128i *)(void *)(y + half * 16),
                             _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(value)));
        }
        if (is_sum) z += of->e->row_stride;
    }
}

/* 16 columns of all rows, as floats with bounds and nothing else. */
static void finish_floats(const block_end *of, const int32_t *sums, int64_t rows, int64_t column,
                          __mmask16 mask, float *y) {
    const __m512 factors = _mm512_loadu_ps(of->e->factors + column);
    const __m512 biases = _mm512_loadu_ps(of->e->biases + column);
    for (int64_t r = 0; r < rows; r++, sums += TN_TILE_COLUMNS, y += of->e->row_stride) {
        const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums)), factors);
        const __m512 sum = _mm512_max_ps(of->low, _mm512_add_ps(value, biases)); /* NaN stays */
        _mm512_mask_storeu_ps(y, mask, _mm512_min_ps(of->high, sum));
    }
}

/* Whole blocks of bytes without an activation but bounds, or by dot_finish.h. */
static void finish_values(const tn_tile_product *p, const block_end *of, const int32_t *sums,
                          int64_t row, int64_t rows, int64_t block) {
    const tn_tile_end *e = of->e;
    const int64_t column = block * TN_TILE_COLUMNS, left = p->layout->columns - column;
    const int64_t at = (row * e->row_stride + column) * (e->values->type == TN_I8 ? 1 : 4);
    const float *biases = e->biases + column;
    if (of->is_whole && e->z) {
        store_scaled(of, sums, rows, biases, (int8_t *)e->y + at, (const int8_t *)e->z + at, true);
    } else if (of->is_whole) {
        store_scaled(of, sums, rows, biases, (int8_t *)e->y + at, NULL, false);
    } else {
        const tn_dot_tile tile = {.scale = e->factors + column,
                                  .bias = biases,
                                  .columns = left < TN_TILE_COLUMNS ? left : TN_TILE_COLUMNS,
                                  .output = e->y + at,
                                  .residual = e->z ? e->z + at : NULL,
                                  .row_stride = e->row_stride,
                                  .column_stride = 1,
                                  .end = e->values};
        tn_dot_finish(&tile, (const tn_vector_whole *)(const void *)sums, (int)rows, 2);
    }
}

static bool are_finite(const tn_tile_end *e, int64_t column) {
    const __m512 limit = _mm512_set1_ps(3e38f);
    bool are = fabsf(e->own_factor) < 1e30f && fabsf(e->z_factor) < 1e30f;
    for (int half = 0; half < 2; half++) {
        const __m512 factors = _mm512_loadu_ps(e->factors + column + half * 16);
        are = are && _mm512_cmp_ps_mask(_mm512_abs_ps(factors), limit, _CMP_LT_OQ) == 0xffff;
    }
    return are;
}

/* Nothing becomes of the sums. */
static bool are_sums(const tn_tile_end *e) {
    return e->values && e->values->type == TN_I32;
}

/* What finish_block, or finish_values, is given at once. */
static bool is_whole(const tn_tile_product *p, int64_t column) {
    const tn_tile_end *e = p->end;
    if (column + TN_TILE_COLUMNS > p->layout->columns) return false;
    if (!e->values) return are_finite(e, column);
    return e->values->type == TN_I8 && e->values->activation == 0 && e->values->unit == 1.0f;
}

static void read_block_end(const tn_tile_product *p, int64_t block, block_end *of) {
    const tn_tile_end *e = p->end;
    const int64_t column = block * TN_TILE_COLUMNS;
    const float lowest = e->is_signed ? -128 : 0, highest = e->is_signed ? 127 : 255;
    const float low = e->values ? e->values->low : lowest - (float)e->zero;
    const float high = e->values ? e->values->high : highest - (float)e->zero;
    if (are_sums(e)) { /* there are no factors */
        *of = (block_end){.e = e};
        return;
    }
    *of = (block_end){.e = e,
                      .is_whole = is_whole(p, column),
                      .factors = {_mm512_loadu_ps(e->factors + column),
                                  _mm512_loadu_ps(e->factors + column + 16)},
                      .low = _mm512_set1_ps(low),
                      .high = _mm512_set1_ps(high),
                      .own = _mm512_set1_ps(e->own_factor),
                      .other = _mm512_set1_ps(e->values ? e->values->residual_scale : e->z_factor),
                      .most = _mm512_set1_ps(32767.0f),
                      .z_zero = _mm512_set1_epi32(e->z_zero)};
}

/* ----------------------------------------------------------------------------------------------
 * sums */

/* Adds what depends on both row and column. */
static void correct(const tn_tile_end *e, int32_t *sums, int64_t row, int64_t rows, int64_t block) {
    for (int i = 0; i < TN_TILE_CORRECTIONS && e->corrections[i].rows; i++) {
        const int32_t *of_rows = e->corrections[i].rows + row;
        const int32_t *columns = e->corrections[i].columns + block * TN_TILE_COLUMNS;
        const __m512i left = _mm512_loadu_si512(columns), right = _mm512_loadu_si512(columns + 16);
        for (int64_t r = 0; r < rows; r++) {
            int32_t *to = sums + r * TN_TILE_COLUMNS;
            const __m512i by = _mm512_set1_epi32(of_rows[r]);
            _mm512_store_si512(
                to, _mm512_add_epi32(_mm512_load_si512(to), _mm512_mullo_epi32(by, left)));
            _mm512_store_si512(to + 16, _mm512_add_epi32(_mm512_load_si512(to + 16),
                                                         _mm512_mullo_epi32(by, right)));
        }
    }
}

static void store_sums(const tn_tile_product *p, const int32_t *sums, int64_t row, int64_t rows,
                       int64_t block) {
    const int64_t column = block * TN_TILE_COLUMNS, left = p->layout->columns - column;
    const uint32_t mask = left < TN_TILE_COLUMNS ? (1u << left) - 1u : ~0u;
    int32_t *to = (int32_t *)(void *)p->end->y + row * p->end->row_stride + column;
    for (int64_t r = 0; r < rows; r++, sums += TN_TILE_COLUMNS, to += p->end->row_stride) {
        _mm512_mask_storeu_epi32(to, (__mmask16)mask, _mm512_load_si512(sums));
        _mm512_mask_storeu_epi32(to + 16, (__mmask16)(mask >> 16), _mm512_load_si512(sums + 16));
    }
}

/* A block's sums, which have its terms; `rows` of it from row `row` on. */
#define FINISH(function, ...)                                                                      \
    do {                                                                                           \
        if (e->z && e->is_signed)                                                                  \
            function(__VA_ARGS__, e->y + at, e->z + at, true, true);                               \
        else if (e->z)                                                                             \
            function(__VA_ARGS__, e->y + at, e->z + at, true, false);                              \
        else if (e->is_signed)                                                                     \
            function(__VA_ARGS__, e->y + at, NULL, false, true);                                   \
        else                                                                                       \
            function(__VA_ARGS__, e->y + at, NULL, false, false);                                  \
    } while (0)
static void finish(const tn_tile_product *p, const block_end *of, int32_t *sums, int64_t row,
                   int64_t rows, int64_t block) {
    const tn_tile_end *e = p->end;
    correct(e, sums, row, rows, block);
    if (are_sums(e)) {
        store_sums(p, sums, row, rows, block);
        return;
    }
    if (e->values && !(e->values->type == TN_F32 && e->values->is_plain)) {
        finish_values(p, of, sums, row, rows, block);
        return;
    }
    if (of->is_whole) {
        const int64_t at = row * e->row_stride + block * TN_TILE_COLUMNS;
        FINISH(finish_block, of, sums, rows);
        look_up_rows(e, e->y + at, rows, TN_TILE_COLUMNS);
        return;
    }
    for (int64_t half = 0; half < 2; half++) {
        const int64_t column = block * TN_TILE_COLUMNS + half * 16;
        const int64_t left = p->layout->columns - column;
        const int64_t at = row * e->row_stride + column;
        if (left <= 0) return;
        const __mmask16 mask = (__mmask16)(left >= 16 ? 0xffffu : (1u << left) - 1u);
        const int32_t *of_half = sums + half * 16;
        if (e->values) {
            finish_floats(of, of_half, rows, column, mask, (float *)(void *)e->y + at);
            continue;
        }
        FINISH(finish_half, e, of_half, rows, column, mask);
        look_up_rows(e, e->y + at, rows, left < 16 ? left : 16);
    }
}
#undef FINISH
