/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QLinearConv and QLinearConvAdd on tiles (kit/int8/tile_product.h), channels last, of signed
 * weights and one group. Rows of the product are positions, its depth is what a window sees. A
 * window of one element with stride 1 is read where it is; others as lines (lines.h), or where the
 * level has none they are gathered, a unit of positions at a time, with the zero point as padding.
 * A table behind the node is looked up as its bytes are stored.
 */
#include "conv/integer/integer.h"
#include "conv/integer/lines.h"
#include "conv/kernels.h"
#include "kit/int8/look_up_step.h"
#include "kit/int8/tile_product.h"
#include "kit/math/round_up.h"
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

typedef struct tiles_run {
    tn_call *call;
    const tn_conv_inputs *inputs;
    tn_window window;
    tn_tile_layout layout;
    int64_t channels, filters, height, width; /* of X */
    int64_t rows;                             /* positions of all images */
    bool is_direct;                           /* X is read where it is */
    bool is_by_lines;
    tn_conv_lines lines;
    int64_t row_bytes; /* of A */
    tn_tile_units units;
    tn_tile_product product;
    tn_tile_end end;
} tiles_run;

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

static bool is_plain_window(const tn_window *window) {
    return window->rank == 2 && window->dilation[1] == 1 && window->pad_begin[0] >= 0 &&
           window->pad_begin[1] >= 0;
}

/* Whether positions of the output are those of the input. */
static bool is_element(const tn_window *window) {
    bool is = true;
    for (uint32_t i = 0; i < 2; i++)
        is = is && window->stride[i] == 1 && window->pad_begin[i] == 0 &&
             window->output[i] == window->input[i];
    return is;
}

static bool is_single_tap(const tn_window *window) {
    return window->kernel[0] == 1 && window->kernel[1] == 1;
}

static bool read_run(tn_call *call, tiles_run *run) {
    const tn_conv_params *params = call->params;
    const tn_tile_level *level = call->user;
    *run = (tiles_run){.call = call, .inputs = tn_conv_inputs_of(call)};
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[run->inputs->w];
    if (tn_conv_integer_read(call, &run->window) != TN_OK || params->group != 1 ||
        !is_plain_window(&run->window))
        return false;
    const tn_window *window = &run->window;
    int64_t depth;
    run->channels = w->shape[1];
    run->filters = w->shape[0];
    run->height = window->input[0];
    run->width = window->input[1];
    run->rows = x->shape[0] * window->output[0] * window->output[1];
    if (run->rows < 1 || run->channels > INT32_MAX / 64 ||
        __builtin_mul_overflow(run->channels * window->kernel[0], window->kernel[1], &depth))
        return false;
    const bool is_packed = is_single_tap(window) &&
                           tn_tile_layout_make(level, depth, run->filters, true, &run->layout);
    if (!is_packed && !tn_tile_layout_make(level, depth, run->filters, false, &run->layout))
        return false;
    run->is_direct = is_packed && is_element(window) && run->rows >= level->least_rows;
    run->row_bytes = run->layout.chunk * run->layout.chunks;
    run->is_by_lines =
        !run->is_direct &&
        tn_conv_lines_make(level, window, x, tn_conv_integer_zero(call, run->inputs->x_zero, 0),
                           call->threads, &run->lines);
    tn_tile_units_cut(level, run->rows, run->is_direct ? 0 : run->row_bytes, &run->layout,
                      call->threads, &run->units);
    if (run->is_by_lines) {
        const int64_t count = run->lines.images * run->lines.units, threads = call->threads;
        const int64_t columns = count < threads ? tn_divide_up(threads, count) : 1;
        run->units = (tn_tile_units){
            .rows = run->lines.count * window->output[1],
            .row_units = count,
            .column_units = columns < run->layout.blocks ? columns : run->layout.blocks};
    }
    return true;
}

