/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ways of a product in 8 bits are worth a try, in the order of what they are thought to take:
 * a build may have no time to measure them. The numbers are those of a large GPU of compute
 * capability 9.0; on others the order is a worse guess. See
 * product_bytes_ways.h.
 */
#include "kit/cuda/gemm/product_bytes_ways.h"

enum { MULTIPROCESSORS = 132, SHARED_BYTES = 227 * 1024, MOST_BLOCKS = 12, MOST_STAGES = 5 };

/* Nanoseconds. */
#define START_NS  1100.0         /* a block until its first tile is there */
#define STEP_NS   200.0          /* a step of one block, waiting for shared memory and products */
#define SPLIT_NS  300.0          /* blocks wait for each other and add up */
#define END_NS    0.2            /* a number of a block's tile, brought to its type */
#define LOADED_NS (1.0 / 40.0)   /* a byte to one multiprocessor */
#define STORED_NS (1.0 / 12.0)   /* a number, stored by one multiprocessor */
#define WORK_NS   (1.0 / 3000.0) /* a multiplication and addition of one multiprocessor */

static const struct {
    int64_t rows, columns;
} tiles[TN_CUDA_BYTES_TILES] = {{32, 32}, {64, 32}, {64, 64}};

static int64_t divide_up(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* What a multiprocessor takes that has its share of the blocks, so many at once. */
static double estimate(const tn_cuda_product *product, tn_cuda_bytes_way way) {
    const int64_t rows = tiles[way.tile].rows, columns = tiles[way.tile].columns;
    const int64_t steps = divide_up(divide_up(product->depth, TN_CUDA_BYTES_DEPTH), way.splits);
    const int64_t stages = steps < MOST_STAGES ? steps : MOST_STAGES;
    const int64_t blocks =
        divide_up(product->rows, rows) * divide_up(product->columns, columns) * way.splits;
    int64_t at_once = SHARED_BYTES / (stages * (rows + columns) * TN_CUDA_BYTES_LINE + 1024);
    if (at_once > MOST_BLOCKS) at_once = MOST_BLOCKS;
    const int64_t each = divide_up(blocks, MULTIPROCESSORS);
    const int64_t waves = divide_up(each, at_once);
    const double depth =
        product->depth < TN_CUDA_BYTES_DEPTH ? (double)product->depth : (double)TN_CUDA_BYTES_DEPTH;
    const double loaded = (double)(rows + columns) * depth * LOADED_NS;
    const double worked = (double)(rows * columns) * depth * WORK_NS;
    const double step = larger((double)waves * STEP_NS, (double)each * larger(loaded, worked));
    const double stored = (double)(rows * columns * each) * STORED_NS / way.splits;
    return (double)waves * (START_NS + (double)(rows * columns) * END_NS) + (double)steps * step +
           stored + (way.splits > 1 ? SPLIT_NS : 0);
}

static void insert(tn_cuda_bytes_way *ways, double *costs, uint32_t *count, tn_cuda_bytes_way way,
                   double cost) {
    uint32_t at = *count < TN_CUDA_BYTES_MOST_TACTICS ? (*count)++ : *count;
    for (; at > 0 && costs[at - 1] > cost; at--)
        if (at < TN_CUDA_BYTES_MOST_TACTICS) {
            ways[at] = ways[at - 1];
            costs[at] = costs[at - 1];
        }
    if (at == TN_CUDA_BYTES_MOST_TACTICS) return;
    ways[at] = way;
    costs[at] = cost;
}

uint32_t tn_cuda_bytes_ways(const tn_cuda_product *product,
                            tn_cuda_bytes_way ways[TN_CUDA_BYTES_MOST_TACTICS]) {
    const int64_t steps = divide_up(product->depth, TN_CUDA_BYTES_DEPTH);
    double costs[TN_CUDA_BYTES_MOST_TACTICS];
    tn_cuda_bytes_way way = {0};
    uint32_t count = 0;
    if (product->rows <= TN_CUDA_BYTES_FEW_ROWS && product->depth % 16 == 0 &&
        product->image.taps == 0) {
        way = (tn_cuda_bytes_way){TN_CUDA_BYTES_FEW, 1};
        insert(ways, costs, &count, way, 0);
    }
    for (way.tile = 0; way.tile < TN_CUDA_BYTES_TILES; way.tile++)
        for (way.splits = 1; way.splits <= TN_CUDA_BYTES_MOST_SPLITS; way.splits *= 2)
            if (way.splits == 1 || way.splits * 2 <= steps)
                insert(ways, costs, &count, way, estimate(product, way));
    return count;
}
