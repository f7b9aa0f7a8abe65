/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of the quantised convolution: copies the input band by band, as int8_plan.h says, and
 * multiplies. Sums are exact; bias, residual, activation and the output's rounding come after them.
 * The inner loop is kit/int8/dot_body.h.
 */
#include "conv/int8_run.h"
#include "kit/int8/dot_rows.h"

/* ----------------------------------------------------------------------------------------------
 * the copy */

/* Of rows of the input, where they are, and of the padding. */
static tn_dot_range range_of(const tn_int8_run *run, int64_t image, int64_t top, int64_t rows) {
    const tn_dot_narrow *narrow = run->state->level->narrow;
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t first = top > 0 ? top : 0;
    const int64_t last = top + rows < g->in_height ? top + rows : g->in_height;
    const int64_t all = g->groups * g->channels, plane = g->in_height * g->in_width;
    const uint8_t *input = (const uint8_t *)run->input;
    tn_dot_range range = {0, 0};
    if (!narrow || last <= first) return range;
    const int64_t count = (last - first) * g->in_width;
    if (run->is_input_last) {
        narrow->range(input + (image / g->groups * plane + first * g->in_width) * all, count * all,
                      0, &range);
        return range;
    }
    for (int64_t c = 0; c < g->channels; c++)
        narrow->range(input + (image * g->channels + c) * plane + first * g->in_width, count, 0,
                      &range);
    return range;
}

/* `count` positions of one input row from column 0 on, all channels of the group. */
static void copy_columns(const tn_int8_run *run, const tn_dot_form *form, char *to, int64_t image,
                         int64_t y, int64_t count) {
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t batch = image / g->groups, group = image % g->groups;
    if (!run->is_input_last) {
        const int64_t plane = g->in_height * g->in_width;
        const int8_t *from = run->input + image * g->channels * plane + y * g->in_width;
        if (g->channels == 1)
            form->load(to, from, count);
        else
            form->interleave(to, from, plane, g->channels, count);
        return;
    }
    const int64_t all = g->groups * g->channels;
    const int8_t *from =
        run->input + (batch * g->in_height + y) * g->in_width * all + group * g->channels;
    if (g->groups == 1) {
        form->load(to, from, count * all);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        form->load(to + i * g->channels * form->element_bytes, from + i * all, g->channels);
}

static void copy_band(const tn_int8_run *run, const tn_dot_form *form, char *copy, int64_t image,
                      int64_t top, int64_t rows) {
    const tn_conv_geometry *g = &run->plan->geometry;
    const int64_t row_bytes = run->plan->row_elements * form->element_bytes;
    const int64_t pixel = g->channels * form->element_bytes,
                  span = run->plan->row_elements / g->channels;
    const int64_t left = g->pad_left < span ? g->pad_left : span;
    int64_t valid = span - left < g->in_width ? span - left : g->in_width;
    for (int64_t y = top; y < top + rows; y++, copy += row_bytes) {
        if (y < 0 || y >= g->in_height) {
            form->clear(copy, run->plan->row_elements);
            continue;
        }
        form->clear(copy, left * g->channels);
        copy_columns(run, form, copy + left * pixel, image, y, valid);
        form->clear(copy + (left + valid) * pixel, (span - left - valid) * g->channels);
    }
    form->clear(copy, run->state->level->group); /* what the last groups reach into */
}

/* ----------------------------------------------------------------------------------------------
 * tiles */

/* One block of channels over `count` positions from `first` on; `output_at` is the output's offset
 * of the first of them. */
static void run_positions(const tn_int8_run *run, tn_dot_tile *tile, int64_t first, int64_t count,
                          int64_t output_at) {
    const int64_t at = output_at * (run->end.type == TN_I8 ? 1 : 4);
    tn_dot_rows_run(run->state->level, tile, run->positions + first, count, run->output + at,
                    run->residual ? run->residual + at : NULL);
}

/* All blocks over `rows` output rows from `y` on, whose input begins at `x`. */
static void run_blocks(const tn_int8_run *run, const tn_dot_choice *choice, tn_dot_tile *tile,
                       int64_t image, int64_t block, int64_t y, int64_t rows) {
    const tn_conv_geometry *g = &run->plan->geometry;
    const tn_dot_layout *layout = &run->state->layout;
    const int64_t group = image % g->groups, all = g->groups * g->filters;
    const int64_t first = tn_dot_block_first(layout, block);
    const int64_t plane = g->out_height * run->plan->out_width;
    const int64_t filter = group * g->filters + first;
    int64_t at = y * run->plan->out_width;
    tile->scale = run->scale + group * layout->padded + first;
    tile->bias = run->bias + group * layout->padded + first;
    if (run->is_output_last)
        at = (image / g->groups * plane + at) * (all / run->plan->join) + filter;
    else
        at += (image / g->groups * all + filter) * plane;
    tn_dot_tile_begin(layout, run->state->blob, choice, group, block, tile);
    if (g->filters - first < tile->columns) tile->columns = g->filters - first;
    if (run->plan->last_outputs == run->plan->join) {
        run_positions(run, tile, 0, rows * g->out_width, at);
        return;
    }
    /* Of the last of this row some filters lie beyond the row. */
    const int64_t left = run->plan->last_outputs * (g->filters / run->plan->join) - first;
    run_positions(run, tile, 0, g->out_width - 1, at);
    if (tile->columns > left) tile->columns = left;
    if (left > 0)
        run_positions(run, tile, g->out_width - 1, 1, at + (g->out_width - 1) * tile->row_stride);
}

static tn_status run_bands(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_int8_run *run = user;
    const tn_int8_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    char *copy = run->copies + thread * plan->copy_bytes;
    tn_dot_tile tile = {.offsets = run->offsets, .end = &run->end};
    tile.row_stride = run->is_output_last ? g->groups * g->filters : 1;
    tile.column_stride = run->is_output_last ? 1 : g->out_height * plan->out_width;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t image = unit / plan->bands;
        const int64_t y = unit % plan->bands * plan->band_rows;
        const int64_t rows =
            y + plan->band_rows < g->out_height ? plan->band_rows : g->out_height - y;
        const int64_t step = plan->is_by_row ? 1 : rows;
        const int64_t top = y * g->stride_height - g->pad_top;
        const int64_t seen =
            (rows - 1) * g->stride_height + (g->kernel_height - 1) * g->dilation_height + 1;
        const tn_dot_choice choice =
            tn_dot_choose(&run->state->layout, range_of(run, image, top, seen));
        const int64_t row_bytes = plan->row_elements * (int64_t)choice.form->element_bytes;
        copy_band(run, choice.form, copy, image, top, seen);
        for (int64_t block = 0; block < run->state->layout.blocks; block++) {
            for (int64_t row = 0; row < rows; row += step) {
                tile.x = copy + row * g->stride_height * row_bytes;
                run_blocks(run, &choice, &tile, image, block, y + row, step);
            }
        }
    }
    return TN_OK;
}

tn_status tn_int8_run_all(tn_call *call, tn_int8_run *run) {
    const tn_int8_plan *plan = run->plan;
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t work = plan->groups * g->filters * plan->band_rows * g->out_width;
    return call->host->parallel_for(call, g->batch * g->groups * plan->bands,
                                    150000 / (work + 1) + 1, run_bands, run);
}
