/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, packing, what is added to sums, and the products of integer_tiles.h. */
#include "mat_mul/integer_tiles.h"
#include "kit/int8/look_up_step.h"
#include "kit/math/element.h"
#include "kit/math/round_up.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/dot.h>
#include <tenon/kit/infer.h>
#include <tenon/kit/parallel.h>

#include <math.h>
#include <string.h>

#if defined(__x86_64__)

enum { PACKED = 2 /* blocks at a time */, SUMMED = 16 /* rows at a time */ };

/* ----------------------------------------------------------------------------------------------
 * memory */

static char *take(char *base, uint64_t *inout_bytes, uint64_t bytes) {
    char *at = base ? base + *inout_bytes : NULL;
    *inout_bytes += tn_whole_lines(bytes);
    return at;
}

uint64_t tn_integer_tiles_set_memory(tn_integer_tiles *run, bool varies, char *base) {
    const uint64_t columns = (uint64_t)tn_tile_rows_padded(&run->rows) * 4;
    const uint64_t matrices = (uint64_t)run->b_matrices, rows = (uint64_t)run->a_rows * 4;
    uint64_t bytes = 0;
    run->packed = varies ? take(base, &bytes, (uint64_t)(run->b_matrices * run->blob_bytes)) : NULL;
    run->pairs = (void *)take(base, &bytes, (uint64_t)run->products * sizeof(*run->pairs));
    run->terms = (void *)take(base, &bytes, matrices * columns);
    run->zeros = (void *)take(base, &bytes, matrices * columns);
    run->factors = (void *)take(base, &bytes, columns);
    run->biases = (void *)take(base, &bytes, columns);
    run->row_sums = (void *)take(base, &bytes, rows);
    run->row_zeros = (void *)take(base, &bytes, rows);
    run->scratch = take(base, &bytes, tn_tile_rows_unit_bytes(&run->rows) * run->call->threads);
    return bytes;
}

/* ----------------------------------------------------------------------------------------------
 * what is added to sums */

void tn_integer_tiles_pack(const tn_integer_tiles *run, int64_t matrix, int64_t first, int64_t last,
                           char *to) {
    const uint8_t *b = run->call->inputs[run->inputs->b]->data;
    run->rows.level->pack(&run->rows.layout, b + matrix * run->sizes.depth * run->sizes.columns,
                          run->flip, first, last, to + matrix * run->blob_bytes);
}

/* The zero points of a matrix B as it is packed. Answers whether any is not 0. */
static bool read_zeros(const tn_integer_tiles *run, int64_t matrix, int32_t *zeros) {
    const tn_tensor *tensor = tn_infer_input(run->call, run->inputs->b_zero);
    const int64_t columns = run->sizes.columns;
    const int32_t shift = run->flip;
    int32_t any = 0;
    if (!tensor || tn_element_count(tensor) == 1) {
        const int32_t zero = tn_integer_zero(run->call, run->inputs->b_zero, 0, 1, 0) - shift;
        for (int64_t c = 0; zero != 0 && c < columns; c++)
            zeros[c] = zero;
        return zero != 0;
    }
    const int64_t first = tn_integer_offset(tensor, matrix, columns, 0);
    const uint8_t *bytes = (const uint8_t *)tensor->data + first;
    const uint8_t sign = tensor->type == TN_U8 ? 0x80 : 0;
    for (int64_t c = 0; c < columns; c++)
        any |= zeros[c] = (int8_t)(bytes[c] ^ sign);
    return any != 0;
}

/* Of a matrix of A whose rows have zero points of their own, its rows' correct the sums. */
static void read_row_zeros(tn_integer_tiles *run) {
    const tn_tensor *tensor = tn_infer_input(run->call, run->inputs->a_zero);
    const int64_t rows = run->sizes.rows;
    run->has_row_zeros = tensor && tn_element_count(tensor) > 1;
    for (int64_t r = 0; run->has_row_zeros && r < run->a_rows; r++)
        run->row_zeros[r] =
            -tn_integer_zero(run->call, run->inputs->a_zero, r / rows, rows, r % rows);
}

