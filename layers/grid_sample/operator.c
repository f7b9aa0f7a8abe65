/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GridSample: samples of each image at the positions that a grid names, in -1..1 from the first to
 * the last element of each spatial axis, between elements by interpolation (Jaderberg et al.,
 * "Spatial Transformer Networks", 2015; the cubic one by Keys' kernel with -3/4). The grid names
 * the last axis first.
 */
#include "grid_sample/grid_sample.h"

#include <math.h>

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

tn_grid_taps tn_grid_taps_find(const tn_grid_sample_params *params, double position,
                               int64_t extent) {
    const double far = 1e15; /* beyond it positions are all the same */
    tn_grid_taps taps;
    double at = tn_grid_element(params, position, extent);
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
        tn_grid_cubic_weights(at - below, taps.weight);
        first--;
    }
    for (uint32_t i = 0; i < taps.count; i++)
        taps.index[i] = find_element(params, first + (int64_t)i, extent);
    return taps;
}

/* The sum over all combinations of taps, in the plane that begins at `first`. */
static double sum_taps(const tn_grid_job *job, const tn_grid_taps *taps, int64_t first) {
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
tn_status tn_grid_positions_do(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_grid_job *job = user;
    const tn_call *call = job->call;
    const tn_tensor *x = call->inputs[GRID_X], *grid = call->inputs[GRID_GRID];
    const tn_tensor *y = call->outputs[0];
    tn_grid_taps taps[GRID_MOST_AXES];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t image = item / job->positions, position = item % job->positions;
        for (uint32_t axis = 0; axis < job->axes; axis++)
            taps[axis] = tn_grid_taps_find(call->params,
                                           tn_element_f64(grid, (item + 1) * job->axes - 1 - axis),
                                           x->shape[2 + axis]);
        for (int64_t c = image * x->shape[1]; c < (image + 1) * x->shape[1]; c++)
            tn_element_set_f64(y, c * job->positions + position,
                               job->plane ? sum_taps(job, taps, c * job->plane) : 0);
    }
    return TN_OK;
}

tn_grid_job tn_grid_job_read(const tn_call *call) {
    const tn_tensor *x = call->inputs[GRID_X], *y = call->outputs[0];
    return (tn_grid_job){.call = call,
                         .axes = x->rank - 2,
                         .positions = tn_infer_product(y->shape, 2, y->rank),
                         .plane = tn_infer_product(x->shape, 2, x->rank)};
}

static tn_status grid_sample_reference(tn_call *call) {
    tn_grid_job job = tn_grid_job_read(call);
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return tn_grid_positions_do(&job, 0, call->outputs[0]->shape[0] * job.positions, 0);
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
        "| X=f32[0,3,4,5] grid=f32[0,6,7,2]", "| X=f32[1,64,28,28] grid=f32[1,28,28,2]",           \
        "mode=" cubic " | X=f32[2,3,29,37] grid=f32[2,11,13,2]",                                   \
        "mode=nearest align_corners=1 | X=f32[2,3,29,37] grid=f64[2,11,13,2]",                     \
        "mode=" linear " padding_mode=border | X=f32[1,5,1,3] grid=f32[1,7,9,2]",                  \
        "mode=" linear " align_corners=1 | X=f32[1,2,3,5] grid=f32[1,2,3,2]"                       \
        "{-1,-1,0,-1,1,-1,-1,1,0.5,0,1,1}"
static const char *const grid_sample_16_cases[] = {CASES("bilinear", "bicubic")};
static const char *const grid_sample_20_cases[] = {
    CASES("linear", "cubic"),
    "mode=cubic align_corners=1 | X=f32[1,2,3,4,5] grid=f32[1,2,2,3,3]",
    "| X=f32[2,2,7] grid=f32[2,3,1]",
    "| X=f32[2,3,9,11,13] grid=f32[2,3,5,7,3]",
    "mode=nearest | X=f32[2,3,9,11,13] grid=f32[2,3,5,7,3]",
};

#define GRID_SAMPLE(version)                                                                       \
    TN_OPERATOR_VERSION(grid_sample, "", "GridSample", version,                                    \
                        "Samples of images at the positions of a grid.",                           \
                        TN_FIELDS(tn_grid_sample_params, grid_sample_##version##_fields),          \
                        TN_INPUTS(grid_sample_inputs), TN_OUTPUTS(grid_sample_outputs),            \
                        TN_CASES(grid_sample_##version##_cases))
GRID_SAMPLE(16);
GRID_SAMPLE(20);

TN_LAYER(grid_sample, TN_OPERATORS(&grid_sample_16, &grid_sample_20),
         TN_KERNELS(&tn_grid_positions));
