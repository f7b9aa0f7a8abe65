/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of integer.h: which nodes they do, packing, memory. See run.h. */
#include "conv/integer/run.h"
#include "conv/kernels.h"
#include "kit/int8/look_up_step.h"
#include "kit/math/element.h"
#include "kit/math/round_up.h"
#include "kit/operator/kernel_memory.h"
#include "kit/operator/layer.h"
#include <tenon/kit/levels.h>
#include <tenon/kit/parallel.h>

#include <stdio.h>

typedef struct integer_state {
    const tn_integer_level *level;
    const void *blob; /* null: W varies, or the convolution is depthwise */
} integer_state;

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
    return tn_dot_layout_make(run->level->dot, run->item_groups, run->filters,
                              run->runs * run->run_groups, &run->layout);
}

static const tn_integer_conv_level *levels_of(const tn_call *call) {
    return call->user;
}

/* Of about the same sizes, as many for each thread where one has too few. */
static int64_t count_bands(const tn_integer_conv *run) {
    const int64_t threads = run->call->threads ? run->call->threads : 1;
    int64_t bands = tn_divide_up(run->positions, TN_INTEGER_CONV_BAND);
    if (run->items * bands % threads != 0) bands = tn_divide_up(bands, threads) * threads;
    return bands < run->positions ? bands : run->positions;
}

static bool read_run(tn_call *call, const tn_integer_level *level, tn_integer_conv *run) {
    const tn_conv_params *params = call->params;
    const tn_depthwise_level *depthwise = levels_of(call)->depthwise;
    *run = (tn_integer_conv){.call = call, .inputs = tn_conv_inputs_of(call), .level = level};
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
    run->bands = count_bands(run);
    if (run->channels <= 0 || run->filters <= 0 || run->taps <= 0 ||
        run->taps > TN_DOT_DEPTH_LIMIT || run->filters > INT32_MAX / 64 || !read_copy(run))
        return false;
    if (is_depthwise) {
        const int64_t lanes = depthwise->lanes;
        run->depthwise = depthwise;
        run->padded = (run->filters + lanes - 1) / lanes * lanes;
        return run->padded <= INT32_MAX / run->taps;
    }
    if (!read_runs(run)) return false;
    run->padded = run->layout.padded;
    return true;
}

static bool is_last_or_few(const tn_tensor *tensor, int64_t channels) {
    enum { MANY = 16 };
    return tensor->format == TN_NHWC || channels < MANY;
}

/* Channels last the groups of a position would lie side by side. Many channels that are last on one
 * side alone are left to a conversion, which takes what the kernel would take for it: which of the
 * two is measured a little faster would be chance. */
static tn_status integer_accepts(tn_call *call) {
    const tn_tensor *x = call->inputs[TN_CONV_X], *y = call->outputs[0];
    const bool is_linear = x->format == TN_LINEAR && y->format == TN_LINEAR;
    tn_integer_conv run;
    if (!tn_look_up_fits(call, tn_infer_input(call, tn_conv_inputs_of(call)->y_zero)) ||
        !read_run(call, levels_of(call)->integer, &run))
        return TN_ERROR_UNSUPPORTED;
    return is_linear || (run.item_groups == 1 && is_last_or_few(x, run.channels) &&
                         is_last_or_few(y, run.filters))
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
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
    return tn_whole_lines((uint64_t)run->layout.groups * run->level->dot->group * sizeof(int32_t));
}

static tn_dot_source source_of(const tn_integer_conv *run, int32_t *elements) {
    const int64_t depth = run->channels * run->taps;
    list_elements(run, elements);
    return (tn_dot_source){.matrix_stride = depth * run->filters,
                           .column_stride = depth,
                           .element_stride = 1,
                           .period = run->filters,
                           .elements = elements};
}

static void pack(const tn_integer_conv *run, int32_t *elements, void *out_blob) {
    const tn_tensor *w = run->call->inputs[run->inputs->w];
    const tn_dot_source source = source_of(run, elements);
    tn_dot_pack_bytes(&run->layout, &source, w->data, w->type == TN_U8, out_blob);
}

static tn_status allocate_elements(const tn_integer_conv *run, int32_t **out_elements) {
    const tn_host *host = run->call->host;
    *out_elements = host->allocate(host, element_list_bytes(run), 64);
    if (*out_elements) return TN_OK;
    return host->fail(run->call, TN_ERROR_MEMORY, "no memory to pack %lld weights of a filter",
                      (long long)(run->channels * run->taps));
}

static tn_status fill_blob(void *user, void *data, uint64_t bytes) {
    const tn_integer_conv *run = user;
    int32_t *elements = NULL;
    (void)bytes;
    TN_TRY(allocate_elements(run, &elements));
    pack(run, elements, data);
    run->call->host->deallocate(run->call->host, elements);
    return TN_OK;
}

