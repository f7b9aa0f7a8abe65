/* SPDX-License-Identifier: Apache-2.0 */
/* The work of one thread in Attention's kernels; see unit.h. */
#include "attention/unit.h"
#include <tenon/kit/infer.h>

#include <math.h>

/* A block of queries, and its part of the scratch memory. */
typedef struct unit_state {
    const tn_attention_run *run;
    int64_t head, batch;     /* head counts batch * kv_heads */
    int64_t first, count;    /* rows */
    float *q;                /* rows x depth, scaled */
    float *scores;           /* rows x TN_ATTENTION_KEYS */
    float *sums;             /* rows x v_depth: of exponentials times values */
    float *largest, *totals; /* of each row's scores, and of its exponentials */
    float *buffer;           /* a block of keys or values as floats */
    tn_attention_range ranges[TN_ATTENTION_ROWS];
} unit_state;

/* A block of keys: first..first+count-1, of which a row sees begin..end-1, counted from first. */
typedef struct key_block {
    int64_t index, first, count;
    tn_attention_range seen[TN_ATTENTION_ROWS];
} key_block;

static int64_t query_head(const unit_state *unit, int64_t row) {
    const tn_attention_sizes *sizes = &unit->run->sizes;
    return unit->head % sizes->kv_heads * sizes->group + (unit->first + row) / sizes->queries;
}

static int64_t query_of(const unit_state *unit, int64_t row) {
    return (unit->first + row) % unit->run->sizes.queries;
}

static void read_queries(const unit_state *unit) {
    const tn_attention_run *run = unit->run;
    const tn_attention_sizes *sizes = &run->sizes;
    const char *data = run->call->inputs[TN_ATTENTION_Q]->data;
    for (int64_t row = 0; row < unit->count; row++) {
        const int64_t at =
            tn_attention_at(&sizes->q, unit->batch, query_head(unit, row), query_of(unit, row));
        float *q = unit->q + row * sizes->depth;
        tn_attention_widen(run, sizes->depth, data + (size_t)at * tn_element_bytes(run->type), q);
        run->level->scale(sizes->depth, (float)sizes->scale, q);
    }
}

static void start(unit_state *unit, const tn_attention_run *run, int64_t head, int64_t block,
                  uint32_t thread) {
    const tn_attention_sizes *sizes = &run->sizes;
    unit->run = run;
    unit->head = head;
    unit->batch = head / sizes->kv_heads;
    unit->first = block * TN_ATTENTION_ROWS;
    unit->count = run->rows - unit->first;
    if (unit->count > TN_ATTENTION_ROWS) unit->count = TN_ATTENTION_ROWS;
    unit->scores = run->scratch + thread * run->scratch_floats;
    unit->largest = unit->scores + TN_ATTENTION_ROWS * TN_ATTENTION_KEYS;
    unit->totals = unit->largest + TN_ATTENTION_ROWS;
    unit->q = unit->totals + TN_ATTENTION_ROWS;
    unit->sums = unit->q + TN_ATTENTION_ROWS * sizes->depth;
    unit->buffer = unit->sums + TN_ATTENTION_ROWS * sizes->v_depth;
    for (int64_t row = 0; row < unit->count; row++) {
        unit->ranges[row] =
            tn_attention_range_of(run->call, sizes, unit->batch, query_of(unit, row));
        unit->largest[row] = -INFINITY;
        unit->totals[row] = 0;
    }
    memset(unit->sums, 0, (size_t)(unit->count * sizes->v_depth) * sizeof(float));
    read_queries(unit);
}

/* The keys that any row of the block sees. */
static tn_attention_range all_keys(const unit_state *unit) {
    tn_attention_range all = {INT64_MAX, 0};
    for (int64_t row = 0; row < unit->count; row++) {
        const tn_attention_range range = unit->ranges[row];
        if (range.begin == range.end) continue;
        if (range.begin < all.begin) all.begin = range.begin;
        if (range.end > all.end) all.end = range.end;
    }
    return all;
}

static int64_t clamped(int64_t value, int64_t high) {
    return value < 0 ? 0 : value > high ? high : value;
}

static void read_block(const unit_state *unit, int64_t index, key_block *out_block) {
    const int64_t first = index * TN_ATTENTION_KEYS, left = unit->run->sizes.keys - first;
    out_block->index = index;
    out_block->first = first;
    out_block->count = left < TN_ATTENTION_KEYS ? left : TN_ATTENTION_KEYS;
    for (int64_t row = 0; row < unit->count; row++) {
        out_block->seen[row].begin = clamped(unit->ranges[row].begin - first, out_block->count);
        out_block->seen[row].end = clamped(unit->ranges[row].end - first, out_block->count);
    }
}

