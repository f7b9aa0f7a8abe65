/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tactics of a product in 8 bits are worth a try, in the order of what they are thought to
 * take: a build may have no time to measure them. The numbers are those of a large GPU of compute
 * capability 9.0; on others the order is a worse guess. See
 * product_int8_tactics.h.
 */
#include "kit/cuda/gemm/product_int8_tactics.h"
#include "kit/math/round_up.h"

enum { MULTIPROCESSORS = 132, SHARED_BYTES = 227 * 1024, MOST_BLOCKS = 12, MOST_STAGES = 5 };

/* Nanoseconds. */
#define START_NS  1100.0         /* a block until its first tile is there */
#define STEP_NS   200.0          /* a step of one block, waiting for shared memory and products */
#define SPLIT_NS  300.0          /* blocks wait for each other and add up */
#define END_NS    0.2            /* an element of a block's tile, converted to its type */
#define LOADED_NS (1.0 / 40.0)   /* a byte to one multiprocessor */
#define STORED_NS (1.0 / 12.0)   /* a number, stored by one multiprocessor */
#define WORK_NS   (1.0 / 3000.0) /* a multiplication and addition of one multiprocessor */

static const struct {
    int64_t rows, columns;
} tiles[TN_CUDA_INT8_TILES] = {{32, 32}, {64, 32}, {64, 64}};

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* What a multiprocessor takes that has its share of the blocks, so many at once. */
static double estimate(const tn_cuda_product *product, tn_cuda_int8_tactic tactic) {
    const int64_t rows = tiles[tactic.tile].rows, columns = tiles[tactic.tile].columns;
    const int64_t steps =
        tn_divide_up(tn_divide_up(product->depth, TN_CUDA_INT8_DEPTH), tactic.splits);
    const int64_t stages = steps < MOST_STAGES ? steps : MOST_STAGES;
    const int64_t blocks =
        tn_divide_up(product->rows, rows) * tn_divide_up(product->columns, columns) * tactic.splits;
    int64_t at_once = SHARED_BYTES / (stages * (rows + columns) * TN_CUDA_INT8_LINE + 1024);
    if (at_once > MOST_BLOCKS) at_once = MOST_BLOCKS;
    const int64_t each = tn_divide_up(blocks, MULTIPROCESSORS);
    const int64_t waves = tn_divide_up(each, at_once);
    const double depth =
        product->depth < TN_CUDA_INT8_DEPTH ? (double)product->depth : (double)TN_CUDA_INT8_DEPTH;
    const double loaded = (double)(rows + columns) * depth * LOADED_NS;
    const double worked = (double)(rows * columns) * depth * WORK_NS;
    const double step = larger((double)waves * STEP_NS, (double)each * larger(loaded, worked));
    const double stored = (double)(rows * columns * each) * STORED_NS / tactic.splits;
    return (double)waves * (START_NS + (double)(rows * columns) * END_NS) + (double)steps * step +
           stored + (tactic.splits > 1 ? SPLIT_NS : 0);
}

static void insert(tn_cuda_int8_tactic *tactics, double *costs, uint32_t *count,
                   tn_cuda_int8_tactic tactic, double cost) {
    uint32_t at = *count < TN_CUDA_INT8_MOST_TACTICS ? (*count)++ : *count;
    for (; at > 0 && costs[at - 1] > cost; at--)
        if (at < TN_CUDA_INT8_MOST_TACTICS) {
            tactics[at] = tactics[at - 1];
            costs[at] = costs[at - 1];
        }
    if (at == TN_CUDA_INT8_MOST_TACTICS) return;
    tactics[at] = tactic;
    costs[at] = cost;
}

uint32_t tn_cuda_int8_tactics(const tn_cuda_product *product,
                              tn_cuda_int8_tactic tactics[TN_CUDA_INT8_MOST_TACTICS]) {
    const int64_t steps = tn_divide_up(product->depth, TN_CUDA_INT8_DEPTH);
    double costs[TN_CUDA_INT8_MOST_TACTICS];
    tn_cuda_int8_tactic tactic = {0};
    uint32_t count = 0;
    if (product->rows <= TN_CUDA_INT8_GEMV_ROWS && product->depth % 16 == 0 &&
        product->image.taps == 0) {
        tactic = (tn_cuda_int8_tactic){TN_CUDA_INT8_GEMV, 1};
        insert(tactics, costs, &count, tactic, 0);
    }
    for (tactic.tile = 0; tactic.tile < TN_CUDA_INT8_TILES; tactic.tile++)
        for (tactic.splits = 1; tactic.splits <= TN_CUDA_INT8_MOST_SPLITS; tactic.splits *= 2)
            if (tactic.splits == 1 || tactic.splits * 2 <= steps)
                insert(tactics, costs, &count, tactic, estimate(product, tactic));
    return count;
}