static int32_t row_zero(const tn_integer_tiles *run, int64_t row) {
    return run->has_row_zeros ? -run->row_zeros[row]
                              : tn_integer_zero(run->call, run->inputs->a_zero, 0, 1, 0);
}

static void sum_rows(const tn_integer_tiles *run, int64_t first) {
    const tn_tensor *a = run->call->inputs[0];
    const int64_t depth = run->sizes.depth;
    for (int64_t r = first; r < run->a_rows && r < first + SUMMED; r++)
        run->row_sums[r] =
            (int32_t)depth * row_zero(run, r) -
            run->rows.level->sum((const uint8_t *)a->data + r * depth, depth, a->type == TN_I8);
}

static void fill_terms(const tn_integer_tiles *run, int64_t matrix, int64_t block) {
    const int64_t padded = tn_tile_rows_padded(&run->rows), first = block * TN_TILE_COLUMNS;
    const int32_t *sums = tn_tile_sums(&run->rows.layout, run->blob + matrix * run->blob_bytes);
    const uint32_t zero = run->has_row_zeros ? 0 : (uint32_t)row_zero(run, 0);
    int32_t *terms = run->terms + matrix * padded;
    for (int64_t c = first; c < padded && c < first + PACKED * TN_TILE_COLUMNS; c++)
        terms[c] = (int32_t)(0u - zero * (uint32_t)sums[c]);
}

/* An item is a pair of blocks of B, or behind all of them a few rows of A. */
static tn_status do_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_integer_tiles *run = user;
    const int64_t blocks = run->rows.layout.blocks, each = tn_divide_up(blocks, PACKED);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t matrix = item / each, block = item % each * PACKED;
        if (matrix >= run->b_matrices) {
            sum_rows(run, (item - run->b_matrices * each) * SUMMED);
            continue;
        }
        const int64_t last = block + PACKED < blocks ? block + PACKED : blocks;
        if (run->packed) tn_integer_tiles_pack(run, matrix, block, last, run->packed);
        fill_terms(run, matrix, block);
    }
    return TN_OK;
}

static tn_status read_terms(tn_integer_tiles *run) {
    enum { GRAIN = 65536 /* bytes */ };
    const int64_t padded = tn_tile_rows_padded(&run->rows), depth = run->sizes.depth;
    const int64_t pairs = run->b_matrices * tn_divide_up(run->rows.layout.blocks, PACKED);
    memset(run->zeros, 0, (size_t)(run->b_matrices * padded) * sizeof(*run->zeros));
    for (int64_t m = 0; m < run->b_matrices; m++)
        run->has_zeros |= read_zeros(run, m, run->zeros + m * padded);
    read_row_zeros(run);
    const int64_t rows = run->has_zeros ? tn_divide_up(run->a_rows, SUMMED) : 0;
    const int64_t bytes = PACKED * TN_TILE_COLUMNS * (run->packed ? depth : 1);
    return run->call->host->parallel_for(run->call, pairs + rows, tn_parallel_grain(GRAIN, bytes),
                                         do_items, run);
}

/* ----------------------------------------------------------------------------------------------
 * what becomes of them */

static void fill_factors(const tn_integer_tiles *run) {
    const tn_call *call = run->call;
    const tn_integer_inputs *inputs = run->inputs;
    const float a_scale = tn_integer_scale(call, inputs->a_scale, 0, 1, 0);
    const float y_scale =
        inputs->y_scale == TN_NO_INPUT ? 1.0f : tn_integer_scale(call, inputs->y_scale, 0, 1, 0);
    const tn_tensor *b_scale = call->inputs[inputs->b_scale];
    const float *scales = b_scale->data;
    const bool is_shared = tn_element_count(b_scale) == 1;
    for (int64_t c = 0; c < run->sizes.columns; c++)
        run->factors[c] = tn_integer_factor(a_scale, scales[is_shared ? 0 : c], y_scale);
}

