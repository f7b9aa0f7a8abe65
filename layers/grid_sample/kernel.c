/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GridSample's kernel. What some positions of 32-bit images read, and the weights, are found once
 * for all channels. Most positions lie between elements on all sides: what they read are rows of
 * neighbours, two of a linear interpolation, four of a cubic one, and vectors of four floats hold a
 * position's neighbours. The others, at the borders and beyond, have a list of elements each.
 */
#include "grid_sample/grid_sample.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/parallel.h>

#include <string.h>

enum {
    BLOCK = 64,    /* positions that are found at once */
    LIST = 1024,   /* elements of the others among them */
    MOST_ROWS = 4, /* of a position */
    MOST_AXES = 3  /* whose elements fit: 4^3 */
};

/* Position p reads rows offsets[p * rows ..] of X's plane, `width` elements of each, whose weights
 * are from p * rows * width on. */
typedef struct row_table {
    int64_t offsets[BLOCK * MOST_ROWS];
    float weights[BLOCK * MOST_ROWS * 4];
} row_table;

/* Position at[i] of the block reads the elements first[i] .. first[i + 1] - 1. */
typedef struct list_table {
    uint32_t count, at[BLOCK], first[BLOCK + 1];
    int64_t offsets[LIST];
    float weights[LIST];
} list_table;

typedef struct position_table {
    uint32_t count, rows, width; /* of the rows of a position; none: all have lists */
    row_table regular;
    list_table others;
} position_table;

/* ----------------------------------------------------------------------------------------------
 * positions */

/* The neighbours along an axis, from the first one on. */
typedef struct axis_span {
    int64_t first;
    double weights[4];
} axis_span;

/* False where not all of them are inside, or one has no weight. */
static inline bool find_span(const tn_grid_sample_params *params, double position, int64_t extent,
                             axis_span *out_span) {
    const double at = tn_grid_element(params, position, extent), length = (double)extent;
    if (params->mode == GRID_NEAREST) {
        const double magic = 0x1.8p52; /* added, it rounds to an integer */
        const double nearest = (at + magic) - magic;
        if (!(nearest >= 0 && nearest < length)) return false;
        *out_span = (axis_span){.first = (int64_t)nearest, .weights = {1}};
        return true;
    }
    const bool is_cubic = params->mode == GRID_CUBIC;
    if (!(at > (is_cubic ? 1 : 0) && at < length - (is_cubic ? 2 : 1))) return false;
    const int64_t below = (int64_t)at;
    const double share = at - (double)below;
    double *weights = out_span->weights;
    if (is_cubic) {
        out_span->first = below - 1;
        tn_grid_cubic_weights(share, weights);
        return weights[0] * weights[1] * weights[2] * weights[3] != 0;
    }
    out_span->first = below;
    weights[0] = 1 - share;
    weights[1] = share;
    return share != 0;
}

/* Position p, whose neighbours are all inside: a row for each combination of the axes before the
 * last one. */
static inline void add_rows(const tn_grid_job *job, const axis_span *spans, uint32_t p,
                            position_table *table) {
    const int64_t *extents = job->call->inputs[GRID_X]->shape + 2;
    const uint32_t last = job->axes - 1, bits = table->width / 2; /* of an axis: 0, 1 or 2 */
    for (uint32_t r = 0; r < table->rows; r++) {
        int64_t at = 0;
        double weight = 1;
        for (uint32_t axis = 0; axis < last; axis++) {
            const uint32_t tap = r >> bits * (last - 1 - axis) & (table->width - 1);
            at = at * extents[axis] + spans[axis].first + tap;
            weight *= spans[axis].weights[tap];
        }
        const uint32_t row = p * table->rows + r;
        table->regular.offsets[row] = at * extents[last] + spans[last].first;
        for (uint32_t k = 0; k < table->width; k++)
            table->regular.weights[row * table->width + k] =
                (float)(weight * spans[last].weights[k]);
    }
}

