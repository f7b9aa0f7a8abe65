/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of integer.h: memory, products, what becomes of their sums. See run.h. */
#include "conv/integer/run.h"
#include "conv/kernels.h"
#include "kit/int8/dot_rows.h"
#include "kit/math/element.h"
#include "kit/operator/kernel_memory.h"
#include <tenon/kit/levels.h>
#include <tenon/kit/parallel.h>

#include <stdio.h>

typedef struct integer_state {
    const void *blob; /* null: W varies, or the convolution is depthwise */
} integer_state;

static uint64_t whole(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* ----------------------------------------------------------------------------------------------
 * reading a node */

static bool read_copy(tn_integer_conv *run) {
    const tn_window *window = &run->window;
    const uint32_t last = window->rank - 1;
    run->row_count = 1;
    run->item_elements = run->channels;
    for (uint32_t i = 0; i < window->rank; i++) {
        const int64_t extent = window->input[i] + window->pad_begin[i] + window->pad_end[i];
        const int64_t seen =
            (window->output[i] - 1) * window->stride[i] + tn_window_extent(window, i);
        if (window->pad_begin[i] < 0 || window->pad_end[i] < 0) return false;
        run->padded_extents[i] = extent > seen ? extent : seen;
        if (__builtin_mul_overflow(run->item_elements, run->padded_extents[i],
                                   &run->item_elements) ||
            run->item_elements > INT32_MAX - 64)
            return false;
        if (i < last) run->row_count *= run->padded_extents[i];
    }
    return true;
}

static bool read_runs(tn_integer_conv *run) {
    const uint32_t last = run->window.rank - 1;
    const int64_t group = run->level->dot->group;
    run->run_taps = run->window.dilation[last] == 1 ? run->window.kernel[last] : 1;
    run->runs = run->taps / run->run_taps;
    if (run->channels > TN_DOT_DEPTH_LIMIT / run->run_taps) return false;
    run->run_groups = (run->run_taps * run->channels + group - 1) / group;
    if (run->runs > TN_DOT_DEPTH_LIMIT / run->run_groups) return false;
    run->element_bytes = run->level->dot->element_bytes;
    return tn_dot_layout_make(run->level->dot, run->item_groups, run->filters,
                              run->runs * run->run_groups, &run->layout);
}

static bool read_run(tn_call *call, tn_integer_conv *run) {
    const tn_conv_params *params = call->params;
    const tn_integer_conv_level *level = call->user;
    *run =
        (tn_integer_conv){.call = call, .inputs = tn_conv_inputs_of(call), .level = level->integer};
    const tn_tensor *x = call->inputs[TN_CONV_X], *w = call->inputs[run->inputs->w];
    if (tn_conv_integer_read(call, &run->window) != TN_OK) return false;
    const bool is_depthwise = params->group > 1 && w->shape[1] == 1 && w->shape[0] == params->group;
    run->item_groups = is_depthwise ? 1 : params->group;
    run->items = x->shape[0] * run->item_groups;
    run->channels = is_depthwise ? params->group : w->shape[1];
    run->filters = w->shape[0] / run->item_groups;
    run->taps = tn_infer_product(w->shape, 2, w->rank);
    run->plane = tn_infer_product(x->shape, 2, x->rank);
    run->positions = tn_infer_product(run->window.output, 0, run->window.rank);
    run->bands = (run->positions + TN_INTEGER_BAND - 1) / TN_INTEGER_BAND;
    if (run->channels <= 0 || run->filters <= 0 || run->taps <= 0 ||
        run->taps > TN_DOT_DEPTH_LIMIT || run->filters > INT32_MAX / 64 || !read_copy(run))
        return false;
    if (is_depthwise) {
        const int64_t lanes = level->depthwise->lanes;
        run->depthwise = level->depthwise;
        run->element_bytes = 1;
        run->padded = (run->filters + lanes - 1) / lanes * lanes;
        return run->padded <= INT32_MAX / run->taps;
    }
    if (!read_runs(run)) return false;
    run->padded = run->layout.padded;
    return true;
}

static tn_status integer_accepts(tn_call *call) {
    tn_integer_conv run;
    return read_run(call, &run) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * packing */

/* Which element of a filter each input of the groups is. */
static void list_elements(const tn_integer_conv *run, int32_t *to) {
    const int64_t run_inputs = run->run_groups * run->level->dot->group;
    for (int64_t r = 0; r < run->runs; r++) {
        for (int64_t k = 0; k < run_inputs; k++) {
            const int64_t tap = r * run->run_taps + k / run->channels;
            *to++ = k < run->run_taps * run->channels
                        ? (int32_t)(k % run->channels * run->taps + tap)
                        : -1;
        }
    }
}

static uint64_t element_list_bytes(const tn_integer_conv *run) {
    return whole((uint64_t)run->layout.groups * run->level->dot->group * sizeof(int32_t));
}

static void pack(const tn_integer_conv *run, int32_t *elements, void *out_blob) {
    const tn_tensor *w = run->call->inputs[run->inputs->w];
    const int64_t depth = run->channels * run->taps;
    list_elements(run, elements);
    const tn_dot_source source = {.matrix_stride = depth * run->filters,
                                  .column_stride = depth,
                                  .element_stride = 1,
                                  .period = run->filters,
                                  .elements = elements};
    tn_dot_pack_bytes(&run->layout, &source, w->data, w->type == TN_U8, out_blob);
}

static tn_status fill_blob(void *user, void *data, uint64_t bytes) {
    const tn_integer_conv *run = user;
    const tn_host *host = run->call->host;
    int32_t *elements = host->allocate(host, element_list_bytes(run), 64);
    (void)bytes;
    if (!elements)
        return host->fail(run->call, TN_ERROR_MEMORY, "no memory to pack %lld weights of a filter",
                          (long long)(run->channels * run->taps));
    pack(run, elements, data);
    host->deallocate(host, elements);
    return TN_OK;
}

static tn_status integer_prepare(tn_call *call) {
    tn_integer_conv run;
    char key[96];
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a convolution of integers");
    TN_TRY(tn_kernel_state_create(call, sizeof(integer_state)));
    integer_state *state = call->state;
    if (!call->inputs[run.inputs->w]->data || run.depthwise) return TN_OK;
    snprintf(key, sizeof(key), "integers, %lld groups, %lld runs of %lld",
             (long long)run.item_groups, (long long)run.runs, (long long)run.run_groups);
    return tn_kernel_state_finish(call, call->host->packed(call, run.inputs->w, key,
                                                           tn_dot_layout_bytes(&run.layout),
                                                           fill_blob, &run, &state->blob));
}

/* ----------------------------------------------------------------------------------------------
 * memory: sets the run's pointers from `base` on and answers how many bytes there are */

static char *take(char *base, uint64_t *inout_bytes, uint64_t bytes) {
    char *at = base ? base + *inout_bytes : NULL;
    *inout_bytes += whole(bytes);
    return at;
}

static uint64_t set_memory(tn_integer_conv *run, char *base, const void **out_packed) {
    const integer_state *state = run->call->state;
    const uint64_t filters = (uint64_t)(run->item_groups * run->padded) * 4;
    uint64_t bytes = 0;
    const uint64_t x_bytes = (uint64_t)(run->items * run->item_elements) * run->element_bytes + 64;
    run->x = take(base, &bytes, x_bytes);
    run->zeros = (int32_t *)(void *)take(base, &bytes, filters);
    run->terms = (int32_t *)(void *)take(base, &bytes, filters);
    run->factors = (float *)(void *)take(base, &bytes, filters);
    *out_packed = NULL;
    if (run->depthwise) {
        const uint64_t taps = (uint64_t)run->taps;
        run->tap_offsets = (int64_t *)(void *)take(base, &bytes, taps * 8);
        run->tap_numbers = (int32_t *)(void *)take(base, &bytes, taps * 4);
        run->weights = (int32_t *)(void *)take(base, &bytes, taps * (uint64_t)run->padded * 4);
    } else {
        run->offsets = (int32_t *)(void *)take(base, &bytes, element_list_bytes(run));
        if (!state->blob) *out_packed = take(base, &bytes, tn_dot_layout_bytes(&run->layout));
    }
    /* A thread's: first rows of X, later a band. */
    const uint64_t row = (uint64_t)(run->window.input[run->window.rank - 1] * run->channels);
    const uint64_t band = TN_INTEGER_BAND * (uint64_t)run->padded * 5;
    run->scratch_bytes = whole(row > band ? row : band);
    run->scratch = take(base, &bytes, run->call->threads * run->scratch_bytes);
    return bytes;
}

static tn_status integer_reshape(tn_call *call) {
    tn_integer_conv run;
    const void *packed;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a convolution of integers");
    call->workspace_bytes = set_memory(&run, NULL, &packed);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * what each filter has */

static void read_zeros(tn_integer_conv *run) {
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

static void read_scales(tn_integer_conv *run) {
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

static int32_t sum_inputs(const tn_integer_conv *run, const char *x, int64_t count) {
    int32_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += run->element_bytes == 2 ? ((const int16_t *)(const void *)x)[i]
                                       : ((const uint8_t *)x)[i] - 128;
    return sum;
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
    for (int64_t f = 0; f < run->filters; f++)
        for (int64_t r = 0; r < band->rows; r++)
            y[f * run->positions + r] = band->sums[r * run->padded + f];
}

static void finish(const tn_integer_conv *run, const tn_integer_conv_band *band) {
    const tn_integer_rows *rows = run->level->rows;
    const tn_tensor *y = run->call->outputs[0];
    const int64_t padded = run->padded, filters = run->filters;
    const int64_t of_group = band->item % run->item_groups * padded;
    const int64_t at = band->item * filters * run->positions + band->first;
    const bool is_scaled = run->inputs->y_scale != TN_CONV_NO_INPUT;
    const int32_t zero = tn_conv_integer_zero(run->call, run->inputs->y_zero, 0);
    for (int64_t r = 0; r < band->rows; r++) {
        int32_t *sums = band->sums + r * padded;
        rows->correct(filters, 1, run->terms + of_group, run->has_zeros ? band->row_sums[r] : 0,
                      run->zeros + of_group, sums);
        if (is_scaled)
            rows->to_bytes(filters, sums, run->factors + of_group, zero, y->type == TN_I8,
                           band->bytes + r * padded);
    }
    if (is_scaled)
        rows->transpose(band->rows, filters, band->bytes, padded, 0, (uint8_t *)y->data + at,
                        run->positions);
    else
        store_sums(run, band, at);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
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

/* ----------------------------------------------------------------------------------------------
 * run */

static void begin_products(tn_integer_conv *run, void *packed) {
    const integer_state *state = run->call->state;
    const int64_t group = run->level->dot->group;
    if (packed) pack(run, run->offsets, packed);
    run->blob = packed ? packed : state->blob;
    for (int64_t r = 0; r < run->runs; r++)
        for (int64_t k = 0; k < run->run_groups; k++)
            run->offsets[r * run->run_groups + k] =
                (int32_t)(tn_integer_conv_tap(run, r * run->run_taps) + k * group);
    read_zeros(run);
}

static tn_status integer_run_bands(tn_call *call) {
    enum { GRAIN = 800000, COPIED = 65536 };
    const void *packed;
    tn_integer_conv run;
    if (!read_run(call, &run))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "this node does not read as a convolution of integers");
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    set_memory(&run, call->workspace, &packed);
    if (run.depthwise)
        tn_integer_conv_pack_depthwise(&run);
    else
        begin_products(&run, (void *)(uintptr_t)packed);
    read_scales(&run);
    const int64_t copied = run.items * run.row_count, row = run.item_elements / run.row_count;
    memset(run.x + copied * row * run.element_bytes, 0, 64); /* what the last groups reach into */
    TN_TRY(call->host->parallel_for(call, copied, tn_parallel_grain(COPIED, row + 1),
                                    tn_integer_conv_copy, &run));
    const int64_t each =
        TN_INTEGER_BAND * run.taps * run.filters * (run.depthwise ? 1 : run.channels);
    return call->host->parallel_for(call, run.items * run.bands, GRAIN / (each + 1) + 1, do_units,
                                    &run);
}

#define INTEGER_KERNEL(prefix, operator_name, level)                                               \
    const tn_kernel tn_##prefix##_##level = {                                                      \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 2,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "integer_" #level,                                                                 \
        .doc = "Products of bytes with exact sums over a copy of X with channels last.",           \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        .accepts = integer_accepts,                                                                \
        .prepare = integer_prepare,                                                                \
        .release = tn_kernel_state_destroy,                                                        \
        .reshape = integer_reshape,                                                                \
        .run = integer_run_bands,                                                                  \
        .user = (void *)(uintptr_t)&level_##level}
#define INTEGER_KERNELS(level)                                                                     \
    static const tn_integer_conv_level level_##level = {&tn_integer_##level,                       \
                                                        &tn_depthwise_##level};                    \
    INTEGER_KERNEL(conv_integer, "ConvInteger", level);                                            \
    INTEGER_KERNEL(q_linear_conv, "QLinearConv", level)
INTEGER_KERNELS(baseline);
INTEGER_KERNELS(avx2);
INTEGER_KERNELS(avx512vnni);
