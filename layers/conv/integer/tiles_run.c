/* SPDX-License-Identifier: Apache-2.0 */
/* Reading nodes, packing weights and running units; see tiles_run.h. */
#include "conv/integer/tiles_run.h"
#include "kit/math/round_up.h"
#include <tenon/kit/dot.h>

#include <string.h>

#if defined(__x86_64__)

/* ----------------------------------------------------------------------------------------------
 * reading a node */

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

static void cut_units(tn_conv_tiles *run) {
    const tn_tile_level *level = run->call->user;
    const int64_t threads = run->call->threads;
    tn_tile_units_cut(level, run->rows, run->is_direct ? 0 : run->row_bytes, &run->layout,
                      run->call->threads, &run->units);
    if (!run->is_by_lines) return;
    const int64_t count = run->lines.images * run->lines.units;
    const int64_t columns = count < threads                         ? tn_divide_up(threads, count)
                            : run->is_by_columns && count % threads ? threads
                                                                    : 1;
    run->units = (tn_tile_units){.rows = run->lines.count * run->window.output[1],
                                 .row_units = count,
                                 .column_units =
                                     columns < run->layout.blocks ? columns : run->layout.blocks};
}

bool tn_conv_tiles_read(tn_call *call, const tn_window *window, const tn_tensor *w, int32_t x_zero,
                        tn_conv_tiles *run) {
    const tn_conv_params *params = call->params;
    const tn_tile_level *level = call->user;
    const tn_tensor *x = call->inputs[TN_CONV_X];
    int64_t depth;
    *run = (tn_conv_tiles){.call = call, .window = *window, .x_zero = x_zero};
    if (params->group != 1 || !is_plain_window(window)) return false;
    run->channels = w->shape[1];
    run->filters = w->shape[0];
    run->height = window->input[0];
    run->width = window->input[1];
    run->rows = x->shape[0] * window->output[0] * window->output[1];
    if (run->rows < 1 || run->channels > INT32_MAX / 64 ||
        __builtin_mul_overflow(run->channels, window->kernel[1], &run->run_step) ||
        run->run_step > INT32_MAX)
        return false;
    const bool is_padded = level->has_lines && run->run_step % level->chunk != 0;
    if (is_padded) run->run_step += level->chunk - run->run_step % level->chunk;
    if (__builtin_mul_overflow(run->run_step, window->kernel[0], &depth)) return false;
    const bool is_packed = is_single_tap(window) && !is_padded &&
                           tn_tile_layout_make(level, depth, run->filters, true, &run->layout);
    if (!is_packed && !tn_tile_layout_make(level, depth, run->filters, false, &run->layout))
        return false;
    run->is_element = is_packed && is_element(window) && run->rows >= level->least_rows;
    run->to_unsigned = x->type == TN_I8 ? level->to_unsigned : NULL;
    run->is_direct = run->is_element && !run->to_unsigned;
    run->row_bytes = run->layout.chunk * run->layout.chunks;
    run->is_by_columns = tn_tile_units_by_columns(
        &run->layout, x->shape[0] * run->channels * run->height * run->width, call->threads);
    run->is_by_lines =
        !run->is_element && tn_conv_lines_make(level, window, x, x_zero,
                                               run->is_by_columns ? 1 : call->threads, &run->lines);
    cut_units(run);
    return true;
}

int64_t tn_conv_tiles_padded(const tn_conv_tiles *run) {
    return run->layout.blocks * TN_TILE_COLUMNS;
}

uint64_t tn_conv_tiles_unit_bytes(const tn_conv_tiles *run) {
    if (run->is_by_lines) return tn_conv_lines_bytes(&run->lines);
    return run->is_direct ? 0 : (uint64_t)(run->units.rows * run->row_bytes + 63) / 64 * 64;
}

/* Rows of each filter's kernel, columns and channels, with zeros up to run_step. */
static void pad_runs(const tn_conv_tiles *run, const int8_t *w, int8_t *to) {
    const int64_t height = run->window.kernel[0], width = run->window.kernel[1];
    for (int64_t f = 0; f < run->filters; f++, w += run->channels * height * width) {
        for (int64_t y = 0; y < height; y++, to += run->run_step) {
            memset(to, 0, (size_t)run->run_step);
            for (int64_t x = 0; x < width; x++)
                for (int64_t c = 0; c < run->channels; c++)
                    to[x * run->channels + c] = w[(c * height + y) * width + x];
        }
    }
}

