/* SPDX-License-Identifier: Apache-2.0 */
/* See lines.h. */
#include "conv/integer/lines.h"
#include "kit/math/round_up.h"

#include <string.h>

#if defined(__x86_64__)

enum {
    ROWS = 400,      /* of a unit, about: its lines stay in the second-level cache */
    LEAST_ACROSS = 6 /* shorter lines are blocks of few rows, each of which reads all weights */
};

/* The input's line that row `k` of the kernel sees for a line of the output. */
static int64_t input_line(const tn_window *window, int64_t line, int64_t k) {
    return line * window->stride[0] - window->pad_begin[0] + k * window->dilation[0];
}

/* Lines of the input that `count` lines of the output see. */
static int64_t lines_seen(const tn_conv_lines *lines) {
    return input_line(&lines->window, lines->count - 1, lines->window.kernel[0] - 1) -
           input_line(&lines->window, 0, 0) + 1;
}

bool tn_conv_lines_make(const tn_tile_level *level, const tn_window *window, const tn_tensor *x,
                        int32_t zero, uint32_t threads, tn_conv_lines *out_lines) {
    const int64_t channels = x->shape[1], across = window->output[1], down = window->output[0];
    const int64_t seen = (across - 1) * window->stride[1] + window->kernel[1];
    const int64_t right = seen - window->pad_begin[1] - window->input[1];
    const bool is_padded = channels * window->kernel[1] % level->chunk != 0;
    if (!level->has_lines || (across < LEAST_ACROSS && down > 1)) return false;
    const int64_t last = input_line(window, down - 1, window->kernel[0] - 1);
    const bool has_rows = window->pad_begin[0] > 0 || last >= window->input[0];
    tn_conv_lines lines = {.window = *window,
                           .images = x->shape[0],
                           .channels = channels,
                           .left = window->pad_begin[1],
                           .padding = (uint8_t)zero,
                           .to_unsigned = x->type == TN_I8 ? level->to_unsigned : NULL,
                           .is_skipping = x->type == TN_U8 && zero == 0};
    lines.is_copied = lines.left > 0 || right > 0 || (has_rows && !lines.is_skipping) ||
                      lines.to_unsigned || is_padded;
    if (lines.to_unsigned) lines.padding ^= 0x80;
    if (!lines.is_copied) lines.left = 0;
    lines.line_bytes =
        (window->input[1] + (lines.is_copied ? lines.left + (right > 0 ? right : 0) : 0)) *
        channels;
    lines.count = across < ROWS ? ROWS / across : 1;
    lines.units = (down + lines.count - 1) / lines.count;
    if (threads > 1 && lines.images * lines.units % threads != 0) /* as many for each thread */
        lines.units = (lines.units + threads - 1) / threads * threads;
    lines.count = (down + lines.units - 1) / lines.units;
    lines.units = (down + lines.count - 1) / lines.count;
    *out_lines = lines;
    return lines_seen(&lines) < INT32_MAX / lines.line_bytes;
}

static uint64_t table_bytes(const tn_conv_lines *lines) {
    return tn_whole_lines((uint64_t)lines->count * sizeof(tn_tile_line));
}

/* The last segment's chunks may reach behind the last line, where weights are 0. */
uint64_t tn_conv_lines_bytes(const tn_conv_lines *lines) {
    const uint64_t copied =
        lines->is_copied ? (uint64_t)(lines_seen(lines) * lines->line_bytes) + 64 : 0;
    return table_bytes(lines) + tn_whole_lines(copied);
}

static void copy_lines(const tn_conv_lines *lines, const uint8_t *image, int64_t first,
                       int64_t count, uint8_t *to) {
    const tn_window *window = &lines->window;
    const int64_t bytes = window->input[1] * lines->channels, left = lines->left * lines->channels;
    for (int64_t i = first; i < first + count; i++, to += lines->line_bytes) {
        if (i < 0 || i >= window->input[0]) {
            if (!lines->is_skipping) memset(to, lines->padding, (size_t)lines->line_bytes);
            continue;
        }
        memset(to, lines->padding, (size_t)left);
        if (lines->to_unsigned)
            lines->to_unsigned(to + left, image + i * bytes, bytes);
        else
            memcpy(to + left, image + i * bytes, (size_t)bytes);
        memset(to + left + bytes, lines->padding, (size_t)(lines->line_bytes - left - bytes));
    }
}

/* Where a line of the output begins; `first` is the input's line at offset 0. */
static tn_tile_line line_of(const tn_conv_lines *lines, int64_t line, int64_t first) {
    const tn_window *window = &lines->window;
    tn_tile_line of = {.count = window->kernel[0]};
    while (lines->is_skipping && of.count > 0 && input_line(window, line, of.first) < 0) {
        of.first++;
        of.count--;
    }
    while (lines->is_skipping && of.count > 0 &&
           input_line(window, line, of.first + of.count - 1) >= window->input[0])
        of.count--;
    if (of.count > 0) /* else nothing is read */
        of.offset = (input_line(window, line, of.first) - first) * lines->line_bytes;
    return of;
}

int64_t tn_conv_lines_read(const tn_conv_lines *lines, const uint8_t *x, int64_t unit,
                           uint8_t *scratch, tn_tile_product *product) {
    const tn_window *window = &lines->window;
    const int64_t image = unit / lines->units, line = unit % lines->units * lines->count;
    const int64_t left = window->output[0] - line;
    const int64_t count = left < lines->count ? left : lines->count;
    const int64_t seen = input_line(window, line, 0);
    const uint8_t *from = x + image * window->input[0] * window->input[1] * lines->channels;
    tn_tile_line *table = (tn_tile_line *)(void *)scratch;
    uint8_t *copy = scratch + table_bytes(lines);
    if (lines->is_copied)
        copy_lines(lines, from, seen,
                   input_line(window, line + count - 1, window->kernel[0] - 1) - seen + 1, copy);
    for (int64_t i = 0; i < count; i++)
        table[i] = line_of(lines, line + i, lines->is_copied ? seen : 0);
    product->a = lines->is_copied ? copy : from;
    product->a_stride = window->stride[1] * lines->channels;
    product->lines = table;
    product->line_count = count;
    product->across = window->output[1];
    product->segments = window->kernel[0];
    product->segment_step = window->dilation[0] * lines->line_bytes;
    return (image * window->output[0] + line) * window->output[1];
}

#endif
