/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QLinearMatMul and MatMulIntegerToFloat on tiles (kit/int8/tile_product.h): of a constant
 * matrix B of signed bytes without zero points, and scales of one number or one a column of B. Rows
 * of all matrices of A are those of one product.
 */
#include "kit/int8/look_up_step.h"
#include "kit/int8/tile_product.h"
#include <tenon/kit/dot.h>
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include "mat_mul/integer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)

typedef struct tiles_state {
    const void *blob;
} tiles_state;

typedef struct tiles_run {
    tn_call *call;
    const tn_integer_inputs *inputs;
    tn_tile_layout layout;
    int64_t rows, depth, columns;
    bool is_direct; /* rows of A are read where they are */
    void (*to_unsigned)(uint8_t *to, const uint8_t *from, int64_t count); /* null: as A is */
    int64_t row_bytes; /* of those that are multiplied */
    tn_tile_units units;
    tn_tile_product product;
    tn_tile_end end;
} tiles_run;

/* ----------------------------------------------------------------------------------------------
 * reading a node */

/* One element of a type where the input is there. */
static bool is_one(const tn_call *call, uint32_t input, bool is_scale) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    return !tensor || (tn_element_count(tensor) == 1 && (!is_scale || tensor->type == TN_F32));
}

static bool are_zero(const tn_tensor *tensor) {
    if (!tensor) return true;
    for (int64_t i = 0, end = tensor->data ? tn_element_count(tensor) : 0; i < end; i++)
        if (tn_element_i64(tensor, i) != 0) return false;
    return tensor->data != NULL;
}

static bool are_parameters(const tn_call *call, const tn_integer_inputs *inputs) {
    const tn_tensor *scale = tn_infer_input(call, inputs->b_scale);
    return scale && scale->rank <= 1 && scale->type == TN_F32 &&
           is_one(call, inputs->a_zero, false) && is_one(call, inputs->a_scale, true) &&
           is_one(call, inputs->y_zero, false) && is_one(call, inputs->y_scale, true) &&
           are_zero(tn_infer_input(call, inputs->b_zero));
}

static bool read_run(tn_call *call, tiles_run *run) {
    const tn_tile_level *level = call->user;
    tn_mat_mul_sizes sizes;
    *run = (tiles_run){.call = call, .inputs = tn_integer_inputs_of(call)};
    if (tn_integer_mat_mul_read(call, &sizes) != TN_OK || sizes.b_batch_rank != 0 ||
        sizes.b_is_vector || !are_parameters(call, run->inputs))
        return false;
    run->depth = sizes.depth;
    run->columns = sizes.columns;
    run->rows = tn_infer_product(sizes.batch, 0, sizes.batch_rank) * sizes.rows;
    if (run->rows < 1 || run->depth < 1) return false;
    const bool is_packed = tn_tile_layout_make(level, run->depth, run->columns, true, &run->layout);
    if (!is_packed && !tn_tile_layout_make(level, run->depth, run->columns, false, &run->layout))
        return false;
    run->to_unsigned = call->inputs[0]->type == TN_I8 ? level->to_unsigned : NULL;
    run->is_direct = is_packed && run->rows >= level->least_rows && !run->to_unsigned;
    run->row_bytes = run->layout.chunk * run->layout.chunks;
    tn_tile_units_cut(level, run->rows, run->is_direct ? 0 : run->row_bytes, &run->layout,
                      call->threads, &run->units);
    return true;
}

static tn_status tiles_accepts(tn_call *call) {
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    const tn_tensor *b = call->inputs[inputs->b];
    tiles_run run;
    return b && b->data && tn_look_up_fits(call, tn_infer_input(call, inputs->y_zero)) &&
                   read_run(call, &run)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * prepare, reshape */

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const tiles_run *run = user;
    (void)bytes;
    tn_tile_pack(&run->layout, run->call->inputs[run->inputs->b]->data, 1, run->depth, run->columns,
                 data);
    return TN_OK;
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "this node does not read as a product on tiles");
}

