/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul of double precision and of integers: the products of kit/gemm/matrix_types.h, batch by
 * batch and some rows of A at a time. */
#include "kit/math/element.h"
#include "kit/operator/layer.h"
#include "mat_mul/mat_mul.h"
#include "kit/gemm/matrix_types.h"
#include <tenon/kit/broadcast.h>

enum { ROWS = 16 }; /* of A that a unit of work is */

typedef struct types_run {
    tn_matrix_types_product product;
    tn_mat_mul_sizes sizes;
    const tn_broadcast_rows *products; /* at the first row */
    const char *a, *b;
    char *y;
    int64_t blocks, bytes; /* blocks of rows of a product; bytes of an element */
} types_run;

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const types_run *run = user;
    const tn_mat_mul_sizes *sizes = &run->sizes;
    tn_broadcast_rows products = *run->products;
    (void)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t product = unit / run->blocks, first = unit % run->blocks * ROWS;
        const int64_t rows = sizes->rows - first < ROWS ? sizes->rows - first : ROWS;
        tn_broadcast_seek(&products, product / products.count);
        const int64_t item = product % products.count;
        const int64_t a = products.offset[0] + item * products.stride[0];
        const int64_t b = products.offset[1] + item * products.stride[1];
        const int64_t y = products.output_offset + item;
        run->product(rows, sizes->depth, sizes->columns,
                     run->a + (a * sizes->rows + first) * sizes->depth * run->bytes,
                     run->b + b * sizes->depth * sizes->columns * run->bytes,
                     run->y + (y * sizes->rows + first) * sizes->columns * run->bytes);
    }
    return TN_OK;
}

static tn_status types_run_products(tn_call *call) {
    enum { GRAIN = 100000 }; /* multiplications */
    const tn_type type = call->outputs[0]->type;
    tn_broadcast_rows products;
    types_run run = {.product = tn_matrix_types_of(call->user, type),
                     .products = &products,
                     .a = call->inputs[0]->data,
                     .b = call->inputs[1]->data,
                     .y = call->outputs[0]->data,
                     .bytes = (int64_t)tn_element_bytes(type)};
    TN_TRY(tn_mat_mul_read(call, &run.sizes));
    const tn_mat_mul_sizes *sizes = &run.sizes;
    tn_broadcast_init(&products, sizes->batch_rank, sizes->batch);
    tn_broadcast_add(&products, sizes->a_batch_rank, call->inputs[0]->shape);
    tn_broadcast_add(&products, sizes->b_batch_rank, call->inputs[1]->shape);
    if (call->outputs[0]->bytes == 0 || !tn_broadcast_begin(&products)) return TN_OK;
    int64_t count = 1;
    for (uint32_t i = 0; i < sizes->batch_rank; i++)
        count *= sizes->batch[i];
    run.blocks = (sizes->rows + ROWS - 1) / ROWS;
    const double each = (double)ROWS * (double)sizes->depth * (double)sizes->columns;
    const int64_t grain = each < GRAIN ? (int64_t)(GRAIN / (each + 1)) + 1 : 1;
    return call->host->parallel_for(call, count * run.blocks, grain, do_units, &run);
}

static const char *const combinations[] = {"f64, f64 -> f64", "i32, i32 -> i32", "i64, i64 -> i64",
                                           "u32, u32 -> u32", "u64, u64 -> u64"};

TN_LEVEL_KERNELS_OF(, tn_mat_mul_types_kernel, TN_LEVELS(tn_matrix_types), "", 1, "MatMul", "types",
                    "Double precision and integers, B as it is in memory.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(combinations), .run = types_run_products);
