/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GridSample: samples of each image at the positions that a grid names, in -1..1 from the first to
 * the last element of each spatial axis, between elements by interpolation (Jaderberg et al.,
 * "Spatial Transformer Networks", 2015; the cubic one by Keys' kernel with -3/4). The grid names
 * the last axis first.
 */
#include "grid_sample/fields.h"
#include "kit/operator/layer.h"

#include <math.h>

enum { GRID_X = 0, GRID_GRID = 1 };
enum { GRID_LINEAR = 0, GRID_NEAREST = 1, GRID_CUBIC = 2 };
enum { GRID_ZEROS = 0, GRID_BORDER = 1, GRID_REFLECTION = 2 };
enum { GRID_MOST_AXES = TN_MAX_RANK - 2, GRID_MOST_TAPS = 4 };

static tn_status grid_sample_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_infer_require_rank(call, GRID_X, 3, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[GRID_X];
    TN_TRY(tn_infer_require_rank(call, GRID_GRID, x->rank, x->rank));
    const tn_tensor *grid = call->inputs[GRID_GRID];
    if (grid->shape[0] != x->shape[0] || grid->shape[x->rank - 1] != (int64_t)x->rank - 2)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "the grid must be [%lld, positions, %u]: a number for each spatial "
                                "axis",
                                (long long)x->shape[0], x->rank - 2);
    shape[0] = x->shape[0];
    shape[1] = x->shape[1];
    for (uint32_t i = 2; i < x->rank; i++)
        shape[i] = grid->shape[i - 1];
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

/* The elements of one axis that a sample is made of; -1: outside. */
typedef struct axis_taps {
    uint32_t count;
    int64_t index[GRID_MOST_TAPS];
    double weight[GRID_MOST_TAPS];
} axis_taps;

static int64_t reflect(int64_t index, int64_t extent, bool align_corners) {
    const int64_t period = align_corners ? 2 * (extent - 1) : 2 * extent;
    if (period == 0) return 0;
    index %= period;
    if (index < 0) index += period;
    if (index < extent) return index;
    return align_corners ? period - index : period - 1 - index;
}

static int64_t find_element(const tn_grid_sample_params *params, int64_t index, int64_t extent) {
    if (index >= 0 && index < extent) return index;
    if (params->padding_mode == GRID_BORDER) return index < 0 ? 0 : extent - 1;
    if (params->padding_mode == GRID_REFLECTION)
        return reflect(index, extent, params->align_corners);
    return -1;
}

/* Weights of four neighbours for a position `t` behind the second of them. */
static void cubic_weights(double t, double *out_weights) {
    const double a = -0.75;
    for (int i = 0; i < 4; i++) {
        const double d = fabs(t + 1 - i);
        out_weights[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
                                : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

static axis_taps find_taps(const tn_grid_sample_params *params, double position, int64_t extent) {
    const double length = (double)extent, far = 1e15; /* beyond it positions are all the same */
    axis_taps taps;
    double at = params->align_corners ? (position + 1) / 2 * (length - 1)
                                      : ((position + 1) * length - 1) / 2;
    at = !(at > -far) ? -far : at > far ? far : at; /* NaN: outside */
    int64_t first = (int64_t)at;
    if (params->mode == GRID_NEAREST)
        first = (int64_t)nearbyint(at);
    else if ((double)first > at)
        first--; /* floor */
    const double below = (double)first;
    taps.count = 1;
    taps.weight[0] = 1;
    if (params->mode == GRID_LINEAR) {
        taps.count = 2;
        taps.weight[1] = at - below;
        taps.weight[0] = 1 - taps.weight[1];
    } else if (params->mode == GRID_CUBIC) {
        taps.count = 4;
        cubic_weights(at - below, taps.weight);
        first--;
    }
    for (uint32_t i = 0; i < taps.count; i++)
        taps.index[i] = find_element(params, first + (int64_t)i, extent);
    return taps;
}

typedef struct sample_job {
    const tn_call *call;
    uint32_t axes;
    int64_t positions, plane; /* elements of a channel of the output, and of X */
} sample_job;

/* The sum over all combinations of taps, in the plane that begins at `first`. */
static double sum_taps(const sample_job *job, const axis_taps *taps, int64_t first) {
    const tn_tensor *x = job->call->inputs[GRID_X];
    uint32_t chosen[GRID_MOST_AXES] = {0}, axis;
    double sum = 0;
    do {
        double weight = 1;
        int64_t at = 0;
        for (axis = 0; axis < job->axes && at >= 0; axis++) {
            const int64_t index = taps[axis].index[chosen[axis]];
            weight *= taps[axis].weight[chosen[axis]];
            at = index < 0 ? -1 : at * x->shape[2 + axis] + index;
        }
        if (at >= 0 && weight != 0) sum += weight * tn_element_f64(x, first + at);
        for (axis = job->axes; axis-- > 0;) {
            if (++chosen[axis] < taps[axis].count) break;
            chosen[axis] = 0;
        }
    } while (axis < job->axes);
    return sum;
}

/* An item is a position of an image. */
static tn_status sample_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const sample_job *job = user;
    const tn_call *call = job->call;
    const tn_tensor *x = call->inputs[GRID_X], *grid = call->inputs[GRID_GRID];
    const tn_tensor *y = call->outputs[0];
    axis_taps taps[GRID_MOST_AXES];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t image = item / job->positions, position = item % job->positions;
        for (uint32_t axis = 0; axis < job->axes; axis++)
            taps[axis] =
                find_taps(call->params, tn_element_f64(grid, (item + 1) * job->axes - 1 - axis),
                          x->shape[2 + axis]);
        for (int64_t c = image * x->shape[1]; c < (image + 1) * x->shape[1]; c++)
            tn_element_set_f64(y, c * job->positions + position,
                               job->plane ? sum_taps(job, taps, c * job->plane) : 0);
    }
    return TN_OK;
}

static sample_job read_job(const tn_call *call) {
    const tn_tensor *x = call->inputs[GRID_X], *y = call->outputs[0];
    return (sample_job){.call = call,
                        .axes = x->rank - 2,
                        .positions = tn_infer_product(y->shape, 2, y->rank),
                        .plane = tn_infer_product(x->shape, 2, x->rank)};
}

/* ----------------------------------------------------------------------------------------------
 * the kernel of 32-bit images: what some positions read, and the weights, are found once for all
 * channels */

enum { GRID_TABLE = 512, GRID_TABLE_AXES = 3 }; /* taps; axes whose taps fit: 4^3 */

typedef struct tap_table {
    uint32_t positions, first[GRID_TABLE + 1]; /* taps first[p] .. first[p + 1] - 1 */
    int64_t offsets[GRID_TABLE];               /* in a plane of X */
    float weights[GRID_TABLE];
} tap_table;

/* The combinations of two taps of rows and two of columns. */
static void add_corners(const axis_taps *taps, int64_t width, tap_table *table) {
    uint32_t count = table->first[table->positions];
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++) {
            const double weight = taps[0].weight[row] * taps[1].weight[column];
            if (taps[0].index[row] < 0 || taps[1].index[column] < 0 || weight == 0) continue;
            table->offsets[count] = taps[0].index[row] * width + taps[1].index[column];
            table->weights[count++] = (float)weight;
        }
    table->first[++table->positions] = count;
}

/* Adds a position: all combinations of its taps that are inside and count. */
static void add_position(const sample_job *job, const axis_taps *taps, tap_table *table) {
    const tn_tensor *x = job->call->inputs[GRID_X];
    uint32_t count = table->first[table->positions], all = 1;
    for (uint32_t axis = 0; axis < job->axes; axis++)
        all *= taps[axis].count;
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
    table->first[++table->positions] = count;
}

static void sample_plane(const tap_table *table, const float *x, float *y) {
    for (uint32_t p = 0; p < table->positions; p++) {
        const uint32_t first = table->first[p], count = table->first[p + 1] - first;
        const int64_t *offsets = table->offsets + first;
        const float *weights = table->weights + first;
        float sum = 0;
        if (count == 4) { /* most positions between the elements of an image */
            sum = (weights[0] * x[offsets[0]] + weights[1] * x[offsets[1]]) +
                  (weights[2] * x[offsets[2]] + weights[3] * x[offsets[3]]);
        } else {
            for (uint32_t i = 0; i < count; i++)
                sum += weights[i] * x[offsets[i]];
        }
        y[p] = sum;
    }
}

/* An item is a position of an image. */
static tn_status sample_tables(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const sample_job *job = user;
    const tn_tensor *x = job->call->inputs[GRID_X], *grid = job->call->inputs[GRID_GRID];
    const int64_t most = GRID_TABLE >> 2 * job->axes;
    (void)thread;
    for (int64_t first = begin; first < end;) {
        const int64_t image = first / job->positions, position = first % job->positions;
        int64_t count = end - first < most ? end - first : most;
        if (count > job->positions - position) count = job->positions - position;
        tap_table table = {.positions = 0};
        for (int64_t item = first; item < first + count; item++) {
            axis_taps taps[GRID_MOST_AXES];
            for (uint32_t axis = 0; axis < job->axes; axis++)
                taps[axis] = find_taps(job->call->params,
                                       tn_element_f64(grid, (item + 1) * job->axes - 1 - axis),
                                       x->shape[2 + axis]);
            if (job->axes == 2 && taps[0].count == 2)
                add_corners(taps, x->shape[3], &table);
            else
                add_position(job, taps, &table);
        }
        for (int64_t c = image * x->shape[1]; c < (image + 1) * x->shape[1]; c++)
            sample_plane(&table, (const float *)x->data + c * job->plane,
                         (float *)job->call->outputs[0]->data + c * job->positions + position);
        first += count;
    }
    return TN_OK;
}

static tn_status grid_sample_reference(tn_call *call) {
    sample_job job = read_job(call);
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return sample_range(&job, 0, call->outputs[0]->shape[0] * job.positions, 0);
}

static tn_status grid_sample_run(tn_call *call) {
    enum { GRAIN = 64 };
    sample_job job = read_job(call);
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    const bool has_table =
        call->inputs[GRID_X]->type == TN_F32 && job.axes <= GRID_TABLE_AXES && job.plane > 0;
    return call->host->parallel_for(call, call->outputs[0]->shape[0] * job.positions, GRAIN,
                                    has_table ? sample_tables : sample_range, &job);
}

static const tn_port grid_sample_inputs[] = {
    TN_PORT("X", "T:number", 0, "batch, channels, spatial axes"),
    TN_PORT("grid", "float", 0,
            "batch, positions, a number for each spatial axis, the last one first"),
};
static const tn_port grid_sample_outputs[] = {TN_PORT("Y", "T", 0, "batch, channels, positions")};
#define CASES(linear, cubic)                                                                       \
    "| X=f32[2,3,4,5] grid=f32[2,6,7,2]",                                                          \
        "mode=" cubic " padding_mode=border | X=f32[1,2,4,5] grid=f32[1,3,3,2]",                   \
        "mode=nearest padding_mode=reflection | X=f32[1,2,4,5] grid=f32[1,2,2,2]"                  \
        "{-3,2,0.1,0.9,-1,1,1.5,-1.5}",                                                            \
        "mode=" linear " align_corners=1 padding_mode=reflection | X=f64[1,1,3,1] "                \
        "grid=f64[1,2,2,2]{-3,2,0.1,0.9,-1,1,1.5,-1.5}",                                           \
        "| X=f32[1,1,2,2] grid=f32[1,1,3,2]{nan,0,inf,0,0,-1e30}",                                 \
        "| X=f32[2,3,9,9] grid=f32[2,13,11,2]", "| X=f16[1,2,3,3] grid=f32[1,2,2,2]",              \
        "| X=f32[0,3,4,5] grid=f32[0,6,7,2]", "| X=f32[1,64,28,28] grid=f32[1,28,28,2]"
static const char *const grid_sample_16_cases[] = {CASES("bilinear", "bicubic")};
static const char *const grid_sample_20_cases[] = {
    CASES("linear", "cubic"),
    "mode=cubic align_corners=1 | X=f32[1,2,3,4,5] grid=f32[1,2,2,3,3]",
    "| X=f32[2,2,7] grid=f32[2,3,1]",
};

#define GRID_SAMPLE(version)                                                                       \
    TN_OPERATOR_VERSION(grid_sample, "", "GridSample", version,                                    \
                        "Samples of images at the positions of a grid.",                           \
                        TN_FIELDS(tn_grid_sample_params, grid_sample_##version##_fields),          \
                        TN_INPUTS(grid_sample_inputs), TN_OUTPUTS(grid_sample_outputs),            \
                        TN_CASES(grid_sample_##version##_cases))
GRID_SAMPLE(16);
GRID_SAMPLE(20);

TN_CPU_KERNEL(grid_sample_positions, "", "GridSample", "positions",
              "Positions on all threads, found once for all channels.", .run = grid_sample_run);

TN_LAYER(grid_sample, TN_OPERATORS(&grid_sample_16, &grid_sample_20),
         TN_KERNELS(&grid_sample_positions));
