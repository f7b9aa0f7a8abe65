/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of dequantize_mat_mul.h: a block of columns is done by one thread, which turns some
 * rows of its weights into floats as tenon/kit/matrix.h has them packed, and multiplies all rows of
 * A with those while they are in the cache, adding to what the rows before gave.
 */
#include "dequantize_mat_mul/dequantize_mat_mul.h"
#include "kit/math/small.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/open.h>
#include <tenon/kit/parallel.h>

enum { DEPTH = 128 /* rows of weights that are floats at once */ };

/* What a thread has. */
typedef struct scratch {
    float weights[DEPTH * TN_DEQUANTIZE_WIDTH], zeros[TN_DEQUANTIZE_WIDTH];
} scratch;

typedef struct job {
    const tn_dequantize_level *level;
    tn_dequantize_sizes sizes;
    const tn_tensor *w, *zero;
    const float *a, *scales, *bias; /* bias null: none */
    float *y;
    const float *table; /* of 8-bit floats; null: integers */
    uint8_t bits, flip, half_shift;
    scratch *scratches;
} job;

/* What lies before the threads' scratch memory. */
typedef struct tables {
    float codes[256], no_bias[TN_DEQUANTIZE_WIDTH], ones[TN_DEQUANTIZE_WIDTH];
} tables;

static uint8_t bits_of(tn_type type) {
    return type == TN_I4 || type == TN_U4 ? 4 : 8;
}

