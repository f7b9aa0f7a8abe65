/* SPDX-License-Identifier: Apache-2.0 */
/* The inner product of references; see product.h. */
#include "common/product.h"
#include "common/infer.h"

/* Two doubles at once: what every processor of the architecture has. */
typedef double pair __attribute__((vector_size(16)));

enum { COLUMNS = TN_PRODUCT_COLUMNS, PAIRS = 4 };

/* Eight columns of the panel: all sums stay in registers. */
static void half_tile(int64_t depth, const double *rows, const double *panel, double *sums) {
    pair first[PAIRS] = {{0}}, second[PAIRS] = {{0}};
    for (int64_t k = 0; k < depth; k++) {
        const pair *values = (const pair *)(panel + k * COLUMNS);
        pair a = {rows[k], rows[k]}, b = {rows[depth + k], rows[depth + k]};
        for (int i = 0; i < PAIRS; i++) {
            first[i] += a * values[i];
            second[i] += b * values[i];
        }
    }
    for (int i = 0; i < PAIRS; i++) {
        ((pair *)sums)[i] = first[i];
        ((pair *)(sums + COLUMNS))[i] = second[i];
    }
}

void tn_product_tile(int64_t depth, const double *rows, const double *panel, double *sums) {
    for (int column = 0; column < COLUMNS; column += 2 * PAIRS)
        half_tile(depth, rows, panel + column, sums + column);
}

tn_status tn_product_allocate(tn_call *call, int64_t count, size_t item_bytes, void **out_memory) {
    int64_t bytes;
    void *memory = NULL;
    if (tn_infer_multiply(count, (int64_t)item_bytes, &bytes))
        memory = call->host->allocate(call->host, (uint64_t)bytes + 1, 64);
    if (!memory)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %lld values of scratch",
                                (long long)count);
    *out_memory = memory;
    return TN_OK;
}

tn_status tn_product_create(tn_call *call, int64_t depth, tn_product *out_product) {
    int64_t rows = depth * TN_PRODUCT_ROWS, panel;
    int64_t sums = TN_PRODUCT_ROWS * COLUMNS;
    void *memory = NULL;
    if (!tn_infer_multiply(depth, COLUMNS, &panel)) panel = INT64_MAX / 64;
    TN_TRY(tn_product_allocate(call, panel + sums + rows, sizeof(double), &memory));
    out_product->panel = memory;
    out_product->sums = out_product->panel + panel;
    out_product->rows = out_product->sums + sums;
    return TN_OK;
}

void tn_product_destroy(const tn_call *call, tn_product *product) {
    call->host->deallocate(call->host, product->panel);
}
