/* SPDX-License-Identifier: Apache-2.0 */
/* The function of row.h for one processor level, which a file a level names as TN_CUMULATIVE_ROWS.
 * Results stay in registers, some vectors of lanes at a time. */
#include "cumulative/row.h"
#include "kit/math/wide_math.h"

TN_INLINE void step(const bool is_product, const bool is_exclusive, const float *x,
                    tn_wide *inout_result, float *y) {
    const tn_wide before = *inout_result, value = tn_wide_load_floats(x);
    *inout_result = is_product ? before * value : before + value;
    tn_wide_store_floats(y, is_exclusive ? before : *inout_result);
}

/* `vectors` of lanes from lane `first` on. */
TN_INLINE void lanes(const int vectors, const bool is_product, const bool is_exclusive,
                     const tn_cumulative_rows *rows, int64_t first) {
    const float *x = rows->x + first;
    float *y = rows->y + first;
    tn_wide results[8];
    TN_UNROLL for (int v = 0; v < vectors; v++) results[v] =
        tn_wide_load(rows->results + first + v * TN_WIDE_LANES);
    for (int64_t k = 0; k < rows->steps; k++, x += rows->stride, y += rows->stride)
        TN_UNROLL for (int v = 0; v < vectors; v++) step(
            is_product, is_exclusive, x + v * TN_WIDE_LANES, &results[v], y + v * TN_WIDE_LANES);
    TN_UNROLL for (int v = 0; v < vectors; v++)
        tn_wide_store(rows->results + first + v * TN_WIDE_LANES, results[v]);
}

/* The last lanes, fewer than a vector has. */
TN_INLINE void rest(const bool is_product, const bool is_exclusive, const tn_cumulative_rows *rows,
                    int64_t first) {
    const size_t bytes = (size_t)(rows->count - first) * sizeof(float);
    tn_wide result = tn_wide_load(rows->results + first);
    for (int64_t k = 0; k < rows->steps; k++) {
        float part[TN_WIDE_LANES] = {0};
        memcpy(part, rows->x + k * rows->stride + first, bytes);
        step(is_product, is_exclusive, part, &result, part);
        memcpy(rows->y + k * rows->stride + first, part, bytes);
    }
    tn_wide_store(rows->results + first, result);
}

TN_INLINE void all(const bool is_product, const bool is_exclusive, const tn_cumulative_rows *rows) {
    int64_t c = 0;
    for (; c + 8 * TN_WIDE_LANES <= rows->count; c += 8 * TN_WIDE_LANES)
        lanes(8, is_product, is_exclusive, rows, c);
    for (; c + TN_WIDE_LANES <= rows->count; c += TN_WIDE_LANES)
        lanes(1, is_product, is_exclusive, rows, c);
    if (c < rows->count) rest(is_product, is_exclusive, rows, c);
}

void TN_CUMULATIVE_ROWS(const tn_cumulative_rows *rows) {
    if (!rows->is_product && !rows->is_exclusive)
        all(false, false, rows);
    else if (!rows->is_product)
        all(false, true, rows);
    else
        all(true, rows->is_exclusive, rows);
}
