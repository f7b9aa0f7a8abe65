/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of positions: their products, and what becomes of the sums. See run.h. */
#include "conv/integer/run.h"
#include "kit/int8/dot_rows.h"
#include "kit/region/tiles.h"

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
    if (run->inputs->y_scale == TN_CONV_NO_INPUT) return;
    for (int64_t f = 0; f < run->item_groups * run->filters; f++) {
        const int64_t at = f / run->filters * run->padded + f % run->filters;
        const int32_t bias = tn_conv_integer_bias(run->call, f);
        run->terms[at] = (int32_t)((uint32_t)run->terms[at] + (uint32_t)bias);
        run->factors[at] = tn_conv_integer_factor(run->call, f);
    }
}

/* ----------------------------------------------------------------------------------------------
 * bands */

static int32_t sum_inputs(const tn_integer_conv *run, const void *x, int64_t count) {
    const tn_integer_rows *rows = run->level->rows;
    return run->element_bytes == 2 ? rows->sum_words(count, x)
                                   : rows->sum_bytes(count, x) - 128 * (int32_t)count;
}

/* What each window sees, summed. */
static void sum_rows(const tn_integer_conv *run, const char *x, tn_integer_conv_band *band) {
    for (int64_t r = 0; r < band->rows; r++) {
        band->row_sums[r] = 0;
        for (int64_t k = 0; k < run->runs; k++) {
            const int64_t at = band->offsets[r] + run->offsets[k * run->run_groups];
            band->row_sums[r] +=
                sum_inputs(run, x + at * run->element_bytes, run->run_taps * run->channels);
        }
    }
}

static void multiply(const tn_integer_conv *run, tn_integer_conv_band *band) {
    const tn_dot_end end = {.type = TN_I32};
    const tn_dot_layout *layout = &run->layout;
    const int64_t group = band->item % run->item_groups;
    const char *x = run->x + band->item * run->item_elements * run->element_bytes;
    for (int64_t block = 0; block < layout->blocks; block++) {
        const int64_t first = tn_dot_block_first(layout, block);
        const int64_t width = tn_dot_block_first(layout, block + 1) - first;
        tn_dot_tile tile = {.x = x,
                            .offsets = run->offsets,
                            .groups = layout->groups,
                            .weights = tn_dot_weights_of(layout, run->blob, group, block),
                            .initial = tn_dot_initial(layout, run->blob, group) + first,
                            .columns = width,
                            .row_stride = run->padded,
                            .column_stride = 1,
                            .end = &end};
        tn_dot_rows_run(run->level->dot, &tile, width / run->level->dot->lanes, band->offsets,
                        band->rows, (char *)(band->sums + first), NULL);
    }
    if (run->has_zeros) sum_rows(run, x, band);
}

/* Rows of filters become columns of positions. */
static void store_sums(const tn_integer_conv *run, const tn_integer_conv_band *band, int64_t at) {
    int32_t *y = (int32_t *)run->call->outputs[0]->data + at;
    tn_transpose_baseline.bytes_4(run->filters, band->rows, band->sums, run->padded, y,
                                  run->positions);
}

static void finish(const tn_integer_conv *run, const tn_integer_conv_band *band) {
    const tn_integer_rows *rows = run->level->rows;
    const tn_tensor *y = run->call->outputs[0];
    const int64_t padded = run->padded, filters = run->filters;
    const int64_t of_group = band->item % run->item_groups * padded;
    const int64_t at = band->item * filters * run->positions + band->first;
    const int64_t last_at = (band->item * run->positions + band->first) * filters;
    const bool is_scaled = run->inputs->y_scale != TN_CONV_NO_INPUT;
    const bool is_last = y->format == TN_NHWC; /* of one group */
    const int32_t zero = tn_conv_integer_zero(run->call, run->inputs->y_zero, 0);
    for (int64_t r = 0; r < band->rows; r++) {
        int32_t *sums = band->sums + r * padded;
        rows->correct(filters, 1, run->terms + of_group, run->has_zeros ? band->row_sums[r] : 0,
                      run->zeros + of_group, sums);
        if (!is_scaled) continue;
        uint8_t *to =
            is_last ? (uint8_t *)y->data + last_at + r * filters : band->bytes + r * padded;
        rows->to_bytes(filters, sums, run->factors + of_group, zero, y->type == TN_I8, to);
        if (run->look_up) run->look_up(&run->table, filters, (int8_t *)to, (int8_t *)to);
    }
    if (is_last) return;
    if (is_scaled)
        rows->transpose(band->rows, filters, band->bytes, padded, 0, (uint8_t *)y->data + at,
                        run->positions);
    else
        store_sums(run, band, at);
}

tn_status tn_integer_conv_do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_integer_conv *run = user;
    char *scratch = run->scratch + thread * run->scratch_bytes;
    const int64_t sums_bytes = TN_INTEGER_BAND * run->padded * (int64_t)sizeof(int32_t);
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t first = unit % run->bands * TN_INTEGER_BAND, left = run->positions - first;
        tn_integer_conv_band band = {.item = unit / run->bands,
                                     .first = first,
                                     .rows = left < TN_INTEGER_BAND ? left : TN_INTEGER_BAND,
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