/* One tile: output[rows][columns] = a b, or with `is_added` output + a b. */
static void multiply(const unit_state *unit, const tn_matrix_tile *operands, int64_t rows,
                     bool is_added) {
    const tn_matrix_level *matrix = unit->run->level->matrix;
    const int64_t vectors = (operands->columns + matrix->lanes - 1) / matrix->lanes;
    tn_matrix_tile tile = *operands;
    tile.bias = unit->run->zeros;
    tile.residual = is_added ? tile.output : NULL;
    matrix->functions[rows - 1][vectors - 1](&tile);
}

static int64_t block_columns(const unit_state *unit) {
    return (int64_t)unit->run->level->matrix->lanes * unit->run->level->matrix->vectors;
}

static int64_t lower(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The keys of a block that any of the rows from `row` on sees, as many as a tile has. */
static tn_attention_range seen_by_tile(const unit_state *unit, const key_block *block,
                                       int64_t row) {
    tn_attention_range all = block->seen[row];
    const int64_t end = lower(unit->count, row + TN_MATRIX_ROWS);
    for (int64_t i = row + 1; i < end; i++) {
        all.begin = lower(all.begin, block->seen[i].begin);
        if (block->seen[i].end > all.end) all.end = block->seen[i].end;
    }
    return all;
}

static void score_packed(const unit_state *unit, const key_block *block) {
    const tn_attention_run *run = unit->run;
    const int64_t depth = run->sizes.depth, width = block_columns(unit);
    const float *packed =
        run->keys + (uint64_t)(unit->head * run->key_blocks + block->index) * run->key_floats;
    for (int64_t first = 0; first < block->count; first += width)
        for (int64_t row = 0; row < unit->count; row += TN_MATRIX_ROWS) {
            const tn_attention_range seen = seen_by_tile(unit, block, row);
            if (first >= seen.end || first + width <= seen.begin) continue;
            const tn_matrix_tile tile = {.a = unit->q + row * depth,
                                         .a_stride = depth,
                                         .depth = depth,
                                         .b = packed + first * depth,
                                         .output = unit->scores + row * TN_ATTENTION_KEYS + first,
                                         .output_stride = TN_ATTENTION_KEYS,
                                         .columns = lower(block->count - first, width)};
            multiply(unit, &tile, lower(unit->count - row, TN_MATRIX_ROWS), false);
        }
}

static void score_directly(const unit_state *unit, const key_block *block) {
    const tn_attention_run *run = unit->run;
    int64_t stride = 0;
    const float *keys = tn_attention_gather(run, true, unit->head, block->first, block->count,
                                            unit->buffer, &stride);
    run->level->dots(unit->count, run->sizes.depth, block->count, stride, unit->q, keys,
                     unit->scores);
}

/* Adds the mask to the scores of keys begin..end-1 of a block. */
static void add_mask(const unit_state *unit, const key_block *block, int64_t row) {
    const tn_attention_sizes *sizes = &unit->run->sizes;
    const tn_tensor *mask = tn_attention_input(unit->run->call, TN_ATTENTION_MASK);
    const tn_attention_range seen = block->seen[row];
    float *scores = unit->scores + row * TN_ATTENTION_KEYS;
    if (!mask) return;
    const int64_t step = sizes->mask_strides[3];
    const int64_t at =
        tn_attention_mask_row(sizes, unit->batch, query_head(unit, row), query_of(unit, row)) +
        block->first * step;
    const int64_t first = at + seen.begin, count = seen.end - seen.begin;
    if (mask->type == TN_F32 && step == 1) {
        unit->run->level->add_bias(count, (const float *)mask->data + first, scores + seen.begin);
        return;
    }
    if (mask->type == TN_BOOL && step == 1) {
        unit->run->level->hide(count, (const uint8_t *)mask->data + first, scores + seen.begin);
        return;
    }
    for (int64_t key = seen.begin; key < seen.end; key++) {
        const float bias = (float)tn_attention_mask_value(mask, at + key * step);
        scores[key] = bias == -INFINITY ? bias : scores[key] + bias;
    }
}

/* The scores of a row become exponentials, and what it has of earlier blocks is scaled to the same
 * offset. */
static void soften(const unit_state *unit, const key_block *block, int64_t row) {
    const tn_attention_level *level = unit->run->level;
    const tn_attention_range seen = block->seen[row];
    const int64_t count = seen.end - seen.begin, v_depth = unit->run->sizes.v_depth;
    float *scores = unit->scores + row * TN_ATTENTION_KEYS + seen.begin;
    if (count == 0) return;
    if (unit->run->sizes.softcap > 0) level->cap(count, (float)unit->run->sizes.softcap, scores);
    add_mask(unit, block, row);
    const float before = unit->largest[row], here = level->largest(count, scores);
    const float largest = here > before ? here : before;
    const float offset = largest == -INFINITY ? 0 : largest;
    /* Most rows keep what they have, or have nothing yet. */
    const float factor = before == offset ? 1 : before == -INFINITY ? 0 : expf(before - offset);
    unit->largest[row] = largest;
    unit->totals[row] = unit->totals[row] * factor + level->exponentials(count, offset, scores);
    if (factor != 1) level->scale(v_depth, factor, unit->sums + row * v_depth);
}

/* Adds the values of keys begin..end-1 of a block to `rows` rows. */
static void add_values(const unit_state *unit, const key_block *block, int64_t row, int64_t rows,
                       int64_t begin, int64_t end) {
    const tn_attention_run *run = unit->run;
    const tn_matrix_level *matrix = run->level->matrix;
    const int64_t v_depth = run->sizes.v_depth, width = block_columns(unit);
    const float *packed =
        run->values + (uint64_t)(unit->head * run->key_blocks + block->index) * run->value_floats;
    if (begin >= end) return;
    for (int64_t first = 0; first < v_depth; first += width) {
        const int64_t columns = lower(v_depth - first, width);
        const int64_t padded = (columns + matrix->lanes - 1) / matrix->lanes * matrix->lanes;
        const tn_matrix_tile tile = {.a = unit->scores + row * TN_ATTENTION_KEYS + begin,
                                     .a_stride = TN_ATTENTION_KEYS,
                                     .depth = end - begin,
                                     .b = packed + first * block->count + begin * padded,
                                     .output = unit->sums + row * v_depth + first,
                                     .output_stride = v_depth,
                                     .columns = columns};
        multiply(unit, &tile, rows, true);
    }
}

/* Rows of a tile together for the keys that all of them see, each alone for the others. */
static void accumulate_packed(const unit_state *unit, const key_block *block) {
    for (int64_t row = 0; row < unit->count; row += TN_MATRIX_ROWS) {
        const int64_t rows = lower(unit->count - row, TN_MATRIX_ROWS);
        tn_attention_range all = block->seen[row];
        for (int64_t i = row; i < row + rows; i++) {
            if (block->seen[i].begin > all.begin) all.begin = block->seen[i].begin;
            all.end = lower(all.end, block->seen[i].end);
        }
        if (all.begin >= all.end) all.begin = all.end = 0;
        add_values(unit, block, row, rows, all.begin, all.end);
        for (int64_t i = row; i < row + rows; i++) {
            const tn_attention_range seen = block->seen[i];
            add_values(unit, block, i, 1, seen.begin, lower(all.begin, seen.end));
            add_values(unit, block, i, 1, all.end > seen.begin ? all.end : seen.begin, seen.end);
        }
    }
}

static void accumulate_directly(const unit_state *unit, const key_block *block) {
    const tn_attention_run *run = unit->run;
    const int64_t v_depth = run->sizes.v_depth;
    int64_t stride = 0;
    const float *values = tn_attention_gather(run, false, unit->head, block->first, block->count,
                                              unit->buffer, &stride);
    for (int64_t row = 0, rows; row < unit->count; row += rows) {
        const tn_attention_range seen = block->seen[row];
        rows = 1; /* those that see the same keys */
        while (row + rows < unit->count && block->seen[row + rows].begin == seen.begin &&
               block->seen[row + rows].end == seen.end)
            rows++;
        run->level->accumulate(rows, v_depth, seen.end - seen.begin, stride,
                               unit->scores + row * TN_ATTENTION_KEYS + seen.begin,
                               values + seen.begin * stride, unit->sums + row * v_depth);
    }
}

static void write_results(const unit_state *unit) {
    const tn_attention_sizes *sizes = &unit->run->sizes;
    const tn_tensor *y = unit->run->call->outputs[TN_ATTENTION_Y];
    for (int64_t row = 0; row < unit->count; row++) {
        const int64_t at =
            tn_attention_at(&sizes->y, unit->batch, query_head(unit, row), query_of(unit, row));
        float *sums = unit->sums + row * sizes->v_depth;
        if (unit->totals[row] != 0)
            unit->run->level->scale(sizes->v_depth, 1.0f / unit->totals[row], sums);
        if (y->type == TN_F32) {
            memcpy((float *)y->data + at, sums, (size_t)sizes->v_depth * sizeof(float));
            continue;
        }
        for (int64_t i = 0; i < sizes->v_depth; i++)
            tn_element_set_f64(y, at + i, (double)sums[i]);
    }
}

void tn_attention_unit_run(const tn_attention_run *run, int64_t head, int64_t block,
                           uint32_t thread) {
    unit_state unit;
    key_block keys;
    start(&unit, run, head, block, thread);
    const tn_attention_range all = all_keys(&unit);
    for (int64_t index = all.begin / TN_ATTENTION_KEYS; index * TN_ATTENTION_KEYS < all.end;
         index++) {
        read_block(&unit, index, &keys);
        if (run->is_packed)
            score_packed(&unit, &keys);
        else
            score_directly(&unit, &keys);
        for (int64_t row = 0; row < unit.count; row++)
            soften(&unit, &keys, row);
        if (run->is_packed)
            accumulate_packed(&unit, &keys);
        else
            accumulate_directly(&unit, &keys);
    }
    write_results(&unit);
}
