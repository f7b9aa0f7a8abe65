/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products of lanes that lie beside each other: compiled once a processor level
 * from row_body.h. [thread: any] */
#ifndef TN_LAYERS_CUMULATIVE_ROW_H
#define TN_LAYERS_CUMULATIVE_ROW_H

#include <stdbool.h>
#include <stdint.h>

/* `steps` rows of `count` lanes, each `stride` elements behind the one before, from x and y on:
 * results[c] += x[c], or *=; y has what they were before (`is_exclusive`) or after. `results` has
 * room for a multiple of eight. */
typedef struct tn_cumulative_rows {
    int64_t count, steps, stride;
    bool is_product, is_exclusive;
    const float *x;
    double *results;
    float *y;
} tn_cumulative_rows;
void tn_cumulative_rows_baseline(const tn_cumulative_rows *rows);
void tn_cumulative_rows_avx2(const tn_cumulative_rows *rows);
void tn_cumulative_rows_avx512(const tn_cumulative_rows *rows);

#endif