/* Position p by a list: all combinations of its taps that are inside and count. */
static void add_list(const tn_grid_job *job, const double *positions, uint32_t p,
                     list_table *table) {
    const tn_tensor *x = job->call->inputs[GRID_X];
    tn_grid_taps taps[MOST_AXES];
    uint32_t count = table->first[table->count], all = 1;
    for (uint32_t axis = 0; axis < job->axes; axis++) {
        taps[axis] = tn_grid_taps_find(job->call->params, positions[axis], x->shape[2 + axis]);
        all *= taps[axis].count;
    }
    for (uint32_t i = 0; i < all; i++) {
        uint32_t rest = i;
        int64_t at = 0, stride = 1;
        double weight = 1;
        for (uint32_t axis = job->axes; axis-- > 0; rest /= taps[axis].count) {
            const uint32_t tap = rest % taps[axis].count;
            at = at < 0 || taps[axis].index[tap] < 0 ? -1 : at + taps[axis].index[tap] * stride;
            weight *= taps[axis].weight[tap];
            stride *= x->shape[2 + axis];
        }
        if (at < 0 || weight == 0) continue;
        table->offsets[count] = at;
        table->weights[count++] = (float)weight;
    }
    table->at[table->count++] = p;
    table->first[table->count] = count;
}

/* The positions from item number `first` on. */
static void find_positions(const tn_grid_job *job, int64_t first, uint32_t count,
                           position_table *table) {
    const tn_tensor *x = job->call->inputs[GRID_X], *grid = job->call->inputs[GRID_GRID];
    const float *floats = grid->type == TN_F32 ? grid->data : NULL;
    table->count = count;
    table->others.count = 0;
    table->others.first[0] = 0;
    for (uint32_t p = 0; p < count; p++) {
        double positions[MOST_AXES];
        axis_span spans[MOST_AXES];
        bool is_regular = table->rows > 0;
        for (uint32_t axis = 0; axis < job->axes; axis++) { /* the grid names the last one first */
            const int64_t at = (first + p + 1) * job->axes - 1 - axis;
            positions[axis] = floats ? (double)floats[at] : tn_element_f64(grid, at);
            is_regular = is_regular && find_span(job->call->params, positions[axis],
                                                 x->shape[2 + axis], &spans[axis]);
        }
        if (is_regular)
            add_rows(job, spans, p, table);
        else
            add_list(job, positions, p, &table->others);
    }
}

/* ----------------------------------------------------------------------------------------------
 * planes */

typedef float four_floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef float two_floats __attribute__((vector_size(8), aligned(4), may_alias));
typedef float four_sums __attribute__((vector_size(16)));

/* A position's neighbours times their weights, in four sums. */
static inline four_sums read_position(const int rows, const int width, const float *x,
                                      const int64_t *offsets, const float *weights) {
    four_sums sum = {0};
    for (int r = 0; r < rows && width == 4; r++)
        sum += *(const four_floats *)(x + offsets[r]) * *(const four_floats *)(weights + 4 * r);
    for (int r = 0; r < rows && width == 2; r += 2) {
        const two_floats low = *(const two_floats *)(x + offsets[r]),
                         high = *(const two_floats *)(x + offsets[r + 1]);
        sum += __builtin_shufflevector(low, high, 0, 1, 2, 3) *
               *(const four_floats *)(weights + 2 * r);
    }
    return sum;
}

