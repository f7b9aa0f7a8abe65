/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of dot.h, compiled by dot_<level>.c. Before it is included, TN_DOT_LEVEL names the
 * table to define. Small tiles run several sums over interleaved groups, so that the products'
 * latency is hidden.
 */
#include "kit/int8/dot_finish.h"

/* Where a group's inputs are. */
#if defined(TN_DOT_NARROW)
#define OFFSET(tile, group) (tile)->offsets[(tile)->order[group]]
#else
#define OFFSET(tile, group) (tile)->offsets[group]
#endif

/* Bytes side by side, bounds only. */
TN_INLINE void tile_finish_bytes(const tn_dot_tile *tile,
                                 tn_vector_whole sums[TN_DOT_ROWS][TN_DOT_VECTORS], const int rows,
                                 const int vectors) {
    const tn_vector low = tn_vector_all(tile->end->low), high = tn_vector_all(tile->end->high);
    TN_UNROLL for (int v = 0; v < vectors; v++) {
        const tn_vector scale = tn_vector_load(tile->scale + v * TN_LANES),
                        bias = tn_vector_load(tile->bias + v * TN_LANES);
        const int64_t left = tile->columns - v * TN_LANES;
        int8_t *to = (int8_t *)tile->output + v * TN_LANES;
        TN_UNROLL for (int m = 0; m < rows; m++) {
            const tn_vector value = tn_vector_of_whole(sums[m][v]) * scale + bias;
            tn_byte_store(to + m * tile->row_stride, tn_byte_clamp(value, low, high), left);
        }
    }
}

/* Bytes of either kind with a zero point: the low ones of rounded values and it. */
TN_INLINE void tile_finish_steps(const tn_dot_tile *tile,
                                 tn_vector_whole sums[TN_DOT_ROWS][TN_DOT_VECTORS], const int rows,
                                 const int vectors) {
    const tn_vector low = tn_vector_all(tile->end->low), high = tn_vector_all(tile->end->high);
    TN_UNROLL for (int v = 0; v < vectors; v++) {
        const tn_vector scale = tn_vector_load(tile->scale + v * TN_LANES);
        const int64_t left = tile->columns - v * TN_LANES;
        int8_t *to = (int8_t *)tile->output + v * TN_LANES;
        TN_UNROLL for (int m = 0; m < rows; m++) {
            const tn_vector value = tn_vector_of_whole(sums[m][v]) * scale;
            tn_step_store(to + m * tile->row_stride, tn_byte_clamp(value, low, high),
                          tile->end->zero, left);
        }
    }
}

/* Whole vectors of sums side by side. */
TN_INLINE void tile_store_sums(const tn_dot_tile *tile,
                               tn_vector_whole sums[TN_DOT_ROWS][TN_DOT_VECTORS], const int rows,
                               const int vectors) {
    int32_t *to = tile->output;
    TN_UNROLL for (int m = 0; m < rows; m++) {
        TN_UNROLL for (int v = 0; v < vectors; v++)
            memcpy(to + m * tile->row_stride + v * TN_LANES, &sums[m][v], sizeof(sums[m][v]));
    }
}

/* `fold` groups from one on: 2 or 1 of which a lane of 16 bits has the sum of the products; 0: one,
 * of any. */
TN_INLINE void add_groups(const int rows, const int vectors, const int fold,
                          const tn_dot_tile *tile, const tn_dot_element *const x[TN_DOT_ROWS],
                          int64_t group, tn_vector_whole sums[TN_DOT_ROWS][TN_DOT_VECTORS]) {
    const int64_t bytes = TN_LANES * TN_DOT_GROUP, step = vectors * bytes;
    const int8_t *weights = tile->weights + group * step;
    const int64_t offset = OFFSET(tile, group);
#if defined(TN_DOT_NARROW)
    const int64_t next = fold > 1 ? OFFSET(tile, group + 1) : 0;
    _mm_prefetch((const char *)tile->ahead + group * tile->ahead_step, _MM_HINT_T1);
    TN_UNROLL for (int m = 0; fold > 0 && m < rows; m++) {
        __m256i pairs[TN_DOT_VECTORS];
        const tn_dot_inputs values = tn_dot_load_inputs(x[m] + offset);
        TN_UNROLL for (int v = 0; v < vectors; v++) pairs[v] =
            tn_dot_pairs(values, tn_dot_load_weights(weights + v * bytes));
        if (fold > 1) {
            const tn_dot_inputs more = tn_dot_load_inputs(x[m] + next);
            TN_UNROLL for (int v = 0; v < vectors; v++) pairs[v] = _mm256_add_epi16(
                pairs[v], tn_dot_pairs(more, tn_dot_load_weights(weights + step + v * bytes)));
        }
        TN_UNROLL for (int v = 0; v < vectors; v++) sums[m][v] =
            tn_dot_add_pairs(sums[m][v], pairs[v]);
    }
    if (fold > 0) return;
#else
    (void)fold;
#endif
    tn_dot_weights loaded[TN_DOT_VECTORS];
    TN_UNROLL for (int v = 0; v < vectors; v++) loaded[v] =
        tn_dot_load_weights(weights + v * bytes);
    TN_UNROLL for (int m = 0; m < rows; m++) {
        const tn_dot_inputs values = tn_dot_load_inputs(x[m] + offset);
        TN_UNROLL for (int v = 0; v < vectors; v++) sums[m][v] =
            tn_dot_add(sums[m][v], values, loaded[v]);
    }
}

