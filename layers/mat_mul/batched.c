/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMul of two tensors that vary, batch by batch, on the inner loop of tenon/kit/matrix.h: a unit
 * of work is one block of columns of one product, whose part of B is packed into the thread's
 * scratch memory and then meets all rows of A; thin.h has products that are not worth packing. A
 * constant B is better packed once: kernels.c.
 */
#include "kit/operator/layer.h"
#include "kit/elementwise/cells.h"
#include "kit/gemm/matrix_block.h"
#include "kit/gemm/thin.h"
#include "kit/math/element.h"
#include "kit/operator/epilogue_bias.h"
#include "kit/math/round_up.h"
#include "mat_mul/mat_mul.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/broadcast.h>
#include <tenon/kit/levels.h>

typedef struct batched_run {
    const tn_matrix_level *level;
    const tn_thin_level *thin; /* null: B is packed */
    bool is_narrow;            /* thin, with few columns */
    tn_mat_mul_sizes sizes;
    tn_float_epilogue epilogue;
    const tn_broadcast_rows *products; /* at the first row */
    const float *a, *b, *bias, *residual;
    float *output, *scratch;
    int64_t width, blocks, panel_floats; /* of a unit, columns; rows of few columns */
} batched_run;

static bool read_run(tn_call *call, batched_run *run) {
    run->level = call->user;
    if (tn_mat_mul_read(call, &run->sizes) != TN_OK ||
        !tn_float_epilogue_read(call, -1, &run->epilogue))
        return false;
    const tn_mat_mul_sizes *sizes = &run->sizes;
    const bool is_low = sizes->rows <= TN_THIN_ROWS && sizes->columns > 1;
    run->is_narrow = !is_low && sizes->columns <= TN_THIN_COLUMNS;
    run->thin = is_low || run->is_narrow ? tn_thin_of(run->level) : NULL;
    run->width = (int64_t)run->level->lanes * run->level->vectors;
    if (run->is_narrow) run->width = TN_THIN_UNIT_ROWS;
    if (is_low) run->width = tn_thin_unit(sizes->columns, call->threads);
    run->blocks = tn_divide_up(run->is_narrow ? sizes->rows : sizes->columns, run->width);
    run->panel_floats = is_low ? 0 : sizes->depth * (run->thin ? sizes->columns : run->width);
    return true;
}

static tn_status batched_accepts(tn_call *call) {
    batched_run run;
    if (!read_run(call, &run) || run.sizes.depth == 0) return TN_ERROR_UNSUPPORTED;
    if (call->inputs[0]->type != TN_F32 && call->step_count > 0) return TN_ERROR_UNSUPPORTED;
    /* A bias or a residual along the columns needs them to be an axis of the output. */
    if (run.sizes.b_is_vector && call->step_count > 0) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

/* Of 16-bit floats A, B and Y have copies of 32 bits at the end of the workspace. */
static int64_t copied_floats(const tn_call *call) {
    if (call->inputs[0]->type == TN_F32) return 0;
    return tn_element_count(call->inputs[0]) + tn_element_count(call->inputs[1]) +
           tn_element_count(call->outputs[0]);
}

/* Of whole blocks of columns. */
static int64_t bias_floats(const batched_run *run) {
    const int64_t width = (int64_t)run->level->lanes * run->level->vectors;
    return tn_divide_up(run->sizes.columns, width) * width;
}

static tn_status batched_reshape(tn_call *call) {
    batched_run run;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_SHAPE, "this node does not read as a product");
    if (run.sizes.depth == 0)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "a product of no columns by no rows");
    call->workspace_bytes =
        (uint64_t)(bias_floats(&run) + run.panel_floats * (int64_t)call->threads +
                   copied_floats(call)) *
        sizeof(float);
    return TN_OK;
}

/* From b[rows][columns] to[columns][rows], which it answers. */
static const float *transpose(const float *b, int64_t rows, int64_t columns, float *to) {
    for (int64_t c = 0; c < columns; c++)
        for (int64_t r = 0; r < rows; r++)
            to[c * rows + r] = b[r * columns + c];
    return to;
}

