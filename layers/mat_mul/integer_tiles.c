/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QLinearMatMul and MatMulIntegerToFloat on tiles (kit/int8/tiles/tile_rows.h): of a constant
 * matrix B of signed bytes without zero points, and scales of one number or one a column of B. Rows
 * of all matrices of A are those of one product.
 */
#include "kit/int8/look_up_step.h"
#include "kit/int8/tiles/tile_rows.h"
#include <tenon/kit/dot.h>
#include <tenon/kit/open.h>
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
    tn_tile_rows rows;
    const void *blob;
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
    /* The layout of B is the same for any number of rows. */
    const int64_t rows = tn_open_is(call->inputs[0])
                             ? 1
                             : tn_infer_product(sizes.batch, 0, sizes.batch_rank) * sizes.rows;
    return tn_tile_rows_make(level, rows, sizes.depth, sizes.columns,
                             call->inputs[0]->type == TN_I8, call->threads, &run->rows);
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
    tn_tile_pack(&run->rows.layout, run->call->inputs[run->inputs->b]->data, 1, run->rows.depth,
                 run->rows.columns, data);
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
                                                           tn_tile_layout_bytes(&run.rows.layout),
                                                           pack, &run, &state->blob));
}

/* The workspace: terms, factors and biases, and each thread's rows. */
enum { TABLES = 3 };
static uint64_t table_bytes(const tiles_run *run) {
    return (uint64_t)tn_tile_rows_padded(&run->rows) * 4;
}

static tn_status tiles_reshape(tn_call *call) {
    tiles_run run;
    if (!read_run(call, &run)) return refuse(call);
    call->workspace_bytes =
        TABLES * table_bytes(&run) + tn_tile_rows_unit_bytes(&run.rows) * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

/* term = -a_zero * sum of b */
static void fill_tables(const tiles_run *run, int32_t *terms, float *factors) {
    const tn_call *call = run->call;
    const tn_integer_inputs *inputs = run->inputs;
    const int32_t *sums = tn_tile_sums(&run->rows.layout, run->blob);
    const uint32_t a_zero = (uint32_t)tn_integer_zero(call, inputs->a_zero, 0, 1, 0);
    const float a_scale = tn_integer_scale(call, inputs->a_scale, 0, 1, 0);
    const float y_scale =
        inputs->y_scale == TN_NO_INPUT ? 1.0f : tn_integer_scale(call, inputs->y_scale, 0, 1, 0);
    const tn_tensor *b_scale = call->inputs[inputs->b_scale];
    const float *scales = b_scale->data;
    const bool is_shared = tn_element_count(b_scale) == 1;
    for (int64_t c = 0; c < run->rows.columns; c++) {
        terms[c] = (int32_t)(0u - a_zero * (uint32_t)sums[c]);
        factors[c] = tn_integer_factor(a_scale, scales[is_shared ? 0 : c], y_scale);
    }
}

static const float *fill_biases(const tiles_run *run, float *biases) {
    const tn_tensor *bias = tn_infer_input(run->call, run->inputs->bias);
    memset(biases, 0, table_bytes(run));
    if (bias) memcpy(biases, bias->data, (size_t)run->rows.columns * sizeof(*biases));
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
                             .row_stride = run->rows.columns};
    if (y->type != TN_F32) return;
    run->end.values = &to_floats;
    run->end.biases = fill_biases(run, factors + table_bytes(run) / sizeof(float));
}

static tn_status tiles_run_units(tn_call *call) {
    tiles_run run;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!read_run(call, &run)) return refuse(call);
    run.blob = ((const tiles_state *)call->state)->blob;
    read_end(&run);
    return tn_tile_rows_run(call, &run.rows, run.blob, call->inputs[0]->data, &run.end,
                            (char *)call->workspace + TABLES * table_bytes(&run));
}

#define MULTIPLIED(x) x ", f32, " x ", i8, f32, *, f32, *"
static const char *const q_linear_combinations[] = {MULTIPLIED("u8") " -> u8|i8",
                                                    MULTIPLIED("i8") " -> u8|i8"};
static const char *const to_float_combinations[] = {"u8|i8, i8, f32, f32, *?, *?, f32? -> f32"};
#define TILES_KERNELS(prefix, domain_name, operator_name, facets, table)                           \
    TN_LEVEL_KERNELS_OF(, prefix, TN_LEVELS_TILES(tn_tile), domain_name, 1, operator_name,         \
                        "tiles", "Products of bytes on tiles with exact sums.", .absorbs = facets, \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(table), .accepts = tiles_accepts,                          \
                        .prepare = tiles_prepare, .release = tn_kernel_state_destroy,              \
                        .reshape = tiles_reshape, .run = tiles_run_units)
TILES_KERNELS(tn_q_linear_mat_mul_tiles, "", "QLinearMatMul", TN_FACET_LOOK_UP,
              q_linear_combinations);
TILES_KERNELS(tn_mat_mul_to_float_tiles, "com.microsoft", "MatMulIntegerToFloat", NULL,
              to_float_combinations);

#endif
