/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearConv and QLinearConvAdd on tiles (tiles_run.h). A table behind the node is looked up as
 * its bytes are stored. */
#include "conv/integer/tiles_run.h"
#include "conv/kernels.h"
#include "kit/int8/look_up_step.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"

#include <math.h>
#include <stdio.h>

#if defined(__x86_64__)

typedef struct tiles_state {
    const void *blob;
} tiles_state;

typedef struct tiles_context {
    tn_kernel_context kept; /* tables: terms, then factors */
} tiles_context;

/* ----------------------------------------------------------------------------------------------
 * reading a node */

static bool are_constant(const tn_call *call, const tn_conv_inputs *inputs) {
    const uint32_t needed[] = {inputs->w,       inputs->x_scale, inputs->x_zero,
                               inputs->w_scale, inputs->y_scale, inputs->y_zero};
    for (size_t i = 0; i < TN_COUNT(needed); i++)
        if (!tn_layer_known_input(call, needed[i])) return false;
    return !tn_infer_input(call, inputs->bias) || tn_layer_known_input(call, inputs->bias);
}

static bool is_zero(const tn_tensor *tensor) {
    for (int64_t i = 0, end = tensor ? tn_element_count(tensor) : 0; i < end; i++)
        if (tn_element_i64(tensor, i) != 0) return false;
    return true;
}

static bool read_run(tn_call *call, tn_conv_tiles *run) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    tn_window window;
    return tn_conv_integer_read(call, &window) == TN_OK &&
           tn_conv_tiles_read(call, &window, call->inputs[inputs->w],
                              tn_conv_integer_zero(call, inputs->x_zero, 0), run);
}

static bool has_factors(const tn_conv_tiles *run) {
    for (int64_t f = 0; f < run->filters; f++)
        if (!isfinite(tn_conv_integer_factor(run->call, f))) return false;
    return true;
}

static float ratio_of(const tn_call *call, uint32_t input, uint32_t by) {
    return (float)tn_element_f64(call->inputs[input], 0) /
           (float)tn_element_f64(call->inputs[by], 0);
}

static bool is_finite_sum(const tn_call *call, const tn_conv_inputs *inputs) {
    return inputs->added == TN_CONV_NO_INPUT ||
           (isfinite(ratio_of(call, inputs->y_scale, inputs->sum_scale)) &&
            isfinite(ratio_of(call, inputs->added_scale, inputs->sum_scale)));
}

static tn_status tiles_accepts(tn_call *call) {
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    tn_conv_tiles run;
    return tn_look_up_fits(call, call->inputs[inputs->y_zero]) && are_constant(call, inputs) &&
                   is_zero(tn_layer_known_input(call, inputs->w_zero)) && read_run(call, &run) &&
                   has_factors(&run) && is_finite_sum(call, inputs)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * prepare, reshape */

static tn_status pack(void *user, void *data, uint64_t bytes) {
    const tn_conv_tiles *run = user;
    (void)bytes;
    return tn_conv_tiles_pack(run, run->call->inputs[tn_conv_inputs_of(run->call)->w]->data, data);
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "this node does not read as a convolution on tiles");
}

static tn_status tiles_prepare(tn_call *call) {
    const tn_tile_level *level = call->user;
    tn_conv_tiles run;
    char key[64];
    if (!read_run(call, &run)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(tiles_state)));
    snprintf(key, sizeof(key), "tiles, chunks of %lld", (long long)level->chunk);
    tiles_state *state = call->state;
    return tn_kernel_state_finish(call, call->host->packed(call, tn_conv_inputs_of(call)->w, key,
                                                           tn_tile_layout_bytes(&run.layout), pack,
                                                           &run, &state->blob));
}

static tn_status tiles_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(tiles_context));
}