static tn_status tiles_prepare(tn_call *call) {
    const tn_tile_level *level = call->user;
    tiles_run run;
    char key[64];
    if (!read_run(call, &run)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(tiles_state)));
    snprintf(key, sizeof(key), "tiles of columns, chunks of %lld", (long long)level->chunk);
    tiles_state *state = call->state;
    return tn_kernel_state_finish(call, call->host->packed(call, run.inputs->b, key,
                                                           tn_tile_layout_bytes(&run.layout), pack,
                                                           &run, &state->blob));
}

/* The workspace: terms, factors and biases, and each thread's rows. */
enum { TABLES = 3 };
static uint64_t table_bytes(const tiles_run *run) {
    return (uint64_t)(run->layout.blocks * TN_TILE_COLUMNS) * 4;
}

static uint64_t unit_bytes(const tiles_run *run) {
    return run->is_direct ? 0 : (uint64_t)(run->units.rows * run->row_bytes);
}

static tn_status tiles_reshape(tn_call *call) {
    tiles_run run;
    if (!read_run(call, &run)) return refuse(call);
    call->workspace_bytes = TABLES * table_bytes(&run) + unit_bytes(&run) * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

/* term = -a_zero * sum of b */
static void fill_tables(const tiles_run *run, int32_t *terms, float *factors) {
    const tn_call *call = run->call;
    const tn_integer_inputs *inputs = run->inputs;
    const int32_t *sums = tn_tile_sums(&run->layout, run->product.blob);
    const uint32_t a_zero = (uint32_t)tn_integer_zero(call, inputs->a_zero, 0, 1, 0);
    const float a_scale = tn_integer_scale(call, inputs->a_scale, 0, 1, 0);
    const float y_scale =
        inputs->y_scale == TN_NO_INPUT ? 1.0f : tn_integer_scale(call, inputs->y_scale, 0, 1, 0);
    const tn_tensor *b_scale = call->inputs[inputs->b_scale];
    const float *scales = b_scale->data;
    const bool is_shared = tn_element_count(b_scale) == 1;
    for (int64_t c = 0; c < run->columns; c++) {
        terms[c] = (int32_t)(0u - a_zero * (uint32_t)sums[c]);
        factors[c] = tn_integer_factor(a_scale, scales[is_shared ? 0 : c], y_scale);
    }
}

static const float *fill_biases(const tiles_run *run, float *biases) {
    const tn_tensor *bias = tn_infer_input(run->call, run->inputs->bias);
    memset(biases, 0, table_bytes(run));
    if (bias) memcpy(biases, bias->data, (size_t)run->columns * sizeof(*biases));
    return biases;
}

static void read_end(tiles_run *run) {
    static const tn_dot_end to_floats = {
        .type = TN_F32, .unit = 1, .low = -INFINITY, .high = INFINITY, .is_plain = true};
    tn_call *call = run->call;
    const tn_integer_inputs *inputs = run->inputs;
    const tn_tensor *y = call->outputs[0];
    char *workspace = call->workspace;
    float *factors = (float *)(void *)(workspace + table_bytes(run));
    fill_tables(run, call->workspace, factors);
    run->end = (tn_tile_end){.terms = call->workspace,
                             .factors = factors,
                             .zero = tn_integer_zero(call, inputs->y_zero, 0, 1, 0),
                             .is_signed = y->type == TN_I8,
                             .table = tn_look_up_table(call),
                             .y = y->data,
                             .row_stride = run->columns};
    if (y->type != TN_F32) return;
    run->end.values = &to_floats;
    run->end.biases = fill_biases(run, factors + table_bytes(run) / sizeof(float));
}

/* The last row again up to whole blocks. */
static void copy_rows(const tiles_run *run, const uint8_t *from, int64_t count, uint8_t *to) {
    const tn_tile_level *level = run->call->user;
    for (int64_t r = 0; r < count || r % level->least_rows; r++, to += run->row_bytes) {
        const int64_t row = r < count ? r : count - 1;
        if (run->to_unsigned)
            run->to_unsigned(to, from + row * run->depth, run->depth);
        else
            memcpy(to, from + row * run->depth, (size_t)run->depth);
        memset(to + run->depth, 0, (size_t)(run->row_bytes - run->depth));
    }
}

static void do_unit(const tiles_run *run, int64_t unit, uint8_t *scratch) {
    const tn_tile_level *level = run->call->user;
    const tn_tile_units *units = &run->units;
    const int64_t first = unit / units->column_units * units->rows, left = run->rows - first;
    const int64_t count = left < units->rows ? left : units->rows;
    const int64_t column = unit % units->column_units, blocks = run->layout.blocks;
    const uint8_t *a = (const uint8_t *)run->call->inputs[0]->data + first * run->depth;
    tn_tile_product product = run->product;
    tn_tile_end end = run->end;
    product.end = &end;
    product.rows = count;
    if (run->is_direct) { /* of the last unit, rows before it are read, too */
        product.skipped = count < level->least_rows ? level->least_rows - count : 0;
        product.a = a - product.skipped * run->depth;
        product.readable = count + product.skipped;
    } else {
        copy_rows(run, a, count, scratch);
        product.a = scratch;
        product.readable = (count + level->least_rows - 1) / level->least_rows * level->least_rows;
    }
    end.y += first * end.row_stride * (end.values ? 4 : 1);
    level->run(&product, column * blocks / units->column_units,
               (column + 1) * blocks / units->column_units);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tiles_run *run = user;
    const tn_tile_level *level = run->call->user;
    uint8_t *scratch = (uint8_t *)run->call->workspace + TABLES * table_bytes(run);
    level->begin(&run->layout);
    for (int64_t unit = begin; unit < end; unit++)
        do_unit(run, unit, scratch + thread * unit_bytes(run));
    level->end();
    return TN_OK;
}

static tn_status tiles_run_units(tn_call *call) {
    enum { GRAIN = 4000000 }; /* products that are worth a thread */
    tiles_run run;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!read_run(call, &run)) return refuse(call);
    run.product = (tn_tile_product){.layout = &run.layout,
                                    .blob = ((const tiles_state *)call->state)->blob,
                                    .a_stride = run.row_bytes,
                                    .a_is_signed = call->inputs[0]->type == TN_I8};
    read_end(&run);
    const int64_t each = run.units.rows * run.row_bytes * run.columns / run.units.column_units;
    return call->host->parallel_for(call, run.units.row_units * run.units.column_units,
                                    GRAIN / (each + 1) + 1, do_units, &run);
}

#define MULTIPLIED(x) x ", f32, " x ", i8, f32, *, f32, *"
static const char *const q_linear_combinations[] = {MULTIPLIED("u8") " -> u8|i8",
                                                    MULTIPLIED("i8") " -> u8|i8"};
static const char *const to_float_combinations[] = {"u8|i8, i8, f32, f32, *?, *?, f32? -> f32"};
#define TILES_KERNELS(prefix, domain_name, operator_name, facets, table)                           \
    TN_LEVEL_KERNELS_OF(, prefix, TN_LEVELS_TILES(tn_tile), domain_name, 1, operator_name,         \
                        "tiles", "Products of bytes on tiles with exact sums.", .absorbs = facets, \
                        .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(table),                 \
                        .accepts = tiles_accepts, .prepare = tiles_prepare,                        \
                        .release = tn_kernel_state_destroy, .reshape = tiles_reshape,              \
                        .run = tiles_run_units)
TILES_KERNELS(tn_q_linear_mat_mul_tiles, "", "QLinearMatMul", TN_FACET_LOOK_UP,
              q_linear_combinations);
TILES_KERNELS(tn_mat_mul_to_float_tiles, "com.microsoft", "MatMulIntegerToFloat", NULL,
              to_float_combinations);

#endif
