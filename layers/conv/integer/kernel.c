/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of integer.h on the products of kit/int8/integer_product.h: X is laid out with its
 * channels last, a row of a product is what the window sees at one position, tap by tap, and
 * columns are filters. A unit of work is a band of positions of one group of one image.
 */
#include "kit/operator/layer.h"
#include "conv/integer/integer.h"
#include "conv/kernels.h"
#include "kit/int8/integer_product.h"
#include "kit/math/element.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/levels.h>
#include <tenon/kit/parallel.h>

#include <stdio.h>

typedef struct integer_state {
    const void *blob; /* null: W varies */
} integer_state;

typedef struct integer_run {
    tn_call *call;
    const tn_conv_inputs *inputs;
    tn_window window;
    tn_integer_product product;
    int64_t images, groups, channels, filters; /* channels and filters of a group */
    int64_t taps, plane, positions, bands;     /* plane: elements of an input channel */
    uint8_t *x;                                /* [image][group][plane][channels] */
    char *scratch;
} integer_run;

static uint64_t whole(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static bool read_run(tn_call *call, integer_run *run) {
    const tn_conv_params *params = call->params;
    *run = (integer_run){.call = call, .inputs = tn_conv_inputs_of(call)};
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[run->inputs->w];
    if (tn_conv_integer_read(call, &run->window) != TN_OK) return false;
    run->images = x->shape[0];
    run->groups = params->group;
    run->channels = w->shape[1];
    run->filters = w->shape[0] / params->group;
    run->taps = tn_infer_product(w->shape, 2, w->rank);
    run->plane = tn_infer_product(x->shape, 2, x->rank);
    run->positions = tn_infer_product(run->window.output, 0, run->window.rank);
    run->bands = (run->positions + TN_INTEGER_BAND - 1) / TN_INTEGER_BAND;
    if (!tn_integer_product_make(call->user, run->groups, tn_infer_product(w->shape, 1, w->rank),
                                 run->filters, &run->product))
        return false;
    run->product.a_is_unsigned = x->type == TN_U8;
    run->product.b_is_unsigned = w->type == TN_U8;
    return true;
}

static tn_status integer_accepts(tn_call *call) {
    integer_run run;
    return read_run(call, &run) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * packing */

static tn_status fill_blob(void *user, void *data, uint64_t bytes) {
    const integer_run *run = user;
    (void)bytes;
    return tn_integer_product_pack_alone(
        run->call, &run->product, run->call->inputs[run->inputs->w]->data, true, run->taps, data);
}

static tn_status integer_prepare(tn_call *call) {
    integer_run run;
    char key[64];
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a convolution of integers");
    TN_TRY(tn_kernel_state_create(call, sizeof(integer_state)));
    integer_state *state = call->state;
    if (!call->inputs[run.inputs->w]->data) return TN_OK;
    snprintf(key, sizeof(key), "integers, %lld groups", (long long)run.groups);
    return tn_kernel_state_finish(call, call->host->packed(call, run.inputs->w, key,
                                                           tn_dot_layout_bytes(&run.product.layout),
                                                           fill_blob, &run, &state->blob));
}

/* ----------------------------------------------------------------------------------------------
 * memory: X with its channels last, the packed W where it varies and the elements of its groups,
 * and for each thread: what a band needs, the rows of the band, three numbers a filter, and the
 * rows as bytes */

static uint64_t packed_bytes(const integer_run *run) {
    const integer_state *state = run->call->state;
    return state->blob ? 0
                       : whole(tn_dot_layout_bytes(&run->product.layout)) +
                             tn_integer_product_element_bytes(&run->product);
}

static uint64_t rows_bytes(const integer_run *run) {
    return whole(TN_INTEGER_BAND * (uint64_t)run->product.depth);
}

static uint64_t filter_bytes(const integer_run *run) {
    return whole((uint64_t)run->product.layout.padded * sizeof(int32_t));
}

static uint64_t scratch_bytes(const integer_run *run) {
    return tn_integer_band_bytes(&run->product) + rows_bytes(run) + 3 * filter_bytes(run) +
           whole(TN_INTEGER_BAND * (uint64_t)run->product.layout.padded);
}

static tn_status integer_reshape(tn_call *call) {
    integer_run run;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a convolution of integers");
    call->workspace_bytes = whole((uint64_t)tn_element_count(call->inputs[TN_CONV_X])) +
                            packed_bytes(&run) + call->threads * scratch_bytes(&run);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

/* An item is a group of an image. */
static tn_status interleave(void *user, int64_t begin, int64_t end, uint32_t thread) {
    enum { AT_ONCE = 64 };
    const integer_run *run = user;
    const int64_t plane = run->plane, channels = run->channels;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const uint8_t *from =
            (const uint8_t *)run->call->inputs[TN_CONV_X]->data + item * channels * plane;
        uint8_t *to = run->x + item * channels * plane;
        for (int64_t first = 0; first < plane; first += AT_ONCE) {
            const int64_t stop = plane - first < AT_ONCE ? plane : first + AT_ONCE;
            for (int64_t c = 0; c < channels; c++)
                for (int64_t i = first; i < stop; i++)
                    to[i * channels + c] = from[c * plane + i];
        }
    }
    return TN_OK;
}

/* The taps along the last axis that begin at `first` of `row`; null: padding alone. Those beside
 * each other are copied at once. */
static void gather_taps(const integer_run *run, const uint8_t *row, int64_t first, uint8_t zero,
                        uint8_t *to) {
    const uint32_t last = run->window.rank - 1;
    const int64_t taps = run->window.kernel[last], step = run->window.dilation[last];
    const int64_t width = run->window.input[last], channels = run->channels;
    if (row && step == 1 && first >= 0 && first + taps <= width) {
        memcpy(to, row + first * channels, (size_t)(taps * channels));
        return;
    }
    for (int64_t t = 0; t < taps; t++, to += channels) {
        const int64_t at = first + t * step;
        if (row && at >= 0 && at < width)
            memcpy(to, row + at * channels, (size_t)channels);
        else
            memset(to, zero, (size_t)channels);
    }
}

/* The window's elements at one position, or X's zero point where it is padding. */
static void gather_row(const integer_run *run, const uint8_t *x, int64_t position, uint8_t zero,
                       uint8_t *to) {
    const tn_window *window = &run->window;
    const uint32_t last = window->rank - 1;
    const int64_t bytes = window->kernel[last] * run->channels;
    int64_t at[TN_WINDOW_MAX_RANK], tap[TN_WINDOW_MAX_RANK] = {0};
    for (uint32_t i = window->rank; i-- > 0; position /= window->output[i])
        at[i] = position % window->output[i] * window->stride[i] - window->pad_begin[i];
    do {
        int64_t offset = 0;
        bool is_inside = true;
        for (uint32_t i = 0; i < last; i++) {
            const int64_t index = at[i] + tap[i] * window->dilation[i];
            is_inside = is_inside && index >= 0 && index < window->input[i];
            offset = offset * window->input[i] + (is_inside ? index : 0);
        }
        gather_taps(run, is_inside ? x + offset * window->input[last] * run->channels : NULL,
                    at[last], zero, to);
        to += bytes;
    } while (tn_window_step(last, window->kernel, tap));
}

/* A group's filters for one band, in the thread's memory. */
typedef struct band_memory {
    uint8_t *rows, *bytes;
    int32_t *zeros, *biases;
    float *factors;
} band_memory;

static band_memory lay_out(const integer_run *run, char *scratch) {
    band_memory memory;
    scratch += tn_integer_band_bytes(&run->product);
    memory.rows = (uint8_t *)scratch;
    scratch += rows_bytes(run);
    memory.zeros = (int32_t *)(void *)scratch;
    memory.biases = (int32_t *)(void *)(scratch + filter_bytes(run));
    memory.factors = (float *)(void *)(scratch + 2 * filter_bytes(run));
    memory.bytes = (uint8_t *)scratch + 3 * filter_bytes(run);
    return memory;
}

static void read_filters(const integer_run *run, int64_t group, const band_memory *memory) {
    const bool is_scaled = run->inputs->y_scale != TN_CONV_NO_INPUT;
    for (int64_t f = 0; f < run->filters; f++) {
        const int64_t filter = group * run->filters + f;
        memory->zeros[f] = tn_conv_integer_zero(run->call, run->inputs->w_zero, filter);
        if (!is_scaled) continue;
        memory->biases[f] = tn_conv_integer_bias(run->call, filter);
        memory->factors[f] = tn_conv_integer_factor(run->call, filter);
    }
}

/* Rows of filters become columns of positions; `first` is the first filter's element. */
static void store_sums(const integer_run *run, const tn_integer_band *band, int64_t first) {
    int32_t *y = (int32_t *)run->call->outputs[0]->data + first;
    for (int64_t f = 0; f < run->filters; f++)
        for (int64_t r = 0; r < band->rows; r++)
            y[f * run->positions + r] = band->sums[r * band->stride + f];
}

static void store_bytes(const integer_run *run, const tn_integer_band *band,
                        const band_memory *memory, int64_t first) {
    const tn_integer_rows *level = run->product.level->rows;
    const int64_t padded = run->product.layout.padded;
    const int32_t zero = tn_conv_integer_zero(run->call, run->inputs->y_zero, 0);
    uint8_t *y = (uint8_t *)run->call->outputs[0]->data + first;
    for (int64_t r = 0; r < band->rows; r++) {
        int32_t *sums = band->sums + r * band->stride;
        for (int64_t f = 0; f < run->filters; f++)
            sums[f] = (int32_t)((uint32_t)sums[f] + (uint32_t)memory->biases[f]);
        level->to_bytes(run->filters, sums, memory->factors, zero,
                        run->call->outputs[0]->type == TN_I8, memory->bytes + r * padded);
    }
    const int64_t rows = band->rows, filters = run->filters, positions = run->positions;
    for (int64_t f = 0; f < filters; f++) { /* nothing is read again behind stores of bytes */
        const uint8_t *from = memory->bytes + f;
        uint8_t *to = y + f * positions;
        for (int64_t r = 0; r < rows; r++)
            to[r] = from[r * padded];
    }
}

/* `is_next`: the thread's last band was of the same group. */
static void do_band(const integer_run *run, int64_t item, int64_t first, bool is_next,
                    char *scratch) {
    const band_memory memory = lay_out(run, scratch);
    const int64_t group = item % run->groups, left = run->positions - first;
    const int32_t zero = tn_conv_integer_zero(run->call, run->inputs->x_zero, 0);
    const uint8_t *x = run->x + item * run->channels * run->plane;
    tn_integer_band band = {.matrix = group,
                            .rows = left < TN_INTEGER_BAND ? left : TN_INTEGER_BAND,
                            .a = memory.rows,
                            .a_stride = run->product.depth,
                            .b_zero = memory.zeros};
    if (!is_next) read_filters(run, group, &memory);
    for (int64_t r = 0; r < band.rows; r++) {
        band.a_zero[r] = zero;
        gather_row(run, x, first + r, (uint8_t)zero, memory.rows + r * run->product.depth);
    }
    tn_integer_band_run(&run->product, &band, scratch);
    const int64_t at = item * run->filters * run->positions + first;
    if (run->inputs->y_scale == TN_CONV_NO_INPUT)
        store_sums(run, &band, at);
    else
        store_bytes(run, &band, &memory, at);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const integer_run *run = user;
    char *scratch = run->scratch + thread * scratch_bytes(run);
    for (int64_t unit = begin; unit < end; unit++)
        do_band(run, unit / run->bands, unit % run->bands * TN_INTEGER_BAND,
                unit > begin && unit % run->bands != 0, scratch);
    return TN_OK;
}

static tn_status integer_run_bands(tn_call *call) {
    enum { GRAIN = 800000, COPIED = 65536 };
    const integer_state *state = call->state;
    char *workspace = call->workspace;
    integer_run run;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "this node does not read as a convolution of integers");
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    run.x = (uint8_t *)workspace;
    char *packed = workspace + whole((uint64_t)tn_element_count(call->inputs[TN_CONV_X]));
    run.scratch = packed + packed_bytes(&run);
    run.product.blob = state->blob ? state->blob : packed;
    if (!state->blob) {
        void *elements = packed + whole(tn_dot_layout_bytes(&run.product.layout));
        tn_integer_product_pack(&run.product, call->inputs[run.inputs->w]->data, true, run.taps,
                                elements, packed);
    }
    const int64_t items = run.images * run.groups;
    TN_TRY(call->host->parallel_for(
        call, items, tn_parallel_grain(COPIED, run.channels * run.plane + 1), interleave, &run));
    const int64_t each = TN_INTEGER_BAND * run.product.depth * run.filters;
    return call->host->parallel_for(call, items * run.bands, GRAIN / (each + 1) + 1, do_units,
                                    &run);
}

#define INTEGER_KERNEL(prefix, operator_name, level)                                               \
    const tn_kernel tn_##prefix##_##level = TN_LEVEL_TABLE(                                        \
        level, tn_integer, operator_name, "integer",                                               \
        "Products of bytes with exact sums, rows of which are what a window sees.",                \
        .traits = TN_KERNEL_DETERMINISTIC, .accepts = integer_accepts, .prepare = integer_prepare, \
        .release = tn_kernel_state_destroy, .reshape = integer_reshape, .run = integer_run_bands)
#define INTEGER_KERNELS(prefix, operator_name)                                                     \
    INTEGER_KERNEL(prefix, operator_name, baseline);                                               \
    INTEGER_KERNEL(prefix, operator_name, avx2);                                                   \
    INTEGER_KERNEL(prefix, operator_name, avx512vnni)
INTEGER_KERNELS(conv_integer, "ConvInteger");
INTEGER_KERNELS(q_linear_conv, "QLinearConv");