/* Groups first..last-1; sums of small tiles are several. */
TN_INLINE void add_range(const int rows, const int vectors, const int fold, const int chains,
                         const tn_dot_tile *tile, const tn_dot_element *const x[TN_DOT_ROWS],
                         int64_t first, int64_t last,
                         tn_vector_whole sums[4][TN_DOT_ROWS][TN_DOT_VECTORS]) {
    const int each = fold > 1 ? fold : 1;
    for (; first + chains * each <= last; first += chains * each) {
        TN_UNROLL for (int u = 0; u < chains; u++)
            add_groups(rows, vectors, fold, tile, x, first + u * each, sums[u]);
    }
    for (; first < last; first += each)
        add_groups(rows, vectors, fold, tile, x, first, sums[0]);
}

TN_INLINE void tile_run(const int rows, const int vectors, const tn_dot_tile *tile) {
    const int chains = rows * vectors >= 6 ? 1 : rows * vectors >= 3 ? 2 : 4;
    tn_vector_whole sums[4][TN_DOT_ROWS][TN_DOT_VECTORS];
    const tn_dot_element *x[TN_DOT_ROWS];
    TN_UNROLL for (int m = 0; m < rows; m++) {
        x[m] = (const tn_dot_element *)tile->x + tile->rows[m];
        TN_UNROLL for (int v = 0; v < vectors; v++) {
            sums[0][m][v] = tn_vector_whole_load(tile->initial + v * TN_LANES);
            TN_UNROLL for (int u = 1; u < chains; u++) sums[u][m][v] = (tn_vector_whole){0};
        }
    }
#if defined(TN_DOT_NARROW)
    add_range(rows, vectors, 2, chains, tile, x, 0, tile->folded, sums);
    add_range(rows, vectors, 1, chains, tile, x, tile->folded, tile->single, sums);
    add_range(rows, vectors, 0, chains, tile, x, tile->single, tile->groups, sums);
#else
    add_range(rows, vectors, 0, chains, tile, x, 0, tile->groups, sums);
#endif
    TN_UNROLL for (int m = 0; m < rows; m++) {
        TN_UNROLL for (int v = 0; v < vectors; v++) {
            TN_UNROLL for (int u = 1; u < chains; u++) sums[0][m][v] += sums[u][m][v];
        }
    }
    if (tile->end->is_plain && tile->end->type == TN_I8 && tile->column_stride == 1) {
        tile_finish_bytes(tile, sums[0], rows, vectors);
        return;
    }
    if (tile->end->type == TN_U8) {
        tile_finish_steps(tile, sums[0], rows, vectors);
        return;
    }
    if (tile->end->type == TN_I32 && tile->column_stride == 1 &&
        tile->columns >= (int64_t)vectors * TN_LANES) {
        tile_store_sums(tile, sums[0], rows, vectors);
        return;
    }
    tn_vector_whole spilled[TN_DOT_ROWS * TN_DOT_VECTORS];
    TN_UNROLL for (int m = 0; m < rows; m++) {
        TN_UNROLL for (int v = 0; v < vectors; v++) spilled[m * vectors + v] = sums[0][m][v];
    }
    tn_dot_finish(tile, spilled, rows, vectors);
}

