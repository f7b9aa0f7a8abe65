/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise convolutions of integers (one channel and one filter a group), on the loop of
 * depthwise_body.h: the lanes of a vector are channels. Weights are less their zero points, which
 * 16 bits hold, and are read anew in each run: there is one a tap and channel.
 */
#include "conv/integer/run.h"

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
