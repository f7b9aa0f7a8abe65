/* SPDX-License-Identifier: Apache-2.0 */
/* X's copy: channels last, with its padding; see run.h. */
#include "conv/integer/run.h"
#include "kit/math/element.h"
#include <tenon/kit/infer.h>

#include <string.h>

static const tn_tensor *x_of(const tn_integer_conv *run) {
    return run->call->inputs[TN_CONV_X];
}

int32_t tn_integer_conv_x_zero(const tn_integer_conv *run) {
    return tn_conv_integer_zero(run->call, run->inputs->x_zero, 0) -
           (x_of(run)->type == TN_U8 ? 128 : 0);
}

static uint8_t flip_of(const tn_integer_conv *run) {
    return x_of(run)->type == TN_U8 ? 0x80 : 0;
}

/* Of the copy; a depthwise convolution's is of bytes. */
static int64_t element_bytes(const tn_integer_conv *run) {
    return run->depthwise ? 1 : run->choice.form->element_bytes;
}

/* ----------------------------------------------------------------------------------------------
 * the range */

static tn_dot_range *range_of(const tn_integer_conv *run, uint32_t thread) {
    return (tn_dot_range *)(void *)(run->scratch + thread * run->scratch_bytes);
}

static tn_status find_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_integer_conv *run = user;
    run->level->dot->narrow->range((const uint8_t *)x_of(run)->data + begin, end - begin,
                                   flip_of(run), range_of(run, thread));
    return TN_OK;
}

tn_status tn_integer_conv_find_range(tn_integer_conv *run, tn_dot_range *out_range) {
    enum { GRAIN = 262144 /* bytes that are worth a thread */ };
    const int8_t zero = (int8_t)tn_integer_conv_x_zero(run);
    *out_range = TN_DOT_NO_RANGE;
    if (!run->level->dot->narrow) return TN_OK;
    for (uint32_t t = 0; t < run->call->threads; t++)
        *range_of(run, t) = (tn_dot_range){zero, zero};
    TN_TRY(run->call->host->parallel_for(run->call, tn_element_count(x_of(run)), GRAIN, find_range,
                                         run));
    for (uint32_t t = 0; t < run->call->threads; t++)
        run->level->dot->narrow->range((const uint8_t *)range_of(run, t), sizeof(tn_dot_range), 0,
                                       out_range);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the copy */

bool tn_integer_conv_is_copy(const tn_integer_conv *run) {
    const tn_window *window = &run->window;
    const tn_dot_form *form = run->choice.form;
    bool is = x_of(run)->format == TN_NHWC && form->element_bytes == 1 &&
              form->shift == (x_of(run)->type == TN_U8 ? 128 : 0) &&
              run->run_taps * run->channels % run->level->dot->group == 0;
    for (uint32_t i = 0; is && i < window->rank; i++)
        is = window->pad_begin[i] == 0 && run->padded_extents[i] == window->input[i];
    return is;
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
            run->choice.form->load(to + done * element_bytes(run), zeros, part);
    }
}

/* A row of X, `count` bytes that lie channels last already, as the copy has them. */
static void copy_last(const tn_integer_conv *run, const uint8_t *from, int64_t count, char *to,
                      uint8_t *buffer) {
    const uint8_t flip = flip_of(run);
    if (flip) {
        uint8_t *signs = run->depthwise ? (uint8_t *)to : buffer;
        for (int64_t i = 0; i < count; i++)
            signs[i] = from[i] ^ flip;
        if (run->depthwise) return;
        from = buffer;
    }
    if (run->depthwise)
        memcpy(to, from, (size_t)count);
    else
        run->choice.form->load(to, (const int8_t *)from, count);
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
    char *inside = to + left * channels * element_bytes(run);
    uint8_t *rows = run->depthwise ? (uint8_t *)inside : buffer;
    fill(run, to, left * channels);
    if (x_of(run)->format == TN_NHWC) {
        const int64_t skipped = input_row * width * (channels - 1);
        copy_last(run, from + skipped, width * channels, inside, buffer);
    } else {
        run->level->rows->transpose(channels, width, from, run->plane, flip_of(run), rows,
                                    channels);
        if (!run->depthwise)
            run->choice.form->load(inside, (const int8_t *)buffer, width * channels);
    }
    fill(run, inside + width * channels * element_bytes(run), (all - left - width) * channels);
}

tn_status tn_integer_conv_copy(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_integer_conv *run = user;
    uint8_t *buffer = (uint8_t *)run->scratch + thread * run->scratch_bytes;
    const int64_t row_elements = run->item_elements / run->row_count;
    for (int64_t unit = begin; unit < end; unit++)
        copy_row(run, unit / run->row_count, unit % run->row_count,
                 run->x + unit * row_elements * element_bytes(run), buffer);
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
    int64_t position[TN_WINDOW_MAX_RANK], first = band->first;
    for (uint32_t i = window->rank; i-- > 0; first /= window->output[i])
        position[i] = first % window->output[i];
    for (int64_t r = 0; r < band->rows; r++) {
        int64_t offset = 0, scale = run->channels;
        for (uint32_t i = window->rank; i-- > 0;) {
            offset += position[i] * window->stride[i] * scale;
            scale *= run->padded_extents[i];
        }
        band->offsets[r] = (int32_t)offset;
        tn_window_step(window->rank, window->output, position);
    }
}