/* `as_they_are`: of bytes, without anything added. */
TN_INLINE tn_dot_element form_element(int8_t value, const bool as_they_are) {
    return as_they_are ? (tn_dot_element)value : tn_dot_element_of(value);
}

TN_INLINE void form_load(void *to, const int8_t *from, int64_t count, const bool as_they_are) {
    tn_dot_element *elements = to;
    for (int64_t i = 0; i < count; i++)
        elements[i] = form_element(from[i], as_they_are);
}

TN_INLINE void form_interleave(void *to, const int8_t *from, int64_t plane, int64_t channels,
                               int64_t count, const bool as_they_are) {
    tn_dot_element *elements = to;
    int64_t c = 0;
    for (; c + 4 <= channels; c += 4) {
        const int8_t *a = from + c * plane, *b = a + plane, *d = b + plane, *e = d + plane;
        for (int64_t i = 0; i < count; i++) {
            tn_dot_element *four = elements + i * channels + c;
            four[0] = form_element(a[i], as_they_are);
            four[1] = form_element(b[i], as_they_are);
            four[2] = form_element(d[i], as_they_are);
            four[3] = form_element(e[i], as_they_are);
        }
    }
    for (; c < channels; c++) {
        for (int64_t i = 0; i < count; i++)
            elements[i * channels + c] = form_element(from[c * plane + i], as_they_are);
    }
}

static void load_elements(void *to, const int8_t *from, int64_t count) {
    form_load(to, from, count, false);
}

static void clear_elements(void *to, int64_t count) {
    tn_dot_element *elements = to;
    for (int64_t i = 0; i < count; i++)
        elements[i] = TN_DOT_ZERO;
}

static void interleave_elements(void *to, const int8_t *from, int64_t plane, int64_t channels,
                                int64_t count) {
    form_interleave(to, from, plane, channels, count, false);
}

static const tn_dot_form own_form = {.element_bytes = sizeof(tn_dot_element),
                                     .shift = TN_DOT_ZERO,
                                     .load = load_elements,
                                     .clear = clear_elements,
                                     .interleave = interleave_elements};

#if defined(TN_DOT_NARROW)
static const tn_dot_narrow narrow;
#define NARROW &narrow
#else
#define NARROW NULL
#endif

#define TILE(M, V)                                                                                 \
    static void tile_##M##_##V(const tn_dot_tile *tile) {                                          \
        tile_run(M, V, tile);                                                                      \
    }
#define TILES_2(M) TILE(M, 1) TILE(M, 2)
#define TILES_4(M) TILES_2(M) TILE(M, 3) TILE(M, 4)

/* Lists of macros that are functions. */
/* clang-format off */
#define ROW_2(M) {tile_##M##_1, tile_##M##_2}
#define ROW_3(M) {tile_##M##_1, tile_##M##_2, tile_##M##_3}
#define ROW_4(M) {tile_##M##_1, tile_##M##_2, tile_##M##_3, tile_##M##_4}
TILES_2(1) TILES_2(2) TILES_2(3) TILES_2(4) TILES_2(5) TILES_2(6)
#if TN_LANES == 16
TILES_2(7) TILES_2(8) TILES_2(9) TILES_2(10) TILES_2(11) TILES_2(12)
TILE(1, 3) TILE(2, 3) TILE(3, 3) TILE(4, 3) TILE(5, 3) TILE(6, 3) TILE(7, 3) TILE(8, 3)
TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(4, 4) TILE(5, 4) TILE(6, 4)
#define VECTORS 4
#define ROWS {12, 12, 8, 6}
#define FUNCTIONS {ROW_4(1), ROW_4(2), ROW_4(3), ROW_4(4), ROW_4(5), ROW_4(6), \
                   ROW_3(7), ROW_3(8), ROW_2(9), ROW_2(10), ROW_2(11), ROW_2(12)}
#else
#define VECTORS 2
#define ROWS {6, 6}
#define FUNCTIONS {ROW_2(1), ROW_2(2), ROW_2(3), ROW_2(4), ROW_2(5), ROW_2(6)}
#endif
const tn_dot_level TN_DOT_LEVEL = {.lanes = TN_LANES,
                                   .group = TN_DOT_GROUP,
                                   .vectors = VECTORS,
                                   .rows = ROWS,
                                   .functions = FUNCTIONS,
                                   .form = &own_form,
                                   .narrow = NARROW};
/* clang-format on */
