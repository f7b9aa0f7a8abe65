/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a forest: rows in blocks, which with their scores fit the second cache; in a block tree
 * after tree, each for all rows, so that it is read once a block. Fewer rows than there are lanes
 * go through all trees one by one, several trees side by side. See forest.h.
 */
#include "ml/trees/forest.h"

#include <math.h>
#include <tenon/kit/parallel.h>

enum { BLOCK_ROWS = 512, BLOCK_BYTES = 256 * 1024, FEW_ROWS = 4, TREES = 64, GRAIN_STEPS = 8192 };

/* A thread's part of the workspace. */
typedef struct block_layout {
    int64_t rows, stride, columns; /* of scores: one more than targets */
    uint64_t x_bytes, scores_bytes, leaves_bytes, found_bytes;
} block_layout;

static uint64_t align(uint64_t bytes) {
    return (bytes + 63) & ~(uint64_t)63;
}

/* Whether rows are converted to what the nodes have. */
static bool is_converted(const tn_call *call, const tn_forest *forest) {
    return call->inputs[0]->type != (forest->nodes32 ? TN_F32 : TN_F64);
}

static bool is_extreme(const tn_forest *forest) {
    return forest->aggregate == TN_TREES_MIN || forest->aggregate == TN_TREES_MAX;
}

static uint64_t layout_bytes(const block_layout *layout) {
    return layout->x_bytes + layout->scores_bytes + layout->leaves_bytes + layout->found_bytes;
}

static tn_status lay_out(tn_call *call, const tn_forest *forest, block_layout *out_layout) {
    block_layout layout = {.stride = forest->target_count + 1};
    TN_TRY(tn_rows_read(call, 0, &layout.rows, &layout.columns));
    if (forest->feature_count > layout.columns)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'X' has %lld columns, field 'nodes_featureids' names "
                                "feature %lld",
                                (long long)layout.columns, (long long)forest->feature_count - 1);
    int64_t row_bytes = layout.stride * 8 + 5;
    int64_t x_bytes = 0;
    if (!tn_infer_multiply(layout.columns, 8, &x_bytes) ||
        !tn_infer_add(row_bytes, x_bytes, &row_bytes) || row_bytes > INT64_MAX / BLOCK_ROWS)
        return call->host->fail(call, TN_ERROR_SHAPE, "the rows of input 'X' are too long");
    int64_t rows = BLOCK_BYTES / row_bytes;
    rows = rows < 8 ? 8 : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    layout.rows = rows < layout.rows ? rows : layout.rows;
    if (is_converted(call, forest)) layout.x_bytes = align((uint64_t)(layout.rows * x_bytes));
    layout.scores_bytes = align((uint64_t)(layout.rows * layout.stride) * sizeof(double));
    layout.leaves_bytes =
        align((uint64_t)(layout.rows > TREES ? layout.rows : TREES) * sizeof(uint32_t));
    if (is_extreme(forest))
        layout.found_bytes = align((uint64_t)(layout.rows * forest->target_count));
    *out_layout = layout;
    return TN_OK;
}

