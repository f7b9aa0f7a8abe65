/* SPDX-License-Identifier: Apache-2.0 */
/* Where the best elements of lanes of a tensor are, by keys (order.h). */
#ifndef TN_KIT_ORDER_BEST_H
#define TN_KIT_ORDER_BEST_H

#include "kit/order/order.h"

enum { TN_ORDER_COLUMNS = 512 /* that are searched at once */ };

typedef struct tn_order_search {
    const tn_order_functions *functions;
    const tn_tensor *x;
    tn_order_best best;
    bool is_last; /* the last of equal elements counts, not the first */
} tn_order_search;

/* For lanes of `count` elements of x. */
void tn_order_search_init(const tn_order_level *level, const tn_tensor *x, int64_t count,
                          tn_order_best best, bool is_last, tn_order_search *out_search);
/* Of `count` elements beside each other, at least one, from `first` on: the number within them. */
int64_t tn_order_best_of_row(const tn_order_search *search, int64_t first, int64_t count);
/* The same of each of `rows` rows of `count` elements, one behind the other. */
void tn_order_best_of_rows(const tn_order_search *search, int64_t first, int64_t rows,
                           int64_t count, int64_t *out_numbers);
/* Of `columns` lanes beside each other, 1..TN_ORDER_COLUMNS, from `first` on, each of `count`
 * elements that are `stride` apart. */
void tn_order_best_of_columns(const tn_order_search *search, int64_t first, int64_t count,
                              int64_t stride, int64_t columns, int64_t *out_numbers);

#endif
