/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of tile_product.h for one processor level, as TN_TILE_LEVEL: what becomes of sums,
 * and windows. The products are tile_multiply_amx.h or tile_multiply_vnni.h. */
#include "kit/int8/tile_product.h"
#include <tenon/kit/vector.h>

#include <immintrin.h>
#include <math.h>
#include <string.h>

/* NaN is 0. */
TN_INLINE __m512 within(__m512 value, __m512 low, __m512 high) {
    const __mmask16 is_number = _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q);
    return _mm512_min_ps(_mm512_max_ps(_mm512_maskz_mov_ps(is_number, value), low), high);
}

/* 16 columns of all rows; `is_sum` and `is_signed` are constants wherever this is inlined. */
TN_INLINE void finish_half(const tn_tile_end *e, __m512i terms, const int32_t *sums, int64_t rows,
                           int64_t column, __mmask16 mask, uint8_t *y, const uint8_t *z,
                           const bool is_sum, const bool is_signed) {
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
        const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums + r * 32), terms);
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
        _mm_mask_storeu_epi8(y + r * e->row_stride, mask, _mm512_cvtepi32_epi8(whole));
    }
}

static void finish_floats(const tn_tile_end *e, __m512i terms, const int32_t *sums, int64_t rows,
                          int64_t column, __mmask16 mask, float *y) {
    const __m512 factors = _mm512_loadu_ps(e->factors + column);
    const __m512 biases =
        e->biases ? _mm512_maskz_loadu_ps(mask, e->biases + column) : _mm512_setzero_ps();
    for (int64_t r = 0; r < rows; r++) {
        const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums + r * 32), terms);
        const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), factors);
        _mm512_mask_storeu_ps(y + r * e->row_stride, mask, _mm512_add_ps(value, biases));
    }
}

/* A block's columns; `rows` of it from row `row` on. `terms` are the block's. */
static void finish(const tn_tile_product *p, const int32_t *terms, const int32_t *sums, int64_t row,
                   int64_t rows, int64_t block) {
    const tn_tile_end *e = p->end;
    for (int64_t half = 0; half < 2; half++) {
        const int64_t column = block * TN_TILE_COLUMNS + half * 16;
        const int64_t left = p->layout->columns - column;
        const int64_t at = row * e->row_stride + column;
        if (left <= 0) return;
        const __mmask16 mask = (__mmask16)(left >= 16 ? 0xffffu : (1u << left) - 1u);
        const int32_t *of_half = sums + half * 16;
        const __m512i of_columns = _mm512_loadu_si512(terms + half * 16);
        if (e->floats)
            finish_floats(e, of_columns, of_half, rows, column, mask, e->floats + at);
        else if (e->z && e->is_signed)
            finish_half(e, of_columns, of_half, rows, column, mask, e->y + at, e->z + at, true,
                        true);
        else if (e->z)
            finish_half(e, of_columns, of_half, rows, column, mask, e->y + at, e->z + at, true,
                        false);
        else if (e->is_signed)
            finish_half(e, of_columns, of_half, rows, column, mask, e->y + at, NULL, false, true);
        else
            finish_half(e, of_columns, of_half, rows, column, mask, e->y + at, NULL, false, false);
    }
}

#if defined(__AMX_INT8__)
#include "kit/int8/tile_multiply_amx.h"
#else
#include "kit/int8/tile_multiply_vnni.h"
#endif

/* ----------------------------------------------------------------------------------------------
 * windows */

/* `count` bytes in vectors of WIDTH bytes, at least that many; the last one may overlap. */
#define COPY(width, type, load, store)                                                             \
    TN_INLINE void copy_##width(uint8_t *to, const uint8_t *from, int64_t count) {                 \
        for (int64_t i = 0; i + width < count; i += width)                                         \
            store((type *)(void *)(to + i), load((const type *)(const void *)(from + i)));         \
        store((type *)(void *)(to + count - width),                                                \
              load((const type *)(const void *)(from + count - width)));                           \
    }
COPY(16, __m128i, _mm_loadu_si128, _mm_storeu_si128)
COPY(64, __m512i, _mm512_loadu_si512, _mm512_storeu_si512)

TN_INLINE void copy(uint8_t *to, const uint8_t *from, int64_t count) {
    if (count >= 64)
        copy_64(to, from, count);
    else if (count >= 16)
        copy_16(to, from, count);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = from[i];
}

/* One row of the kernel, of which padding is a part. */
static void copy_padded(const tn_tile_window *w, const uint8_t *image, int64_t y, int64_t x,
                        uint8_t *to) {
    const int64_t begin = x < 0 ? -x : 0, seen = w->width - x;
    const int64_t last = seen < w->kernel_width ? seen : w->kernel_width;
    memset(to, w->padding, (size_t)w->run_bytes);
    if (y >= 0 && y < w->height && begin < last)
        copy(to + begin * w->channels, image + (y * w->width + x + begin) * w->channels,
             (last - begin) * w->channels);
}

static void gather(const tn_tile_window *window, const uint8_t *image, int64_t y, int64_t x,
                   int64_t count, uint8_t *to) {
    const int64_t run_bytes = window->run_bytes, row_bytes = window->row_bytes;
    const int64_t kernel_height = window->kernel_height, line = window->width * window->channels;
    const int64_t down = window->dilation_height * line;
    const bool has_tail = row_bytes > kernel_height * run_bytes;
    const bool are_rows_inside =
        y >= 0 && y + (kernel_height - 1) * window->dilation_height < window->height;
    for (int64_t i = 0; i < count; i++, x += window->step, to += row_bytes) {
        if (has_tail) memset(to + row_bytes - CHUNK, 0, CHUNK);
        if (are_rows_inside && x >= 0 && x + window->kernel_width <= window->width) {
            const uint8_t *from = image + y * line + x * window->channels;
            for (int64_t k = 0; k < kernel_height; k++)
                copy(to + k * run_bytes, from + k * down, run_bytes);
        } else {
            for (int64_t k = 0; k < kernel_height; k++)
                copy_padded(window, image, y + k * window->dilation_height, x, to + k * run_bytes);
        }
    }
}

const tn_tile_level TN_TILE_LEVEL = {.rows = BLOCK_ROWS,
                                     .least_rows = LEAST_ROWS,
                                     .chunk = CHUNK,
                                     .has_lines = HAS_LINES,
                                     .begin = begin,
                                     .end = end,
                                     .run = run,
                                     .gather = gather};