/* term = bias - x_zero * sum of w */
static void fill_tables(const tn_conv_tiles *run, int32_t *terms, float *factors) {
    const tiles_state *state = run->call->state;
    const int32_t *sums = tn_tile_sums(&run->layout, state->blob);
    const int32_t x_zero = run->x_zero;
    for (int64_t f = 0; f < tn_conv_tiles_padded(run); f++) {
        const bool is_one = f < run->filters;
        terms[f] = is_one ? (int32_t)((uint32_t)tn_conv_integer_bias(run->call, f) -
                                      (uint32_t)x_zero * (uint32_t)sums[f])
                          : 0;
        factors[f] = is_one ? tn_conv_integer_factor(run->call, f) : 0;
    }
}

static tn_status tiles_reshape(tn_call *call) {
    tn_conv_tiles run;
    if (!read_run(call, &run)) return refuse(call);
    TN_TRY(tn_kernel_context_reserve(call, (uint64_t)tn_conv_tiles_padded(&run) * 8));
    int32_t *terms = ((tiles_context *)call->context)->kept.tables;
    fill_tables(&run, terms, (float *)(void *)(terms + tn_conv_tiles_padded(&run)));
    call->workspace_bytes = tn_conv_tiles_unit_bytes(&run) * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static void read_end(tn_conv_tiles *run) {
    const tn_call *call = run->call;
    const tn_conv_inputs *inputs = tn_conv_inputs_of(call);
    const int32_t *terms = ((const tiles_context *)call->context)->kept.tables;
    tn_tile_end *end = &run->end;
    *end =
        (tn_tile_end){.terms = terms,
                      .factors = (const float *)(const void *)(terms + tn_conv_tiles_padded(run)),
                      .zero = tn_conv_integer_zero(call, inputs->y_zero, 0),
                      .is_signed = call->outputs[0]->type == TN_I8,
                      .table = tn_look_up_table(call),
                      .y = call->outputs[0]->data,
                      .row_stride = run->filters};
    if (inputs->added == TN_CONV_NO_INPUT) return;
    end->z = call->inputs[inputs->added]->data;
    end->z_zero = tn_conv_integer_zero(call, inputs->added_zero, 0);
    end->sum_zero = tn_conv_integer_zero(call, inputs->sum_zero, 0);
    end->own_factor = ratio_of(call, inputs->y_scale, inputs->sum_scale);
    end->z_factor = ratio_of(call, inputs->added_scale, inputs->sum_scale);
}

static tn_status tiles_run_units(tn_call *call) {
    tn_conv_tiles run;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!read_run(call, &run)) return refuse(call);
    read_end(&run);
    return tn_conv_tiles_run(&run, ((const tiles_state *)call->state)->blob, call->workspace);
}

#define CONV(x, y) x ":nhwc, f32, " x ", i8, f32, i8, f32, " y ", i32?"
static const char *const conv_combinations[] = {
    CONV("u8", "u8") " -> u8:nhwc", CONV("i8", "i8") " -> i8:nhwc", CONV("u8", "i8") " -> i8:nhwc",
    CONV("i8", "u8") " -> u8:nhwc"};
#define SUM(x, y) CONV(x, y) ", " y ":nhwc, f32, " y "?, f32, " y "? -> " y ":nhwc"
static const char *const sum_combinations[] = {SUM("u8", "u8"), SUM("i8", "i8"), SUM("u8", "i8"),
                                               SUM("i8", "u8")};
#define TILES_KERNELS(prefix, domain_name, operator_name, table)                                   \
    TN_LEVEL_KERNELS_OF(                                                                           \
        , prefix, TN_LEVELS_TILES(tn_tile), domain_name, 1, operator_name, "tiles",                \
        "Products of bytes on tiles with exact sums.", .absorbs = TN_FACET_LOOK_UP,                \
        .traits = TN_KERNEL_DETERMINISTIC, TN_COMBINATIONS(table), .accepts = tiles_accepts,       \
        .prepare = tiles_prepare, .release = tn_kernel_state_destroy, .open = tiles_open,          \
        .close = tn_kernel_context_destroy, .reshape = tiles_reshape, .run = tiles_run_units)
TILES_KERNELS(tn_q_linear_conv_tiles, "", "QLinearConv", conv_combinations);
TILES_KERNELS(tn_q_linear_conv_add_tiles, "Tenon", "QLinearConvAdd", sum_combinations);

#endif
