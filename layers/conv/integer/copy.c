/* SPDX-License-Identifier: Apache-2.0 */
/* X's copy: channels last, with its padding; see run.h. */
#include "conv/integer/run.h"

#include <string.h>

static const tn_tensor *x_of(const tn_integer_conv *run) {
    return run->call->inputs[TN_CONV_X];
}

int32_t tn_integer_conv_x_zero(const tn_integer_conv *run) {
    return tn_conv_integer_zero(run->call, run->inputs->x_zero, 0) -
           (x_of(run)->type == TN_U8 ? 128 : 0);
}

/* `count` elements of padding. */
static void fill(const tn_integer_conv *run, char *to, int64_t count) {
    int8_t zeros[64];
    memset(zeros, tn_integer_conv_x_zero(run), sizeof(zeros));
    for (int64_t done = 0; done < count; done += (int64_t)sizeof(zeros)) {
        const int64_t left = count - done, part = left < 64 ? left : 64;
        if (run->depthwise)
            memcpy(to + done, zeros, (size_t)part);
        else
            run->level->dot->load(to + done * run->element_bytes, zeros, part);
    }
}

/* A row of X, `count` bytes that lie channels last already, as the copy has them. */
static void copy_last(const tn_integer_conv *run, const uint8_t *from, int64_t count, char *to,
                      uint8_t *buffer) {
    const bool is_unsigned = x_of(run)->type == TN_U8;
    if (is_unsigned) {
        uint8_t *signs = run->depthwise ? (uint8_t *)to : buffer;
        for (int64_t i = 0; i < count; i++)
            signs[i] = from[i] ^ 0x80u;
        if (run->depthwise) return;
        from = buffer;
    }
    if (run->depthwise)
        memcpy(to, from, (size_t)count);
    else
        run->level->dot->load(to, (const int8_t *)from, count);
}

/* Row `row` of an item's copy; `buffer` has room for a row of X. */
static void copy_row(const tn_integer_conv *run, int64_t item, int64_t row, char *to,
                     uint8_t *buffer) {
    const tn_window *window = &run->window;
    const uint32_t last = window->rank - 1;
    const int64_t width = window->input[last], channels = run->channels;
    const int64_t all = run->padded_extents[last], left = window->pad_begin[last];
    int64_t input_row = 0, scale = 1;
    bool is_inside = true;
    for (uint32_t i = last; i-- > 0; row /= run->padded_extents[i]) {
        const int64_t at = row % run->padded_extents[i] - window->pad_begin[i];
        is_inside = is_inside && at >= 0 && at < window->input[i];
        input_row += at * scale;
        scale *= window->input[i];
    }
    if (!is_inside) {
        fill(run, to, all * channels);
        return;
    }
    const uint8_t *from =
        (const uint8_t *)x_of(run)->data + item * channels * run->plane + input_row * width;
    char *inside = to + left * channels * run->element_bytes;
    uint8_t *rows = run->depthwise ? (uint8_t *)inside : buffer;
    fill(run, to, left * channels);
    if (x_of(run)->format == TN_NHWC) {
        const int64_t skipped = input_row * width * (channels - 1);
        copy_last(run, from + skipped, width * channels, inside, buffer);
    } else {
        run->level->rows->transpose(channels, width, from, run->plane,
                                    x_of(run)->type == TN_U8 ? 0x80 : 0, rows, channels);
        if (!run->depthwise)
            run->level->dot->load(inside, (const int8_t *)buffer, width * channels);
    }
    fill(run, inside + width * channels * run->element_bytes, (all - left - width) * channels);
}

tn_status tn_integer_conv_copy(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_integer_conv *run = user;
    uint8_t *buffer = (uint8_t *)run->scratch + thread * run->scratch_bytes;
    const int64_t row_elements = run->item_elements / run->row_count;
    for (int64_t unit = begin; unit < end; unit++)
        copy_row(run, unit / run->row_count, unit % run->row_count,
                 run->x + unit * row_elements * run->element_bytes, buffer);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * offsets */

int64_t tn_integer_conv_tap(const tn_integer_conv *run, int64_t tap) {
    const tn_window *window = &run->window;
    int64_t offset = 0, scale = run->channels;
    for (uint32_t i = window->rank; i-- > 0; tap /= window->kernel[i]) {
        offset += tap % window->kernel[i] * window->dilation[i] * scale;
        scale *= run->padded_extents[i];
    }
    return offset;
}

void tn_integer_conv_corners(const tn_integer_conv *run, tn_integer_conv_band *band) {
    const tn_window *window = &run->window;
    for (int64_t r = 0; r < band->rows; r++) {
        int64_t position = band->first + r, offset = 0, scale = run->channels;
        for (uint32_t i = window->rank; i-- > 0; position /= window->output[i]) {
            offset += position % window->output[i] * window->stride[i] * scale;
            scale *= run->padded_extents[i];
        }
        band->offsets[r] = (int32_t)offset;
    }
}
