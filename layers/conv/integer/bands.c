/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of positions: their products, and what becomes of the sums. See run.h. */
#include "conv/integer/run.h"
#include "kit/int8/dot_rows.h"
#include "kit/int8/look_up_step.h"
#include "kit/region/tiles.h"
#include <tenon/kit/infer.h>

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * what each filter has */

void tn_integer_conv_read_zeros(tn_integer_conv *run) {
    const int32_t shift = run->call->inputs[run->inputs->w]->type == TN_U8 ? 128 : 0;
    const int32_t x_zero = tn_integer_conv_x_zero(run);
    for (int64_t group = 0; group < run->item_groups; group++) {
        const int32_t *sums = tn_dot_weight_sums(&run->layout, run->blob, group);
        for (int64_t f = 0; f < run->filters; f++) {
            const int64_t at = group * run->padded + f;
            const int32_t zero =
                tn_conv_integer_zero(run->call, run->inputs->w_zero, group * run->filters + f) -
                shift;
            const int64_t depth = run->channels * run->taps;
            run->zeros[at] = zero;
            run->terms[at] = (int32_t)((uint32_t)x_zero * (uint32_t)(depth * zero - sums[f]));
            run->has_zeros |= zero != 0;
        }
    }
}

void tn_integer_conv_read_scales(tn_integer_conv *run) {
    const tn_tensor *bias = tn_infer_input(run->call, run->inputs->bias);
    run->are_finite = run->inputs->y_scale != TN_CONV_NO_INPUT;
    if (!run->are_finite) return;
    for (int64_t group = 0; group < run->item_groups; group++) {
        const int64_t first = group * run->filters;
        const int32_t *biases = bias ? (const int32_t *)bias->data + first : NULL;
        int32_t *terms = run->terms + group * run->padded;
        float *factors = run->factors + group * run->padded;
        tn_conv_integer_factors(run->call, first, run->filters, factors);
        for (int64_t f = 0; f < run->filters; f++) {
            if (biases) terms[f] = (int32_t)((uint32_t)terms[f] + (uint32_t)biases[f]);
            run->are_finite &= isfinite(factors[f]) != 0;
        }
    }
}

/* Where a table of bytes does nothing but bound them, they are the end's. */
static void read_bounds(tn_integer_conv *run, bool is_signed, int32_t zero) {
    const uint8_t *table = tn_look_up_table(run->call);
    int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
    if (table && tn_look_up_bounds(table, is_signed, &low, &high)) run->look_up = NULL;
    run->end = (tn_dot_end){
        .type = TN_U8, .zero = zero, .low = (float)(low - zero), .high = (float)(high - zero)};
}

/* What sums of tiles that end in bytes begin at. */
static void read_initial(tn_integer_conv *run) {
    const uint32_t shift = (uint32_t)run->choice.form->shift;
    for (int64_t group = 0; group < run->item_groups; group++) {
        const int32_t *sums = tn_dot_weight_sums(&run->layout, run->blob, group);
        const int32_t *terms = run->terms + group * run->padded;
        int32_t *initial = run->initial + group * run->padded;
        float *factors = run->factors + group * run->padded;
        for (int64_t f = 0; f < run->filters; f++)
            initial[f] = (int32_t)((uint32_t)terms[f] - shift * (uint32_t)sums[f]);
        for (int64_t f = run->filters; f < run->padded; f++) {
            initial[f] = 0;
            factors[f] = 0;
        }
    }
}

static void begin_tile(tn_integer_conv *run, int64_t group, int64_t block, tn_dot_tile *tile) {
    const tn_dot_layout *layout = &run->layout;
    const int64_t first = tn_dot_block_first(layout, block), left = run->filters - first;
    const bool is_last = run->call->outputs[0]->format == TN_NHWC; /* of one group */
    *tile = (tn_dot_tile){
        .offsets = run->offsets, .row_stride = run->padded, .column_stride = 1, .end = &run->end};
    tn_dot_tile_begin(layout, run->blob, &run->choice, group, block, tile);
    if (!run->ends_in_bytes) return;
    tile->initial = run->initial + group * run->padded + first;
    tile->scale = run->factors + group * run->padded + first;
    if (left < tile->columns) tile->columns = left;
    if (is_last) tile->row_stride = run->filters;
}

void tn_integer_conv_begin_tiles(tn_integer_conv *run) {
    run->ends_in_bytes = run->are_finite && !run->has_zeros;
    run->end = (tn_dot_end){.type = TN_I32};
    if (run->ends_in_bytes) {
        read_bounds(run, run->call->outputs[0]->type == TN_I8,
                    tn_conv_integer_zero(run->call, run->inputs->y_zero, 0));
        read_initial(run);
    }
    for (int64_t i = 0; i < run->item_groups * run->layout.blocks; i++)
        begin_tile(run, i / run->layout.blocks, i % run->layout.blocks, &run->tiles[i]);
}

/* ----------------------------------------------------------------------------------------------
 * bands */

static int32_t sum_inputs(const tn_integer_conv *run, const void *x, int64_t count) {
    const tn_integer_rows *rows = run->level->rows;
    const tn_dot_form *form = run->choice.form;
    return form->element_bytes == 2 ? rows->sum_words(count, x)
                                    : rows->sum_bytes(count, x) - form->shift * (int32_t)count;
}