static bool has_factors(const tiles_run *run) {
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
    tiles_run run;
    return tn_look_up_fits(call, call->inputs[inputs->y_zero]) && are_constant(call, inputs) &&
                   is_zero(tn_layer_known_input(call, inputs->w_zero)) && read_run(call, &run) &&
                   has_factors(&run) && is_finite_sum(call, inputs)
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * prepare, reshape */

/* The depth is the kernel's rows, its columns, channels. */
static tn_status pack(void *user, void *data, uint64_t bytes) {
    const tiles_run *run = user;
    const int64_t taps = run->window.kernel[0] * run->window.kernel[1];
    (void)bytes;
    tn_tile_pack(&run->layout, run->call->inputs[run->inputs->w]->data, run->layout.depth,
                 run->channels, taps, data);
    return TN_OK;
}

static tn_status refuse(tn_call *call) {
    return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                            "this node does not read as a convolution on tiles");
}

static tn_status tiles_prepare(tn_call *call) {
    const tn_tile_level *level = call->user;
    tiles_run run;
    char key[64];
    if (!read_run(call, &run)) return refuse(call);
    TN_TRY(tn_kernel_state_create(call, sizeof(tiles_state)));
    snprintf(key, sizeof(key), "tiles, chunks of %lld", (long long)level->chunk);
    tiles_state *state = call->state;
    return tn_kernel_state_finish(call, call->host->packed(call, run.inputs->w, key,
                                                           tn_tile_layout_bytes(&run.layout), pack,
                                                           &run, &state->blob));
}

static tn_status tiles_open(tn_call *call) {
    return tn_kernel_context_create(call, sizeof(tiles_context));
}

static int64_t padded_filters(const tiles_run *run) {
    return run->layout.blocks * TN_TILE_COLUMNS;
}

static uint64_t unit_bytes(const tiles_run *run) {
    if (run->is_by_lines) return tn_conv_lines_bytes(&run->lines);
    return run->is_direct ? 0 : (uint64_t)(run->units.rows * run->row_bytes + 63) / 64 * 64;
}

/* term = bias - x_zero * sum of w */
static void fill_tables(const tiles_run *run, int32_t *terms, float *factors) {
    const tiles_state *state = run->call->state;
    const int32_t *sums = tn_tile_sums(&run->layout, state->blob);
    const int32_t x_zero = tn_conv_integer_zero(run->call, run->inputs->x_zero, 0);
    for (int64_t f = 0; f < padded_filters(run); f++) {
        const bool is_one = f < run->filters;
        terms[f] = is_one ? (int32_t)((uint32_t)tn_conv_integer_bias(run->call, f) -
                                      (uint32_t)x_zero * (uint32_t)sums[f])
                          : 0;
        factors[f] = is_one ? tn_conv_integer_factor(run->call, f) : 0;
    }
}