tn_status tn_forest_reshape(tn_call *call, uint64_t more_bytes) {
    block_layout layout = {0};
    TN_TRY(lay_out(call, call->state, &layout));
    const uint64_t threads = call->threads ? call->threads : 1;
    uint64_t bytes;
    if (__builtin_mul_overflow(layout_bytes(&layout), threads, &bytes) ||
        __builtin_add_overflow(bytes, more_bytes, &bytes))
        return call->host->fail(call, TN_ERROR_MEMORY, "the rows of input 'X' are too long");
    call->workspace_bytes = bytes;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * blocks */

typedef struct forest_job {
    tn_call *call;
    const tn_forest *forest;
    tn_ensemble_finish finish;
    void *user;
    block_layout layout;
} forest_job;

typedef struct row_block {
    tn_forest_rows rows;
    double *scores;
    uint32_t *leaves;
    uint8_t *found;
} row_block;

static void open_block(const forest_job *job, int64_t first, int64_t count, uint32_t thread,
                       row_block *out_block) {
    const tn_tensor *x = job->call->inputs[0];
    const block_layout *layout = &job->layout;
    char *buffer = (char *)job->call->workspace + thread * layout_bytes(layout);
    const int64_t columns = layout->columns;
    *out_block = (row_block){
        .rows = {.stride = columns, .count = count},
        .scores = (double *)(void *)(buffer + layout->x_bytes),
        .leaves = (uint32_t *)(void *)(buffer + layout->x_bytes + layout->scores_bytes),
        .found = (uint8_t *)buffer + layout->x_bytes + layout->scores_bytes + layout->leaves_bytes};
    if (layout->x_bytes == 0) {
        out_block->rows.x =
            (const char *)x->data + (size_t)(first * columns) * tn_element_bytes(x->type);
    } else {
        out_block->rows.x = buffer;
        if (job->forest->nodes32)
            for (int64_t i = 0; i < count * columns; i++)
                ((float *)(void *)buffer)[i] = (float)tn_element_f64(x, first * columns + i);
        else
            tn_element_read_f64(x->data, x->type, first * columns, 1, count * columns,
                                (double *)(void *)buffer);
    }
    memset(out_block->scores, 0, (size_t)(count * layout->stride) * sizeof(double));
    if (layout->found_bytes) memset(out_block->found, 0, layout->found_bytes);
}

static void join(const tn_forest *forest, const tn_tree_weight *weight, double *score,
                 uint8_t *found) {
    if (!is_extreme(forest))
        *score += weight->weight;
    else if (!*found)
        *score = weight->weight;
    else
        *score = forest->aggregate == TN_TREES_MIN ? fmin(*score, weight->weight)
                                                   : fmax(*score, weight->weight);
}

static void add_entries(const tn_forest *forest, uint32_t leaf, double *scores, uint8_t *found) {
    const bool is_found_kept = is_extreme(forest);
    for (uint32_t i = forest->begins[leaf]; i < forest->begins[leaf + 1]; i++) {
        const tn_tree_weight *weight = &forest->weights[i];
        uint8_t *flag = is_found_kept ? &found[weight->target] : NULL;
        join(forest, weight, &scores[weight->target], flag);
        if (flag) *flag = 1;
    }
}

/* What a leaf adds to a row's scores. */
static inline void add_leaf(const tn_forest *forest, uint32_t at, double *scores, uint8_t *found) {
    const uint32_t leaf = forest->nodes32 ? forest->nodes32[at].word : forest->nodes64[at].word;
    const int64_t targets = forest->target_count;
    if (forest->values32) {
        const float *values = forest->values32 + (int64_t)leaf * targets;
        for (int64_t k = 0; k < targets; k++)
            scores[k] += (double)values[k];
    } else if (forest->values64) {
        const double *values = forest->values64 + (int64_t)leaf * targets;
        for (int64_t k = 0; k < targets; k++)
            scores[k] += values[k];
    } else {
        add_entries(forest, leaf, scores, found);
    }
}

static void do_many_rows(const forest_job *job, const row_block *block) {
    const tn_forest *forest = job->forest;
    for (uint64_t tree = 0; tree < forest->tree_count; tree++) {
        tn_forest_traverse_rows(forest, &forest->trees[tree], &block->rows, block->leaves);
        for (int64_t row = 0; row < block->rows.count; row++)
            add_leaf(forest, block->leaves[row], block->scores + row * job->layout.stride,
                     block->found + row * forest->target_count);
    }
}

static void do_few_rows(const forest_job *job, const row_block *block) {
    const tn_forest *forest = job->forest;
    const size_t bytes = forest->nodes32 ? sizeof(float) : sizeof(double);
    for (int64_t row = 0; row < block->rows.count; row++) {
        const char *x = (const char *)block->rows.x + (size_t)(row * block->rows.stride) * bytes;
        for (uint64_t first = 0; first < forest->tree_count; first += TREES) {
            const uint64_t left = forest->tree_count - first, count = left < TREES ? left : TREES;
            tn_forest_traverse_trees(forest, first, first + count, x, block->leaves);
            for (uint64_t k = 0; k < count; k++)
                add_leaf(forest, block->leaves[k], block->scores + row * job->layout.stride,
                         block->found + row * forest->target_count);
        }
    }
}

static void finish_block(const forest_job *job, const row_block *block, int64_t first) {
    const tn_forest *forest = job->forest;
    for (int64_t row = 0; row < block->rows.count; row++) {
        double *scores = block->scores + row * job->layout.stride;
        for (int64_t k = 0; forest->aggregate == TN_TREES_AVERAGE && k < forest->target_count; k++)
            scores[k] /= (double)forest->tree_count;
        job->finish(job->user, first + row, scores);
    }
}

static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const forest_job *job = user;
    for (int64_t first = begin; first < end; first += job->layout.rows) {
        row_block block;
        const int64_t left = end - first;
        const int64_t count = left < job->layout.rows ? left : job->layout.rows;
        open_block(job, first, count, thread, &block);
        if (count < FEW_ROWS)
            do_few_rows(job, &block);
        else
            do_many_rows(job, &block);
        finish_block(job, &block, first);
    }
    return TN_OK;
}

void *tn_forest_workspace(tn_call *call) {
    block_layout layout = {0};
    const uint64_t threads = call->threads ? call->threads : 1;
    if (lay_out(call, call->state, &layout) != TN_OK) return NULL;
    return (char *)call->workspace + threads * layout_bytes(&layout);
}

tn_status tn_forest_run(tn_call *call, tn_ensemble_finish finish, void *user) {
    forest_job job = {.call = call, .forest = call->state, .finish = finish, .user = user};
    int64_t rows = 0;
    TN_TRY(lay_out(call, call->state, &job.layout));
    TN_TRY(tn_rows_read(call, 0, &rows, &(int64_t){0}));
    if (rows == 0) return TN_OK;
    const int64_t steps = (int64_t)(job.forest->tree_count > 1024 ? 1024 : job.forest->tree_count);
    return call->host->parallel_for(call, rows, tn_parallel_grain(GRAIN_STEPS, 8 * steps), do_rows,
                                    &job);
}