/* What each window sees, summed. */
static void sum_rows(const tn_integer_conv *run, const char *x, tn_integer_conv_band *band) {
    for (int64_t r = 0; r < band->rows; r++) {
        band->row_sums[r] = 0;
        for (int64_t k = 0; k < run->runs; k++) {
            const int64_t at = band->offsets[r] + run->offsets[k * run->run_groups];
            band->row_sums[r] += sum_inputs(run, x + at * run->choice.form->element_bytes,
                                            run->run_taps * run->channels);
        }
    }
}

/* Where a row of the band's bytes begins, and how far apart they are. */
static uint8_t *bytes_of(const tn_integer_conv *run, const tn_integer_conv_band *band,
                         int64_t *out_stride) {
    const tn_tensor *y = run->call->outputs[0];
    const bool is_last = y->format == TN_NHWC; /* of one group */
    *out_stride = is_last ? run->filters : run->padded;
    if (!is_last) return band->bytes;
    return (uint8_t *)y->data + (band->item * run->positions + band->first) * run->filters;
}

static void multiply(const tn_integer_conv *run, tn_integer_conv_band *band) {
    const tn_dot_tile *tiles = run->tiles + band->item % run->item_groups * run->layout.blocks;
    const char *x =
        run->x + band->item * run->item_elements * (int64_t)run->choice.form->element_bytes;
    const int64_t bytes = run->ends_in_bytes ? 1 : (int64_t)sizeof(int32_t);
    int64_t stride;
    uint8_t *to = bytes_of(run, band, &stride);
    if (!run->ends_in_bytes) to = (uint8_t *)band->sums;
    for (int64_t block = 0; block < run->layout.blocks; block++) {
        tn_dot_tile tile = tiles[block];
        tile.x = x;
        tn_dot_rows_run(run->level->dot, &tile, band->offsets, band->rows, (char *)to, NULL);
        to += tile.vectors * run->level->dot->lanes * bytes;
    }
    if (run->has_zeros) sum_rows(run, x, band);
}

/* Rows of filters become columns of positions. */
static void store_sums(const tn_integer_conv *run, const tn_integer_conv_band *band, int64_t at) {
    int32_t *y = (int32_t *)run->call->outputs[0]->data + at;
    tn_transpose_baseline.bytes_4(run->filters, band->rows, band->sums, run->padded, y,
                                  run->positions);
}

/* Sums of row `r` as bytes, or as they are stored. */
static void finish_row(const tn_integer_conv *run, const tn_integer_conv_band *band, int64_t r,
                       uint8_t *to) {
    const int64_t of_group = band->item % run->item_groups * run->padded;
    int32_t *sums = band->sums + r * run->padded;
    run->level->rows->correct(run->filters, 1, run->terms + of_group,
                              run->has_zeros ? band->row_sums[r] : 0, run->zeros + of_group, sums);
    if (run->inputs->y_scale == TN_CONV_NO_INPUT) return;
    run->level->rows->to_bytes(run->filters, sums, run->factors + of_group,
                               tn_conv_integer_zero(run->call, run->inputs->y_zero, 0),
                               run->call->outputs[0]->type == TN_I8, to);
}

static void finish(const tn_integer_conv *run, const tn_integer_conv_band *band) {
    const tn_tensor *y = run->call->outputs[0];
    const int64_t at = band->item * run->filters * run->positions + band->first;
    int64_t stride;
    uint8_t *bytes = bytes_of(run, band, &stride);
    for (int64_t r = 0; r < band->rows; r++) {
        uint8_t *to = bytes + r * stride;
        if (!run->ends_in_bytes) finish_row(run, band, r, to);
        if (run->look_up) run->look_up(&run->table, run->filters, (const int8_t *)to, (int8_t *)to);
    }
    if (y->format == TN_NHWC) return;
    if (run->inputs->y_scale != TN_CONV_NO_INPUT)
        run->level->rows->transpose(band->rows, run->filters, band->bytes, run->padded, 0,
                                    (uint8_t *)y->data + at, run->positions);
    else
        store_sums(run, band, at);
}

tn_status tn_integer_conv_do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_integer_conv *run = user;
    char *scratch = run->scratch + thread * run->scratch_bytes;
    const int64_t sums_bytes = TN_INTEGER_CONV_BAND * run->padded * (int64_t)sizeof(int32_t);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t at = unit % run->bands;
        const int64_t first = tn_parallel_first(run->positions, run->bands, at);
        tn_integer_conv_band band = {.item = unit / run->bands,
                                     .first = first,
                                     .rows = tn_parallel_first(run->positions, run->bands, at + 1) -
                                             first,
                                     .sums = (int32_t *)(void *)scratch,
                                     .bytes = (uint8_t *)scratch + sums_bytes};
        tn_integer_conv_corners(run, &band);
        if (run->depthwise)
            tn_integer_conv_do_depthwise(run, &band);
        else
            multiply(run, &band);
        finish(run, &band);
    }
    return TN_OK;
}
