/* SPDX-License-Identifier: Apache-2.0 */
/* The best of rows, block by block, and of columns, row by row; see best.h. */
#include "kit/order/best.h"
#include "kit/math/element.h"

void tn_order_search_init(const tn_order_level *level, const tn_tensor *x, int64_t count,
                          tn_order_best best, bool is_last, tn_order_search *out_search) {
    *out_search = (tn_order_search){tn_order_of(level, x->type, count), x, best, is_last};
}

static void read_keys(const tn_order_search *search, int64_t first, int64_t count, void *keys) {
    const tn_type type = search->x->type;
    search->functions->read(type,
                            (const char *)search->x->data + (size_t)first * tn_element_bytes(type),
                            1, count, search->best, keys);
}

int64_t tn_order_best_of_row(const tn_order_search *search, int64_t first, int64_t count) {
    _Alignas(64) uint64_t keys[TN_ORDER_BLOCK];
    uint64_t least = 0, key = 0;
    int64_t best = 0;
    for (int64_t at = 0; at < count; at += TN_ORDER_BLOCK) {
        const int64_t some = count - at < TN_ORDER_BLOCK ? count - at : TN_ORDER_BLOCK;
        read_keys(search, first + at, some, keys);
        const int64_t found = search->functions->least(keys, some, search->is_last, &key);
        if (at > 0 && (search->is_last ? key > least : key >= least)) continue;
        least = key;
        best = at + found;
    }
    return best;
}

/* Keys of so many rows are read at once, of which vectors take as many as they have lanes. */
static int64_t rows_at_once(int64_t count) {
    enum { MOST_LANES = 16 };
    const int64_t rows = TN_ORDER_BLOCK / count;
    return rows > MOST_LANES ? rows / MOST_LANES * MOST_LANES : rows;
}

void tn_order_best_of_rows(const tn_order_search *search, int64_t first, int64_t rows,
                           int64_t count, int64_t *out_numbers) {
    _Alignas(64) uint64_t keys[TN_ORDER_BLOCK];
    const int64_t step = rows_at_once(count);
    for (int64_t row = 0; row<rows; row += step> 0 ? step : 1) {
        if (step <= 1) {
            out_numbers[row] = tn_order_best_of_row(search, first + row * count, count);
            continue;
        }
        const int64_t some = rows - row < step ? rows - row : step;
        read_keys(search, first + row * count, some * count, keys);
        search->functions->rows(keys, some, count, search->is_last, out_numbers + row);
    }
}

void tn_order_best_of_columns(const tn_order_search *search, int64_t first, int64_t count,
                              int64_t stride, int64_t columns, int64_t *out_numbers) {
    _Alignas(64) uint64_t keys[TN_ORDER_COLUMNS], best[TN_ORDER_COLUMNS], numbers[TN_ORDER_COLUMNS];
    const tn_order_functions *functions = search->functions;
    memset(numbers, 0, sizeof(numbers));
    for (int64_t k = 0; k < count; k++) {
        read_keys(search, first + k * stride, columns, k == 0 ? best : keys);
        if (k > 0) functions->improve(keys, columns, (uint64_t)k, search->is_last, best, numbers);
    }
    const uint32_t *narrow = (const uint32_t *)(const void *)numbers;
    for (int64_t i = 0; i < columns; i++)
        out_numbers[i] = functions->key_bytes == 4 ? (int64_t)narrow[i] : (int64_t)numbers[i];
}
