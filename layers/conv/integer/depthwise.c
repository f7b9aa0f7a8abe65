/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions of integers (one channel and one filter a group), on the loop of
 * depthwise_body.h: the lanes of a vector are channels. Weights are less their zero points, which
 * 16 bits hold, and are read anew in each run: there is one a tap and channel. Rows of windows of 3
 * x 3 are done at once where the level does (depthwise_rows.h).
 */
#include "conv/integer/run.h"

#include "kit/math/round_up.h"

#include <math.h>
#include <string.h>

void tn_integer_conv_pack_depthwise(tn_integer_conv *run) {
    const tn_tensor *w = run->call->inputs[run->inputs->w];
    const int64_t lanes = run->depthwise->lanes;
    const int32_t x_zero = tn_integer_conv_x_zero(run);
    memset(run->weights, 0, (size_t)(run->padded * run->taps) * sizeof(int32_t));
    for (int64_t c = 0; c < run->channels; c++) {
        const int32_t zero = tn_conv_integer_zero(run->call, run->inputs->w_zero, c);
        int32_t *to = run->weights + c / lanes * lanes * run->taps + c % lanes;
        int32_t sum = 0;
        for (int64_t tap = 0; tap < run->taps; tap++) {
            const int64_t at = c * run->taps + tap;
            const int32_t weight = (w->type == TN_U8 ? (int32_t)((const uint8_t *)w->data)[at]
                                                     : (int32_t)((const int8_t *)w->data)[at]) -
                                   zero;
            to[tap * lanes] = weight & 0xffff;
            sum += weight;
        }
        run->zeros[c] = 0;
        run->terms[c] = (int32_t)(0 - (uint32_t)x_zero * (uint32_t)sum);
    }
    run->has_zeros = false;
    for (int64_t tap = 0; tap < run->taps; tap++) {
        run->tap_offsets[tap] = tn_integer_conv_tap(run, tap);
        run->tap_numbers[tap] = (int32_t)tap;
    }
}

/* Positions are done by four where they stand in one row of the output. */
void tn_integer_conv_do_depthwise(const tn_integer_conv *run, tn_integer_conv_band *band) {
    const tn_dot_end end = {.type = TN_I32};
    const int64_t lanes = run->depthwise->lanes, step = run->window.stride[run->window.rank - 1];
    tn_depthwise_tile tile = {.x = (const int8_t *)run->x + band->item * run->item_elements,
                              .end = {.row_stride = run->padded, .column_stride = 1, .end = &end},
                              .x_step = step * run->channels,
                              .offsets = run->tap_offsets,
                              .taps = run->tap_numbers,
                              .count = run->taps};
    for (int64_t c = 0; c < run->channels; c += lanes) {
        tile.weights = run->weights + c * run->taps;
        tile.end.columns = run->channels - c;
        for (int64_t r = 0; r < band->rows;) {
            const bool has_four =
                r + 4 <= band->rows && band->offsets[r + 3] - band->offsets[r] == 3 * tile.x_step;
            tile.first = band->offsets[r] + c;
            tile.end.output = band->sums + r * run->padded + c;
            if (has_four)
                run->depthwise->four(&tile);
            else
                run->depthwise->one(&tile);
            r += has_four ? 4 : 1;
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * by rows */

bool tn_integer_conv_has_rows(const tn_integer_conv *run) {
    const tn_window *window = &run->window;
    bool has = run->depthwise && run->depthwise->row && window->rank == 2 &&
               run->inputs->y_scale != TN_CONV_NO_INPUT;
    for (uint32_t i = 0; has && i < 2; i++)
        has = window->kernel[i] == 3 && window->dilation[i] == 1;
    return has;
}

static uint64_t column_bytes(const tn_integer_conv *run) {
    return (uint64_t)tn_depthwise_row_bytes(run->window.output[1], run->window.stride[1]);
}

/* The columns, and a row of the output whose channels lie last. */
uint64_t tn_integer_conv_row_bytes(const tn_integer_conv *run) {
    return column_bytes(run) + tn_whole_lines((uint64_t)(run->window.output[1] * run->channels));
}

/* Weights that are bytes; no value is NaN. */
static bool are_bytes(const tn_integer_conv *run) {
    for (int64_t i = 0; i < run->padded * run->taps; i++)
        if ((int8_t)run->weights[i] != (int16_t)run->weights[i]) return false;
    for (int64_t c = 0; c < run->channels; c++)
        if (!isfinite(run->factors[c])) return false;
    return true;
}

bool tn_integer_conv_read_rows(const tn_integer_conv *run) {
    static const float none[TN_DEPTHWISE_CHANNELS];
    if (!tn_integer_conv_has_rows(run) || !are_bytes(run)) return false;
    memset(run->factors + run->channels, 0, (size_t)(run->padded - run->channels) * sizeof(float));
    memset(run->terms + run->channels, 0, (size_t)(run->padded - run->channels) * sizeof(int32_t));
    for (int64_t c = 0; c < run->channels; c += TN_DEPTHWISE_CHANNELS)
        run->depthwise->read_block(run->weights + c * run->taps, run->terms + c, run->factors + c,
                                   none, run->padded - c, &run->blocks[c / TN_DEPTHWISE_CHANNELS]);
    return true;
}

static void do_row(const tn_integer_conv *run, int64_t item, int64_t line, tn_depthwise_row *row,
                   int8_t *to) {
    const int64_t line_bytes = run->padded_extents[1] * run->channels;
    const int8_t *x = (const int8_t *)run->x + item * run->item_elements +
                      line * run->window.stride[0] * line_bytes;
    for (int64_t c = 0; c < run->channels; c += TN_DEPTHWISE_CHANNELS) {
        const int64_t left = run->channels - c;
        row->block = &run->blocks[c / TN_DEPTHWISE_CHANNELS];
        row->channels = left < TN_DEPTHWISE_CHANNELS ? left : TN_DEPTHWISE_CHANNELS;
        row->output = to + c;
        for (int k = 0; k < 3; k++)
            row->rows[k] = x + k * line_bytes + c;
        run->depthwise->row(row);
    }
}

tn_status tn_integer_conv_do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_integer_conv *run = user;
    const tn_tensor *y = run->call->outputs[0];
    const int64_t down = run->window.output[0], across = run->window.output[1];
    const int32_t zero = tn_conv_integer_zero(run->call, run->inputs->y_zero, 0);
    const bool is_signed = y->type == TN_I8, is_last = y->format == TN_NHWC;
    char *scratch = run->scratch + thread * run->scratch_bytes;
    tn_depthwise_row row = {.is_inside = {true, true, true},
                            .width = run->padded_extents[1],
                            .step = run->channels,
                            .stride = run->window.stride[1],
                            .count = across,
                            .low = (float)((is_signed ? -128 : 0) - zero),
                            .high = (float)((is_signed ? 127 : 255) - zero),
                            .zero = zero,
                            .is_unsigned = !is_signed,
                            .columns = (uint8_t *)scratch};
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t item = unit / down, line = unit % down;
        const int64_t first = item * run->channels * run->positions;
        int8_t *at = (int8_t *)y->data + first + line * across * run->channels;
        int8_t *to = is_last ? at : (int8_t *)scratch + column_bytes(run);
        do_row(run, item, line, &row, to);
        if (run->look_up) run->look_up(&run->table, across * run->channels, to, to);
        if (!is_last)
            run->level->rows->transpose(across, run->channels, (const uint8_t *)to, run->channels,
                                        0, (uint8_t *)y->data + first + line * across,
                                        run->positions);
    }
    return TN_OK;
}