/* Rows of 4-bit elements begin at a byte where there is an even number of columns. */
static tn_status accepts(tn_call *call) {
    tn_dequantize_sizes sizes;
    if (tn_dequantize_mat_mul_read(call, &sizes) != TN_OK) return TN_ERROR_UNSUPPORTED;
    return bits_of(call->inputs[TN_DEQUANTIZE_W]->type) == 8 || sizes.columns % 2 == 0
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

static tn_status reshape(tn_call *call) {
    TN_TRY(tn_open_ask(call, accepts));
    call->workspace_bytes = sizeof(tables) + call->threads * sizeof(scratch);
    return TN_OK;
}

/* Zero points are weights whose scales are 1. */
static void fill_zeros(const job *of, int64_t at, int64_t columns, float *zeros) {
    const tables *all = (const tables *)(const void *)of->scratches - 1;
    const tn_dequantize_row row = {.codes = (const uint8_t *)of->zero->data + at * of->bits / 8,
                                   .count = columns,
                                   .width = columns,
                                   .bits = of->bits,
                                   .flip = of->flip,
                                   .table = of->table,
                                   .half_shift = of->half_shift,
                                   .scales = all->ones};
    of->level->row(&row, zeros);
}

/* `count` rows of weights from `first` on, of a block of columns. */
static void fill_weights(const job *of, int64_t first, int64_t count, int64_t column,
                         int64_t columns, int64_t width, scratch *own) {
    const tn_dequantize_sizes *s = &of->sizes;
    tn_dequantize_row row = {.count = columns,
                             .width = width,
                             .bits = of->bits,
                             .flip = of->flip,
                             .table = of->table,
                             .half_shift = of->half_shift,
                             .zeros = of->zero ? own->zeros : NULL};
    int64_t known = -1;
    for (int64_t k = first; k < first + count; k++) {
        const int64_t block = k / s->block, at = block * s->columns + column;
        if (of->zero && block != known) fill_zeros(of, at, columns, own->zeros);
        known = block;
        row.scales = of->scales + at;
        row.codes = (const uint8_t *)of->w->data + (k * s->columns + column) * of->bits / 8;
        of->level->row(&row, own->weights + (k - first) * width);
    }
}

static void multiply(const job *of, int64_t first, int64_t count, int64_t column, int64_t columns,
                     const float *bias, const scratch *own) {
    const tn_dequantize_sizes *s = &of->sizes;
    const tn_matrix_level *matrix = of->level->matrix;
    const int64_t vectors = (columns + matrix->lanes - 1) / matrix->lanes;
    for (int64_t row = 0; row < s->rows; row += TN_MATRIX_ROWS) {
        const int64_t left = s->rows - row, rows = left < TN_MATRIX_ROWS ? left : TN_MATRIX_ROWS;
        float *output = of->y + row * s->columns + column;
        const tn_matrix_tile tile = {.a = of->a + row * s->depth + first,
                                     .a_stride = s->depth,
                                     .depth = count,
                                     .b = own->weights,
                                     .bias = bias,
                                     .output = output,
                                     .output_stride = s->columns,
                                     .residual = first > 0 ? output : NULL,
                                     .columns = columns};
        matrix->functions[rows - 1][vectors - 1](&tile);
    }
}

static tn_status do_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *of = user;
    const tn_matrix_level *matrix = of->level->matrix;
    const int64_t block = (int64_t)matrix->lanes * matrix->vectors;
    const float *no_bias = ((const tables *)(const void *)of->scratches - 1)->no_bias;
    scratch *own = &of->scratches[thread];
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t column = unit * block, left = of->sizes.columns - column;
        const int64_t columns = left < block ? left : block;
        const int64_t width = (columns + matrix->lanes - 1) / matrix->lanes * matrix->lanes;
        for (int64_t k = 0; k == 0 || k < of->sizes.depth; k += DEPTH) {
            const int64_t rest = of->sizes.depth - k, count = rest < DEPTH ? rest : DEPTH;
            const bool has_bias = k == 0 && of->bias;
            fill_weights(of, k, count, column, columns, width, own);
            multiply(of, k, count, column, columns, has_bias ? of->bias + column : no_bias, own);
        }
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    enum { GRAIN = 200000 }; /* weights and multiplications */
    const tn_tensor *w = call->inputs[TN_DEQUANTIZE_W],
                    *bias = tn_infer_input(call, TN_DEQUANTIZE_BIAS);
    const bool is_float = tn_small_is_float(w->type);
    tables *all = call->workspace;
    job of = {.level = call->user,
              .w = w,
              .zero = tn_infer_input(call, TN_DEQUANTIZE_ZERO),
              .a = call->inputs[TN_DEQUANTIZE_A]->data,
              .scales = call->inputs[TN_DEQUANTIZE_SCALE]->data,
              .bias = bias ? bias->data : NULL,
              .y = call->outputs[0]->data,
              .table = is_float ? all->codes : NULL,
              .bits = bits_of(w->type),
              .flip = w->type == TN_I8   ? 0x80
                      : w->type == TN_I4 ? 8
                                         : 0,
              .half_shift = w->type == TN_F8E5M2   ? 8
                            : w->type == TN_F8E4M3 ? 7
                                                   : 0,
              .scratches = (scratch *)(void *)(all + 1)};
    TN_TRY(tn_dequantize_mat_mul_read(call, &of.sizes));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    memset(all->no_bias, 0, sizeof(all->no_bias));
    for (int i = 0; i < TN_DEQUANTIZE_WIDTH; i++)
        all->ones[i] = 1;
    for (int i = 0; i < 256 && is_float; i++) {
        const uint8_t code = (uint8_t)i;
        all->codes[i] = (float)tn_small_load(&code, w->type, 0);
    }
    const int64_t block = (int64_t)of.level->matrix->lanes * of.level->matrix->vectors;
    const int64_t each = (of.sizes.rows + 4) * (of.sizes.depth + 1) * block;
    return call->host->parallel_for(call, (of.sizes.columns + block - 1) / block,
                                    tn_parallel_grain(GRAIN, each), do_blocks, &of);
}

static const char *const combinations[] = {"f32, " TN_DEQUANTIZE_TYPES ", f32, " TN_DEQUANTIZE_TYPES
                                           "?, f32? -> f32"};
TN_LEVEL_KERNELS_IN("Tenon", blocks, tn_dequantize_rows, "DequantizeMatMul", "blocks",
                    "Weights turned into floats a block of columns at a time, on all threads.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(combinations), .accepts = accepts, .reshape = reshape,
                    .run = run);

/* Where times are equal or not measured the first is taken. */
const tn_kernel *const tn_dequantize_mat_mul_kernels[2] = {TN_LEVEL_LIST(tn_dequantize_packed),
                                                           TN_LEVEL_LIST(blocks)};