/* The sums of neighbours: (a0 + a1, a2 + a3, b0 + b1, b2 + b3). */
static inline four_sums add_pairs(four_sums a, four_sums b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

static inline void sample_rows(const int rows, const int width, const position_table *table,
                               const float *x, float *y) {
    const int64_t *offsets = table->regular.offsets;
    const float *weights = table->regular.weights;
    for (uint32_t p = 0; p < table->count; p += 4) {
        four_sums sums[4];
        for (int i = 0; i < 4; i++, offsets += rows, weights += rows * width)
            sums[i] = read_position(rows, width, x, offsets, weights);
        const four_sums result =
            add_pairs(add_pairs(sums[0], sums[1]), add_pairs(sums[2], sums[3]));
        const uint32_t left = table->count - p;
        memcpy(y + p, &result, left < 4 ? left * sizeof(float) : sizeof(result));
    }
}

static void sample_lists(const list_table *table, const float *x, float *y) {
    for (uint32_t i = 0; i < table->count; i++) {
        float sum = 0;
        for (uint32_t k = table->first[i]; k < table->first[i + 1]; k++)
            sum += table->weights[k] * x[table->offsets[k]];
        y[table->at[i]] = sum;
    }
}

static void sample_plane(const position_table *table, const float *x, float *y) {
    const bool is_any = table->others.count < table->count;
    if (is_any && table->width == 1)
        for (uint32_t p = 0; p < table->count; p++)
            y[p] = x[table->regular.offsets[p]];
    else if (is_any && table->width == 4)
        sample_rows(4, 4, table, x, y);
    else if (is_any && table->rows == 4)
        sample_rows(4, 2, table, x, y);
    else if (is_any)
        sample_rows(2, 2, table, x, y);
    sample_lists(&table->others, x, y);
}

/* ----------------------------------------------------------------------------------------------
 * the kernel */

/* Rows of a position, and of how many elements; 0 where lists are all there is. Those that are read
 * at offset 0 for the others have to be inside as well. */
static void read_rows(const tn_grid_job *job, position_table *table) {
    const uint32_t mode = ((const tn_grid_sample_params *)job->call->params)->mode;
    const uint32_t axes = job->axes;
    table->width = mode == GRID_NEAREST ? 1 : mode == GRID_LINEAR ? 2 : 4;
    table->rows = mode == GRID_NEAREST               ? 1
                  : mode == GRID_LINEAR && axes == 3 ? 4
                  : axes == 2                        ? table->width
                                                     : 0;
    if (job->plane < table->width) table->rows = 0;
}

/* Positions of a block, whose lists then fit. */
static int64_t block_of(uint32_t width, uint32_t axes) {
    int64_t taps = 1;
    for (uint32_t axis = 0; axis < axes; axis++)
        taps *= width;
    return LIST / taps < BLOCK ? LIST / taps : BLOCK;
}

/* An item is a position of an image. */
static tn_status sample_tables(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_grid_job *job = user;
    const tn_tensor *x = job->call->inputs[GRID_X];
    position_table table;
    (void)thread;
    read_rows(job, &table);
    memset(table.regular.offsets, 0, sizeof(table.regular.offsets));
    memset(table.regular.weights, 0, sizeof(table.regular.weights));
    const int64_t most = block_of(table.width, job->axes);
    for (int64_t first = begin; first < end;) {
        const int64_t image = first / job->positions, position = first % job->positions;
        int64_t count = end - first < most ? end - first : most;
        if (count > job->positions - position) count = job->positions - position;
        find_positions(job, first, (uint32_t)count, &table);
        for (int64_t c = image * x->shape[1]; c < (image + 1) * x->shape[1]; c++)
            sample_plane(&table, (const float *)x->data + c * job->plane,
                         (float *)job->call->outputs[0]->data + c * job->positions + position);
        first += count;
    }
    return TN_OK;
}

static tn_status grid_sample_run(tn_call *call) {
    enum { GRAIN = 16384, POSITION = 32 }; /* finding one is as much as so many elements */
    tn_grid_job job = tn_grid_job_read(call);
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    const bool has_table =
        call->inputs[GRID_X]->type == TN_F32 && job.axes <= MOST_AXES && job.plane > 0;
    const int64_t each = POSITION + 4 * call->inputs[GRID_X]->shape[1];
    return call->host->parallel_for(call, call->outputs[0]->shape[0] * job.positions,
                                    tn_parallel_grain(GRAIN, each),
                                    has_table ? sample_tables : tn_grid_positions_do, &job);
}

const tn_kernel tn_grid_positions = {
    TN_KERNEL_BEGIN("cpu", "", "GridSample", "positions", 2,
                    "Positions on all threads, found once for all channels."),
    .traits = TN_KERNEL_DETERMINISTIC, .run = grid_sample_run};