static tn_status tiles_reshape(tn_call *call) {
    tiles_run run;
    if (!read_run(call, &run)) return refuse(call);
    TN_TRY(tn_kernel_context_reserve(call, (uint64_t)padded_filters(&run) * 8));
    int32_t *terms = ((tiles_context *)call->context)->kept.tables;
    fill_tables(&run, terms, (float *)(void *)(terms + padded_filters(&run)));
    call->workspace_bytes = unit_bytes(&run) * call->threads;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static void read_end(tiles_run *run) {
    const tn_call *call = run->call;
    const tn_conv_inputs *inputs = run->inputs;
    const int32_t *terms = ((const tiles_context *)call->context)->kept.tables;
    tn_tile_end *end = &run->end;
    *end = (tn_tile_end){.terms = terms,
                         .factors = (const float *)(const void *)(terms + padded_filters(run)),
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

static tn_tile_window window_of(const tiles_run *run) {
    const tn_window *window = &run->window;
    return (tn_tile_window){.height = run->height,
                            .width = run->width,
                            .channels = run->channels,
                            .kernel_height = window->kernel[0],
                            .kernel_width = window->kernel[1],
                            .dilation_height = window->dilation[0],
                            .run_bytes = window->kernel[1] * run->channels,
                            .row_bytes = run->row_bytes,
                            .step = window->stride[1],
                            .padding =
                                (uint8_t)tn_conv_integer_zero(run->call, run->inputs->x_zero, 0)};
}

/* Rows first..first + count-1 of A, one after the other, and the last one again up to whole blocks.
 */
static void gather(const tiles_run *run, int64_t first, int64_t count, uint8_t *to) {
    const tn_window *window = &run->window;
    const tn_tile_level *level = run->call->user;
    const uint8_t *x = run->call->inputs[TN_CONV_X]->data;
    const tn_tile_window seen = window_of(run);
    const int64_t across = window->output[1], last = first + count;
    for (int64_t row = first; row < last;) {
        const int64_t column = row % across, line = row / across;
        const int64_t image = line / window->output[0], y = line % window->output[0];
        const int64_t part = across - column < last - row ? across - column : last - row;
        level->gather(&seen, x + image * run->height * run->width * run->channels,
                      y * window->stride[0] - window->pad_begin[0],
                      column * window->stride[1] - window->pad_begin[1], part, to);
        row += part;
        to += part * run->row_bytes;
    }
    for (int64_t i = count; i % level->least_rows; i++, to += run->row_bytes)
        memcpy(to, to - run->row_bytes, (size_t)run->row_bytes);
}

/* Sets the product's rows to those of a unit, and answers the first one. */
static int64_t read_rows(const tiles_run *run, int64_t unit, uint8_t *scratch,
                         tn_tile_product *product) {
    const tn_tile_level *level = run->call->user;
    const uint8_t *x = run->call->inputs[TN_CONV_X]->data;
    if (run->is_by_lines) return tn_conv_lines_read(&run->lines, x, unit, scratch, product);
    const int64_t first = unit * run->units.rows, left = run->rows - first;
    const int64_t count = left < run->units.rows ? left : run->units.rows;
    product->rows = count;
    if (run->is_direct) { /* of the last unit, rows before it are read, too */
        const int64_t more = count < level->least_rows ? level->least_rows - count : 0;
        product->a = x + (first - more) * run->row_bytes;
        product->skipped = more;
        product->readable = count + more;
    } else {
        gather(run, first, count, scratch);
        product->a = scratch;
        product->readable = tn_divide_up(count, level->least_rows) * level->least_rows;
    }
    return first;
}

static void do_unit(const tiles_run *run, int64_t unit, uint8_t *scratch) {
    const tn_tile_level *level = run->call->user;
    const int64_t column = unit % run->units.column_units, blocks = run->layout.blocks;
    tn_tile_product product = run->product;
    tn_tile_end end = run->end;
    product.end = &end;
    const int64_t first = read_rows(run, unit / run->units.column_units, scratch, &product);
    end.y += first * end.row_stride;
    if (end.z) end.z += first * end.row_stride;
    level->run(&product, column * blocks / run->units.column_units,
               (column + 1) * blocks / run->units.column_units);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tiles_run *run = user;
    const tn_tile_level *level = run->call->user;
    uint8_t *scratch = (uint8_t *)run->call->workspace + thread * unit_bytes(run);
    level->begin(&run->layout);
    for (int64_t unit = begin; unit < end; unit++)
        do_unit(run, unit, scratch);
    level->end();
    return TN_OK;
}

static tn_status tiles_run_units(tn_call *call) {
    enum { GRAIN = 4000000 }; /* products that are worth a thread */
    tiles_run run;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    if (!read_run(call, &run)) return refuse(call);
    read_end(&run);
    run.product = (tn_tile_product){.layout = &run.layout,
                                    .blob = ((const tiles_state *)call->state)->blob,
                                    .a_stride = run.row_bytes,
                                    .a_is_signed = call->inputs[TN_CONV_X]->type == TN_I8};
    const int64_t each = run.units.rows * run.row_bytes * run.filters / run.units.column_units;
    return call->host->parallel_for(call, run.units.row_units * run.units.column_units,
                                    GRAIN / (each + 1) + 1, do_units, &run);
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