/* One block of columns, or of rows, of the product that `products` and `item` are at. */
static void do_block(const batched_run *run, const tn_broadcast_rows *products, int64_t item,
                     int64_t block, float *panel) {
    const tn_mat_mul_sizes *sizes = &run->sizes;
    const int64_t a_at = products->offset[0] + item * products->stride[0];
    const int64_t b_at = products->offset[1] + item * products->stride[1];
    const int64_t output_at = (products->output_offset + item) * sizes->rows * sizes->columns;
    const float *b = run->b + b_at * sizes->depth * sizes->columns;
    const tn_matrix_product product = {.level = run->level,
                                       .a = run->a + a_at * sizes->rows * sizes->depth,
                                       .bias = run->bias,
                                       .residual = run->residual ? run->residual + output_at : NULL,
                                       .output = run->output + output_at,
                                       .rows = sizes->rows,
                                       .depth = sizes->depth,
                                       .columns = sizes->columns,
                                       .activation = run->epilogue.activation,
                                       .alpha = run->epilogue.alpha,
                                       .beta = run->epilogue.beta};
    const int64_t all = run->is_narrow ? sizes->rows : sizes->columns;
    const int64_t first = block * run->width;
    const int64_t last = all - first < run->width ? all : first + run->width;
    if (run->is_narrow) {
        if (sizes->columns > 1) b = transpose(b, sizes->depth, sizes->columns, panel);
        run->thin->rows(&product, b, first, last);
        return;
    }
    if (run->thin) {
        run->thin->columns(&product, b, first, last);
        return;
    }
    tn_matrix_pack(run->level, sizes->depth, last - first, b + first, sizes->columns, 1, 1.0f,
                   panel);
    tn_matrix_block_run(&product, panel, NULL, first, 0, sizes->rows);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const batched_run *run = user;
    float *panel = run->scratch + run->panel_floats * (int64_t)thread;
    tn_broadcast_rows products = *run->products;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t product = unit / run->blocks;
        tn_broadcast_seek(&products, product / products.count);
        do_block(run, &products, product % products.count, unit % run->blocks, panel);
    }
    return TN_OK;
}

static tn_status batched_run_products(tn_call *call) {
    enum { GRAIN = 400000 }; /* multiplications */
    tn_broadcast_rows products;
    batched_run run;
    int64_t count = 1;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_SHAPE, "this node does not read as a product");
    const tn_mat_mul_sizes *sizes = &run.sizes;
    tn_broadcast_init(&products, sizes->batch_rank, sizes->batch);
    tn_broadcast_add(&products, sizes->a_batch_rank, call->inputs[0]->shape);
    tn_broadcast_add(&products, sizes->b_batch_rank, call->inputs[1]->shape);
    if (call->outputs[0]->bytes == 0 || !tn_broadcast_begin(&products)) return TN_OK;
    for (uint32_t i = 0; i < sizes->batch_rank; i++)
        count *= sizes->batch[i];
    run.products = &products;
    run.a = call->inputs[0]->data;
    run.b = call->inputs[1]->data;
    run.output = call->outputs[0]->data;
    run.residual =
        run.epilogue.residual == UINT32_MAX ? NULL : call->operands[run.epilogue.residual]->data;
    tn_epilogue_gather_bias(call, &run.epilogue, NULL, 0, 0, 0, sizes->columns, call->workspace);
    run.bias = call->workspace;
    run.scratch = (float *)call->workspace + bias_floats(&run);
    const int64_t each = run.thin ? run.width * sizes->depth : run.panel_floats * (sizes->rows + 8);
    const int64_t least = run.thin ? TN_THIN_GRAIN : GRAIN;
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
    const tn_cells_level *cells = TN_KIT_BEST(tn_cells);
    if (a->type != TN_F32) {
        float *copies = run.scratch + run.panel_floats * (int64_t)call->threads;
        cells->load(TN_CELL_F32, a->type, tn_element_count(a), a->data, copies);
        run.a = copies;
        copies += tn_element_count(a);
        cells->load(TN_CELL_F32, b->type, tn_element_count(b), b->data, copies);
        run.b = copies;
        run.output = copies + tn_element_count(b);
    }
    TN_TRY(
        call->host->parallel_for(call, count * run.blocks, least / (each + 1) + 1, do_units, &run));
    if (a->type != TN_F32)
        cells->store(TN_CELL_F32, y->type, tn_element_count(y), run.output, y->data);
    return TN_OK;
}

static const char *const combinations[] = {"f32, f32 -> f32", "f16, f16 -> f16",
                                           "bf16, bf16 -> bf16"};

TN_LEVEL_KERNELS_OF(, tn_mat_mul_batched, TN_LEVELS(tn_matrix), "", 1, "MatMul", "batched",
                    "Any A and B, B packed block by block.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),
                    TN_COMBINATIONS(combinations), .accepts = batched_accepts,
                    .reshape = batched_reshape, .run = batched_run_products);