/* The depth is the kernel's rows, its columns, channels. */
tn_status tn_conv_tiles_pack(const tn_conv_tiles *run, const int8_t *w, void *out_blob) {
    const int64_t taps = run->window.kernel[0] * run->window.kernel[1];
    const int64_t depth = run->layout.depth;
    const tn_host *host = run->call->host;
    if (depth == run->channels * taps) {
        tn_tile_pack(&run->layout, w, depth, run->channels, taps, out_blob);
        return TN_OK;
    }
    int8_t *padded = host->allocate(host, (uint64_t)(run->filters * depth), 64);
    if (!padded)
        return host->fail(run->call, TN_ERROR_MEMORY, "no memory to pack %lld weights",
                          (long long)(run->filters * depth));
    pad_runs(run, w, padded);
    tn_tile_pack(&run->layout, padded, depth, depth, 1, out_blob);
    host->deallocate(host, padded);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_tile_window window_of(const tn_conv_tiles *run) {
    const tn_window *window = &run->window;
    return (tn_tile_window){.height = run->height,
                            .width = run->width,
                            .channels = run->channels,
                            .kernel_height = window->kernel[0],
                            .kernel_width = window->kernel[1],
                            .dilation_height = window->dilation[0],
                            .run_bytes = window->kernel[1] * run->channels,
                            .run_step = run->run_step,
                            .row_bytes = run->row_bytes,
                            .step = window->stride[1],
                            .padding = (uint8_t)run->x_zero};
}

/* Rows first..first + count-1 of A, one after the other, and the last one again up to whole blocks.
 */
static void gather(const tn_conv_tiles *run, int64_t first, int64_t count, uint8_t *to) {
    const tn_window *window = &run->window;
    const tn_tile_level *level = run->call->user;
    const uint8_t *x = run->call->inputs[TN_CONV_X]->data;
    const tn_tile_window seen = window_of(run);
    const int64_t across = window->output[1], last = first + count;
    uint8_t *begin = to;
    for (int64_t row = first; row < last;) {
        const int64_t column = row % across, line = row / across;
        const int64_t image = line / window->output[0], y = line % window->output[0];
        const int64_t part = across - column < last - row ? across - column : last - row;
        if (seen.run_step > seen.run_bytes) memset(to, 0, (size_t)(part * run->row_bytes));
        level->gather(&seen, x + image * run->height * run->width * run->channels,
                      y * window->stride[0] - window->pad_begin[0],
                      column * window->stride[1] - window->pad_begin[1], part, to);
        row += part;
        to += part * run->row_bytes;
    }
    if (run->to_unsigned) run->to_unsigned(begin, begin, count * run->row_bytes);
    for (int64_t i = count; i % level->least_rows; i++, to += run->row_bytes)
        memcpy(to, to - run->row_bytes, (size_t)run->row_bytes);
}

/* Sets the product's rows to those of a unit, and answers the first one. */
static int64_t read_rows(const tn_conv_tiles *run, int64_t unit, uint8_t *scratch,
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
        if (run->is_element)
            run->to_unsigned(scratch, x + first * run->row_bytes, count * run->row_bytes);
        else
            gather(run, first, count, scratch);
        product->a = scratch;
        product->readable = tn_divide_up(count, level->least_rows) * level->least_rows;
    }
    return first;
}

static void do_unit(const tn_conv_tiles *run, int64_t unit, uint8_t *scratch) {
    const tn_tile_level *level = run->call->user;
    const int64_t column = unit % run->units.column_units, blocks = run->layout.blocks;
    tn_tile_product product = run->product;
    tn_tile_end end = run->end;
    product.end = &end;
    const int64_t first = read_rows(run, unit / run->units.column_units, scratch, &product);
    const int64_t at = first * end.row_stride * (end.values && end.values->type == TN_F32 ? 4 : 1);
    end.y += at;
    if (end.z) end.z += at;
    level->run(&product, column * blocks / run->units.column_units,
               (column + 1) * blocks / run->units.column_units);
}

typedef struct tiles_job {
    const tn_conv_tiles *run;
    uint8_t *scratch;
} tiles_job;

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tiles_job *job = user;
    const tn_conv_tiles *run = job->run;
    const tn_tile_level *level = run->call->user;
    uint8_t *scratch = job->scratch + thread * tn_conv_tiles_unit_bytes(run);
    level->begin(&run->layout);
    for (int64_t unit = begin; unit < end; unit++)
        do_unit(run, unit, scratch);
    level->end();
    return TN_OK;
}

tn_status tn_conv_tiles_run(tn_conv_tiles *run, const void *blob, void *scratch) {
    enum { GRAIN = 4000000 }; /* products that are worth a thread */
    tn_call *call = run->call;
    run->product = (tn_tile_product){.layout = &run->layout,
                                     .blob = blob,
                                     .a_stride = run->row_bytes,
                                     .a_is_signed = call->inputs[TN_CONV_X]->type == TN_I8};
    tiles_job job = {run, scratch};
    const int64_t each = run->units.rows * run->row_bytes * run->filters / run->units.column_units;
    return call->host->parallel_for(call, run->units.row_units * run->units.column_units,
                                    GRAIN / (each + 1) + 1, do_units, &job);
}

#endif