static const float *fill_biases(const tn_integer_tiles *run) {
    const tn_tensor *bias = tn_infer_input(run->call, run->inputs->bias);
    memset(run->biases, 0, (size_t)tn_tile_rows_padded(&run->rows) * sizeof(*run->biases));
    if (bias) memcpy(run->biases, bias->data, (size_t)run->sizes.columns * sizeof(*run->biases));
    return run->biases;
}

/* What all products have in common. */
static tn_tile_end read_end(const tn_integer_tiles *run) {
    static const tn_dot_end to_sums = {.type = TN_I32};
    static const tn_dot_end to_floats = {
        .type = TN_F32, .unit = 1, .low = -INFINITY, .high = INFINITY, .is_plain = true};
    tn_call *call = run->call;
    const tn_integer_inputs *inputs = run->inputs;
    const tn_tensor *y = call->outputs[0];
    tn_tile_end end = {.y = y->data, .row_stride = run->sizes.columns};
    if (y->type == TN_I32) {
        end.values = &to_sums;
        return end;
    }
    fill_factors(run);
    end.factors = run->factors;
    end.zero = tn_integer_zero(call, inputs->y_zero, 0, 1, 0);
    end.is_signed = y->type == TN_I8;
    end.table = tn_look_up_table(call);
    if (y->type != TN_F32) return end;
    end.values = &to_floats;
    end.biases = fill_biases(run);
    return end;
}

/* A product of the matrices number `a` and `b`, as matrix number `y`. */
static tn_tile_pair pair_of(const tn_integer_tiles *run, const tn_tile_end *end, int64_t a,
                            int64_t b, int64_t y) {
    const int64_t padded = tn_tile_rows_padded(&run->rows), row = a * run->sizes.rows;
    const int64_t bytes = end->values ? 4 : 1;
    const char *blob = run->blob + b * run->blob_bytes;
    tn_tile_pair pair = {.a = (const char *)run->call->inputs[0]->data + row * run->sizes.depth,
                         .blob = blob,
                         .end = *end};
    tn_tile_correction *next = pair.end.corrections;
    pair.end.y += y * run->sizes.rows * run->sizes.columns * bytes;
    pair.end.terms = run->terms + b * padded;
    if (run->has_zeros)
        *next++ = (tn_tile_correction){run->row_sums + row, run->zeros + b * padded};
    if (run->has_row_zeros)
        *next = (tn_tile_correction){run->row_zeros + row, tn_tile_sums(&run->rows.layout, blob)};
    return pair;
}

static void read_pairs(const tn_integer_tiles *run) {
    const tn_mat_mul_sizes *sizes = &run->sizes;
    const tn_tile_end end = read_end(run);
    tn_tile_pair *next = run->pairs;
    tn_broadcast_rows rows;
    if (run->products == 1) {
        *next = pair_of(run, &end, 0, 0, 0);
        return;
    }
    tn_broadcast_init(&rows, sizes->batch_rank, sizes->batch);
    tn_broadcast_add(&rows, sizes->a_batch_rank, run->call->inputs[0]->shape);
    tn_broadcast_add(&rows, sizes->b_batch_rank, run->call->inputs[run->inputs->b]->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows))
        for (int64_t i = 0; i < rows.count; i++)
            *next++ = pair_of(run, &end, rows.offset[0] + i * rows.stride[0],
                              rows.offset[1] + i * rows.stride[1], rows.output_offset + i);
}

tn_status tn_integer_tiles_run(tn_integer_tiles *run, const void *blob) {
    run->blob = run->packed ? run->packed : blob;
    TN_TRY(read_terms(run));
    read_pairs(run);
    return tn_tile_rows_run(run->call, &run->rows, run->pairs, run->products, run->scratch);
}

#endif
