/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of integer_tiles.h: which nodes they do, and packing of a constant B. */
#include "mat_mul/integer_tiles.h"
#include "kit/int8/look_up_step.h"
#include "kit/math/round_up.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include <tenon/kit/open.h>

#include <stdio.h>

#if defined(__x86_64__)

typedef struct tiles_state {
    const void *blob; /* null: B varies */
} tiles_state;

/* ----------------------------------------------------------------------------------------------
 * reading a node */

/* One element of a type where the input is there. */
static bool is_one(const tn_call *call, uint32_t input, bool is_scale) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    return !tensor || (tn_element_count(tensor) == 1 && (!is_scale || tensor->type == TN_F32));
}

static bool are_parameters(const tn_call *call, const tn_integer_inputs *inputs) {
    const tn_tensor *scale = tn_infer_input(call, inputs->b_scale);
    return (!scale || (scale->rank <= 1 && scale->type == TN_F32)) &&
           is_one(call, inputs->a_scale, true) && is_one(call, inputs->y_zero, false) &&
           is_one(call, inputs->y_scale, true);
}

/* Of an A whose extents a run alone knows, one row stands for all: B's layout is the same. */
static void read_products(tn_integer_tiles *run) {
    const tn_mat_mul_sizes *sizes = &run->sizes;
    const tn_tensor *a = run->call->inputs[0], *b = run->call->inputs[run->inputs->b];
    const bool is_open = tn_open_is(a);
    run->b_matrices = tn_infer_product(b->shape, 0, sizes->b_batch_rank);
    run->a_rows = is_open ? 1 : tn_infer_product(a->shape, 0, sizes->a_batch_rank) * sizes->rows;
    run->products =
        is_open || run->b_matrices == 1 ? 1 : tn_infer_product(sizes->batch, 0, sizes->batch_rank);
}

bool tn_integer_tiles_read(tn_call *call, tn_integer_tiles *run) {
    const tn_tile_level *level = call->user;
    *run = (tn_integer_tiles){.call = call, .inputs = tn_integer_inputs_of(call)};
    const tn_tensor *a = call->inputs[0], *b = call->inputs[run->inputs->b];
    if (tn_open_is(b) || tn_integer_mat_mul_read(call, &run->sizes) != TN_OK ||
        run->sizes.b_is_vector || !are_parameters(call, run->inputs))
        return false;
    read_products(run);
    run->flip = b->type == TN_U8 ? 0x80 : 0;
    if (run->products < 1) return false;
    const uint32_t threads = (uint32_t)tn_divide_up(call->threads, run->products);
    const int64_t rows = run->products == 1 ? run->a_rows : run->sizes.rows;
    if (!tn_tile_rows_make(level, rows, run->sizes.depth, run->sizes.columns, a->type == TN_I8,
                           threads, &run->rows))
        return false;
    run->blob_bytes = (int64_t)tn_whole_lines(tn_tile_layout_bytes(&run->rows.layout));
    return run->b_matrices <= INT64_MAX / 2 / run->blob_bytes;
}

static tn_status tiles_accepts(tn_call *call) {
    tn_integer_tiles run;
    return tn_look_up_fits(call, tn_infer_input(call, tn_integer_inputs_of(call)->y_zero)) &&
                   tn_integer_tiles_read(call, &run)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * prepare, reshape, run */

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const tn_integer_tiles *run = user;
    (void)bytes;
    for (int64_t m = 0; m < run->b_matrices; m++)
        tn_integer_tiles_pack(run, m, 0, run->rows.layout.blocks, data);
    return TN_OK;
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "this node does not read as a product on tiles");
}

static tn_status tiles_prepare(tn_call *call) {
    const tn_tile_level *level = call->user;
    const uint32_t b = tn_integer_inputs_of(call)->b;
    tn_integer_tiles run;
    char key[96];
    if (!tn_integer_tiles_read(call, &run)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(tiles_state)));
    if (!call->inputs[b]->data) return TN_OK;
    snprintf(key, sizeof(key), "tiles of columns, %lld matrices of %lld, chunks of %lld",
             (long long)run.b_matrices, (long long)run.sizes.depth, (long long)level->chunk);
    tiles_state *state = call->state;
    return tn_kernel_state_finish(
        call, call->host->packed(call, b, key, (uint64_t)(run.b_matrices * run.blob_bytes), pack,
                                 &run, &state->blob));
}

static tn_status tiles_reshape(tn_call *call) {
    const tiles_state *state = call->state;
    tn_integer_tiles run;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!tn_integer_tiles_read(call, &run)) return refuse(call);
    call->workspace_bytes = tn_integer_tiles_set_memory(&run, !state->blob, NULL);
    return TN_OK;
}

static tn_status tiles_run(tn_call *call) {
    const tiles_state *state = call->state;
    tn_integer_tiles run;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!tn_integer_tiles_read(call, &run)) return refuse(call);
    tn_integer_tiles_set_memory(&run, !state->blob, call->workspace);
    return tn_integer_tiles_run(&run, state->blob);
}

#define SUMS(a, b)       a ", " b ", *?, *? -> i32"
#define MULTIPLIED(a, b) a ", f32, " a ", " b ", f32, *, f32, * -> u8|i8"
#define SCALED(a, b)     a ", " b ", f32, f32, *?, *?, f32? -> f32"
#define OF_TYPES(of)     of("u8", "u8"), of("u8", "i8"), of("i8", "u8"), of("i8", "i8")
static const char *const integer_combinations[] = {OF_TYPES(SUMS)};
static const char *const q_linear_combinations[] = {OF_TYPES(MULTIPLIED)};
static const char *const to_float_combinations[] = {OF_TYPES(SCALED)};
#define TILES_KERNELS(prefix, domain_name, revision, operator_name, facets, table)                 \
    TN_LEVEL_KERNELS_OF(, prefix, TN_LEVELS_TILES(tn_tile), domain_name, revision, operator_name,  \
                        "tiles", "Products of bytes on tiles with exact sums.", .absorbs = facets, \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(table), .accepts = tiles_accepts,                          \
                        .prepare = tiles_prepare, .release = tn_kernel_state_destroy,              \
                        .reshape = tiles_reshape, .run = tiles_run)
TILES_KERNELS(tn_mat_mul_integer_tiles, "", 1, "MatMulInteger", NULL, integer_combinations);
TILES_KERNELS(tn_q_linear_mat_mul_tiles, "", 2, "QLinearMatMul", TN_FACET_LOOK_UP,
              q_linear_combinations);
TILES_KERNELS(tn_mat_mul_to_float_tiles, "com.microsoft", 2, "MatMulIntegerToFloat", NULL,
              to_float_combinations);

#endif