/* A level that is faster where W allows it; the run is then of that level. */
static tn_status choose_level(tn_call *call, tn_integer_conv *run) {
    const tn_tensor *w = call->inputs[run->inputs->w];
    const tn_integer_level *narrow = run->level->narrow;
    tn_integer_conv other;
    int32_t *elements = NULL;
    if (!narrow || !w->data || run->depthwise || !read_run(call, narrow, &other)) return TN_OK;
    TN_TRY(allocate_elements(&other, &elements));
    const tn_dot_source source = source_of(&other, elements);
    if (tn_dot_bytes_are_narrow(&other.layout, &source, w->data, w->type == TN_U8,
                                call->inputs[TN_CONV_X]->type == TN_I8))
        *run = other;
    call->host->deallocate(call->host, elements);
    return TN_OK;
}

static tn_status integer_prepare(tn_call *call) {
    tn_integer_conv run;
    char key[96];
    if (!read_run(call, levels_of(call)->integer, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a convolution of integers");
    TN_TRY(choose_level(call, &run));
    TN_TRY(tn_kernel_state_create(call, sizeof(integer_state)));
    integer_state *state = call->state;
    state->level = run.level;
    if (!call->inputs[run.inputs->w]->data || run.depthwise) return TN_OK;
    snprintf(key, sizeof(key), "integers, %lld groups, %lld runs of %lld by %u",
             (long long)run.item_groups, (long long)run.runs, (long long)run.run_groups,
             run.level->dot->group);
    return tn_kernel_state_finish(call, call->host->packed(call, run.inputs->w, key,
                                                           tn_dot_layout_bytes(&run.layout),
                                                           fill_blob, &run, &state->blob));
}

/* ----------------------------------------------------------------------------------------------
 * memory: sets the run's pointers from `base` on and answers how many bytes there are */

static char *take(char *base, uint64_t *inout_bytes, uint64_t bytes) {
    char *at = base ? base + *inout_bytes : NULL;
    *inout_bytes += tn_whole_lines(bytes);
    return at;
}

static uint64_t set_memory(tn_integer_conv *run, char *base, const void **out_packed) {
    const integer_state *state = run->call->state;
    const uint64_t filters = (uint64_t)(run->item_groups * run->padded) * 4;
    uint64_t bytes = 0;
    const uint32_t element = run->depthwise ? 1 : run->level->dot->form->element_bytes;
    const uint64_t x_bytes = (uint64_t)(run->items * run->item_elements) * element + 64;
    run->x = take(base, &bytes, x_bytes);
    run->zeros = (int32_t *)(void *)take(base, &bytes, filters);
    run->terms = (int32_t *)(void *)take(base, &bytes, filters);
    run->initial = (int32_t *)(void *)take(base, &bytes, filters);
    run->factors = (float *)(void *)take(base, &bytes, filters);
    *out_packed = NULL;
    if (run->depthwise) {
        const uint64_t taps = (uint64_t)run->taps;
        run->tap_offsets = (int64_t *)(void *)take(base, &bytes, taps * 8);
        run->tap_numbers = (int32_t *)(void *)take(base, &bytes, taps * 4);
        run->weights = (int32_t *)(void *)take(base, &bytes, taps * (uint64_t)run->padded * 4);
        const uint64_t blocks = (uint64_t)tn_divide_up(run->channels, TN_DEPTHWISE_CHANNELS);
        run->blocks = (void *)take(base, &bytes, blocks * sizeof(*run->blocks));
    } else {
        const uint64_t tiles = (uint64_t)(run->item_groups * run->layout.blocks);
        run->offsets = (int32_t *)(void *)take(base, &bytes, element_list_bytes(run));
        run->tiles = (void *)take(base, &bytes, tiles * sizeof(*run->tiles));
        if (!state->blob) *out_packed = take(base, &bytes, tn_dot_layout_bytes(&run->layout));
    }
    /* A thread's: first rows of X, later a band or a row. */
    const uint64_t row = (uint64_t)(run->window.input[run->window.rank - 1] * run->channels);
    const uint64_t band = TN_INTEGER_CONV_BAND * (uint64_t)run->padded * 5;
    const uint64_t output = tn_integer_conv_has_rows(run) ? tn_integer_conv_row_bytes(run) : 0;
    run->scratch_bytes = tn_whole_lines(row > band ? row : band);
    if (output > run->scratch_bytes) run->scratch_bytes = output;
    run->scratch = take(base, &bytes, run->call->threads * run->scratch_bytes);
    return bytes;
}

static tn_status integer_reshape(tn_call *call) {
    tn_integer_conv run;
    const void *packed;
    if (!read_run(call, ((const integer_state *)call->state)->level, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a convolution of integers");
    call->workspace_bytes = set_memory(&run, NULL, &packed);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status begin_products(tn_integer_conv *run, void *packed) {
    const integer_state *state = run->call->state;
    const int64_t group = run->level->dot->group;
    tn_dot_range range;
    if (packed) pack(run, run->offsets, packed);
    run->blob = packed ? packed : state->blob;
    for (int64_t r = 0; r < run->runs; r++)
        for (int64_t k = 0; k < run->run_groups; k++)
            run->offsets[r * run->run_groups + k] =
                (int32_t)(tn_integer_conv_tap(run, r * run->run_taps) + k * group);
    tn_integer_conv_read_zeros(run);
    TN_TRY(tn_integer_conv_find_range(run, &range));
    run->choice = tn_dot_choose(&run->layout, range);
    return TN_OK;
}

static tn_status copy(tn_integer_conv *run) {
    enum { COPIED = 65536 /* elements that are worth a thread */ };
    const int64_t copied = run->items * run->row_count, row = run->item_elements / run->row_count;
    if (!run->depthwise && tn_integer_conv_is_copy(run)) {
        run->x = (char *)(uintptr_t)run->call->inputs[TN_CONV_X]->data;
        return TN_OK;
    }
    const int64_t element = run->depthwise ? 1 : run->choice.form->element_bytes;
    memset(run->x + copied * row * element, 0, 64); /* what the last groups reach into */
    return run->call->host->parallel_for(run->call, copied, tn_parallel_grain(COPIED, row + 1),
                                         tn_integer_conv_copy, run);
}

static void read_table(tn_integer_conv *run) {
    const uint8_t *table = tn_look_up_table(run->call);
    if (!table) return;
    run->look_up = levels_of(run->call)->look_up;
    tn_byte_table_read(&run->table, table);
}

/* Grains are products that are worth a thread. */
static tn_status run_units(tn_integer_conv *run) {
    enum { GRAIN = 800000, DEPTHWISE_GRAIN = 150000, ROWS_GRAIN = 400000 };
    const tn_host *host = run->call->host;
    if (tn_integer_conv_read_rows(run)) {
        const int64_t each = run->window.output[1] * run->taps * run->channels;
        return host->parallel_for(run->call, run->items * run->window.output[0],
                                  tn_parallel_grain(ROWS_GRAIN, each), tn_integer_conv_do_rows,
                                  run);
    }
    const int64_t each = run->positions / run->bands * run->taps * run->filters *
                         (run->depthwise ? 1 : run->channels);
    return host->parallel_for(run->call, run->items * run->bands,
                              tn_parallel_grain(run->depthwise ? DEPTHWISE_GRAIN : GRAIN, each),
                              tn_integer_conv_do_units, run);
}

static tn_status integer_run_bands(tn_call *call) {
    const void *packed;
    tn_integer_conv run;
    if (!read_run(call, ((const integer_state *)call->state)->level, &run))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "this node does not read as a convolution of integers");
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    set_memory(&run, call->workspace, &packed);
    if (run.depthwise)
        tn_integer_conv_pack_depthwise(&run);
    else
        TN_TRY(begin_products(&run, (void *)(uintptr_t)packed));
    tn_integer_conv_read_scales(&run);
    read_table(&run);
    if (!run.depthwise) tn_integer_conv_begin_tiles(&run);
    TN_TRY(copy(&run));
    return run_units(&run);
}

static const char *const conv_integer_combinations[] = {"u8|i8, *, *?, *? -> i32"};
static const char *const q_linear_conv_combinations[] = {
    "u8|i8:nhwc, f32, *, *, f32, *, f32, *, i32? -> u8|i8:nhwc",
    "u8|i8, f32, *, *, f32, *, f32, *, i32? -> u8|i8:nhwc",
    "u8|i8:nhwc, f32, *, *, f32, *, f32, *, i32? -> u8|i8",
    "u8|i8, f32, *, *, f32, *, f32, *, i32? -> u8|i8",
};
#define INTEGER_LEVEL(name, look_up)                                                               \
    static const tn_integer_conv_level level_##name = {&tn_integer_##name, &tn_depthwise_##name,   \
                                                       look_up}
INTEGER_LEVEL(baseline, tn_byte_table_apply);
INTEGER_LEVEL(avx2, tn_byte_table_apply_avx2);
INTEGER_LEVEL(avx512vnni, tn_byte_table_apply_avx512);
#define INTEGER_KERNELS(prefix, operator_name, facets)                                             \
    TN_LEVEL_KERNELS_OF(, tn_##prefix, TN_LEVELS_VNNI(level), "", 5, operator_name, "integer",     \
                        "Products of bytes with exact sums over a copy of X with channels last.",  \
                        .absorbs = facets,                                                         \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        TN_COMBINATIONS(prefix##_combinations), .accepts = integer_accepts,        \
                        .prepare = integer_prepare, .release = tn_kernel_state_destroy,            \
                        .reshape = integer_reshape, .run = integer_run_bands)
INTEGER_KERNELS(conv_integer, "ConvInteger", NULL);
INTEGER_KERNELS(q_linear_conv, "QLinearConv", TN_FACET_LOOK_UP);
