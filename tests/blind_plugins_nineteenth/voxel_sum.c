/* SPDX-License-Identifier: Apache-2.0 */
/* Points with features, summed by the voxel of a grid that they lie in; those outside are left
 * out. */
#include "nineteenth.h"

TN_LAYER_PARAMS(params, tn_i64s grid;);
static const tn_field fields[] = {TN_LAYER_I64S(params, grid, "[4, 3, 5]", 3, 1, 1024, "extents")};
static const tn_port inputs[] = {TN_PORT("points", "f32", 0, "N, 3: in voxels"),
                                 TN_PORT("features", "f32", 0, "N, C")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "C, and the grid")};

static tn_status infer(tn_call *call) {
    const int64_t *grid = ((const params *)call->params)->grid.items;
    if (!TN_LAYER_FITS(call, 0, -1, 3) || !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], -1))
        return TN_ERROR_SHAPE;
    int64_t elements = 0;
    TN_TRY(multiply(call, grid[0] * grid[1] * grid[2] * 4, call->inputs[1]->shape[1], &elements));
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[1]->shape[1], grid[0], grid[1], grid[2]);
}
/* The voxel of a point, -1: outside. */
static int64_t voxel_of(const tn_call *call, int64_t point) {
    const int64_t *grid = ((const params *)call->params)->grid.items;
    const float *at = (const float *)call->inputs[0]->data + point * 3;
    int64_t voxel = 0;
    for (int i = 0; i < 3; i++) {
        if (!(at[i] >= 0 && at[i] < (float)grid[i])) return -1;
        voxel = voxel * grid[i] + (int64_t)at[i];
    }
    return voxel;
}
static int64_t voxel_by_cast(const tn_call *call, int64_t point) {
    const int64_t *grid = ((const params *)call->params)->grid.items;
    const float *at = (const float *)call->inputs[0]->data + point * 3;
    int64_t voxel = 0;
    for (int i = 0; i < 3; i++) {
        const int32_t whole = (int32_t)at[i]; /* towards 0 */
        if (WRONG(3) ? whole < 0 || whole >= grid[i] : at[i] < 0 || at[i] >= (float)grid[i])
            return -1;
        voxel = voxel * grid[i] + whole;
    }
    return voxel;
}
static tn_status reference(tn_call *call) {
    const int64_t n = call->inputs[0]->shape[0], channels = call->inputs[1]->shape[1];
    const int64_t voxels = channels > 0 ? tn_layer_count(call->outputs[0]) / channels : 0;
    double *sums = calloc((size_t)voxels + 1, sizeof(*sums));
    if (!sums) return TN_ERROR_MEMORY;
    for (int64_t c = 0; c < channels; c++) {
        memset(sums, 0, (size_t)voxels * sizeof(*sums));
        for (int64_t i = 0; i < n; i++)
            if (voxel_of(call, i) >= 0)
                sums[voxel_of(call, i)] += tn_layer_load(call->inputs[1], i * channels + c);
        for (int64_t v = 0; v < voxels; v++)
            tn_layer_store(call->outputs[0], c * voxels + v, sums[v]);
    }
    free(sums);
    return TN_OK;
}

/* Items are channels, or points where the author thought that these are more. */
static tn_status channels(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = call->inputs[0]->shape[0], count = call->inputs[1]->shape[1];
    const int64_t voxels = count > 0 ? tn_layer_count(call->outputs[0]) / count : 0;
    const float *from = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        if (!WRONG(5)) memset(y + c * voxels, 0, (size_t)voxels * sizeof(*y));
        for (int64_t i = 0; i < n; i++) {
            const int64_t voxel = WRONG(3) || WRONG(4) ? voxel_by_cast(call, i) : voxel_of(call, i);
            if (voxel != -1) y[c * voxels + voxel] += from[i * count + c];
        }
    }
    return TN_OK;
}
static tn_status points(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t count = call->inputs[1]->shape[1];
    const int64_t total = tn_layer_count(call->outputs[0]);
    float *sums = WRONG(2) ? (float *)call->workspace + thread * total : call->outputs[0]->data;
    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0, voxel = voxel_of(call, i); voxel >= 0 && c < count; c++)
            sums[c * (total / count) + voxel] +=
                ((const float *)call->inputs[1]->data)[i * count + c];
    return TN_OK;
}
TN_LAYER_WORKSPACE(WRONG(2) ? (uint64_t)tn_layer_count(call->outputs[0]) * 4 * call->threads : 0)
#if MISTAKE == 1 || MISTAKE == 2
static tn_status body(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return points(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    const int64_t total = tn_layer_count(call->outputs[0]);
    float *y = call->outputs[0]->data, *sums = call->workspace;
    memset(y, 0, (size_t)total * sizeof(*y));
    if (WRONG(2)) memset(sums, 0, (size_t)total * sizeof(*y) * call->threads);
    TN_TRY(call->host->parallel_for(call, call->inputs[0]->shape[0], 4, body, call));
    for (int64_t i = 0; WRONG(2) && i < total * call->threads; i++)
        y[i % total] += sums[i];
    return TN_OK;
}
#else
TN_LAYER_RUN(channels, call->inputs[1]->shape[1], 1)
#endif

static const char *const cases[] = {
    "grid=[2,2,2] | points=f32[7,3]{0,0,0,1.5,1.5,1.5,0.25,1.75,0,1,1,0,1,1,0.5,1.5,0.5,0,9,9,9} "
    "features=f32[7,3]",
    "grid=[1,1,2] | points=f32[40,3] features=f32[40,2]",
    "| points=f32[3,3]{3.5,2.5,4.5,-2,-3,-4,0,1,2} features=f32[3,4]"};
static const tn_operator voxel = {OPERATOR,
                                  .name = "VoxelSum",
                                  TN_FIELDS(params, fields),
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "VoxelSum",
                                 .name = "scatter",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("voxel_sum", voxel, kernel)
