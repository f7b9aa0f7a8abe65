/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of tile_product.h for one processor level, as TN_TILE_LEVEL: windows.
 * Packing is tile_pack.h, the products are tile_multiply_amx.h or tile_multiply_vnni.h, what
 * becomes of their sums tile_finish.h. */
#include "kit/int8/tiles/tile_product.h"
#include <tenon/kit/vector.h>

#include <immintrin.h>
#include <string.h>

#include "kit/int8/tiles/tile_finish.h"
#include "kit/int8/tiles/tile_pack.h"
#if defined(__AMX_INT8__)
#include "kit/int8/tiles/tile_multiply_amx.h"
#else
#include "kit/int8/tiles/tile_multiply_vnni.h"
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
    const int64_t run_bytes = window->run_bytes, run_step = window->run_step;
    const int64_t row_bytes = window->row_bytes;
    const int64_t kernel_height = window->kernel_height, line = window->width * window->channels;
    const int64_t down = window->dilation_height * line;
    const bool has_tail = row_bytes > kernel_height * run_step;
    const bool are_rows_inside =
        y >= 0 && y + (kernel_height - 1) * window->dilation_height < window->height;
    for (int64_t i = 0; i < count; i++, x += window->step, to += row_bytes) {
        if (has_tail) memset(to + row_bytes - CHUNK, 0, CHUNK);
        if (are_rows_inside && x >= 0 && x + window->kernel_width <= window->width) {
            const uint8_t *from = image + y * line + x * window->channels;
            for (int64_t k = 0; k < kernel_height; k++)
                copy(to + k * run_step, from + k * down, run_bytes);
        } else {
            for (int64_t k = 0; k < kernel_height; k++)
                copy_padded(window, image, y + k * window->dilation_height, x, to + k * run_step);
        }
    }
}

const tn_tile_level TN_TILE_LEVEL = {.rows = BLOCK_ROWS,
                                     .least_rows = LEAST_ROWS,
                                     .chunk = CHUNK,
                                     .has_lines = HAS_LINES,
                                     .begin = begin,
                                     .end = end,
                                     .to_unsigned = TO_UNSIGNED,
                                     .pack = pack,
                                     .sum = sum_bytes,
                                     .run = run,
                                     .gather = gather};
