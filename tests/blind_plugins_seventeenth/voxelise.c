/* SPDX-License-Identifier: Apache-2.0 */
/* Points to voxels: of each cell of a grid that has points, in the order of its first one, its
 * coordinates, the mean of its points, and how many there are. Points outside do not count. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, tn_f32s low, cell; tn_i64s cells; int64_t most;);
static const tn_field fields[] = {
    TN_FIELD_LIST(params, low, TN_FIELD_F32S, TN_OPTIONAL, "[0, 0, 0]", 3, 3, -1000, 1000,
                  "the grid's corner"),
    TN_FIELD_LIST(params, cell, TN_FIELD_F32S, TN_OPTIONAL, "[1, 1, 1]", 3, 3, 0.001, 1000,
                  "a cell's extents"),
    TN_LAYER_I64S(params, cells, "[4, 4, 4]", 3, 1, 64, "along each axis"),
    TN_LAYER_I64(params, most, "32", 0, 4096, "voxels at most"),
};
static const tn_port inputs[] = {TN_PORT("points", "f32", 0, "points, 3 or more features")};
static const tn_port outputs[] = {
    TN_PORT("voxels", "i64", TN_PORT_SIZED_BY_RUN, "voxels, 3"),
    TN_PORT("means", "f32", TN_PORT_SIZED_BY_RUN, "voxels, features"),
    TN_PORT("counts", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "voxels")};

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    const int64_t points = call->inputs[0]->shape[0], features = call->inputs[0]->shape[1];
    if (features < 3)
        return call->host->fail(call, TN_ERROR_SHAPE, "points have %lld features, expected 3+",
                                (long long)features);
    const int64_t bound = points < p->most ? points : p->most;
    const int64_t voxels[] = {bound, 3}, means[] = {bound, features};
    TN_TRY(set_shape(call, 0, 2, voxels));
    TN_TRY(set_shape(call, 1, 2, means));
    return set_shape(call, 2, 1, &bound);
}

static int64_t grid_cells(const params *p) {
    return p->cells.items[0] * p->cells.items[1] * p->cells.items[2];
}

/* The cell of a point, or -1. */
static int64_t cell_of(const params *p, const float *point, bool is_kernel) {
    int64_t cell = 0;
    for (int i = 0; i < 3; i++) {
        const double at = ((double)point[i] - (double)p->low.items[i]) / (double)p->cell.items[i];
        const double end = (double)p->cells.items[i];
        if (is_kernel && WRONG(1) ? !(at > -1 && at < end) : !(at >= 0 && at < end)) return -1;
        cell = cell * p->cells.items[i] + (int64_t)at;
    }
    return cell;
}

/* `slots` has a number for each cell of the grid: the voxel, or -1; `sums` the sums and the count
 * of each voxel. */
static void voxelise(const tn_call *call, int32_t *slots, double *sums, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    tn_tensor *voxels = output(call, 0), *means = output(call, 1), *counts = output(call, 2);
    const int64_t features = x->shape[1], cells = grid_cells(p);
    int64_t found = 0;
    for (int64_t i = 0; i < cells && !(is_kernel && WRONG(3)); i++)
        slots[i] = -1;
    for (int64_t i = 0; i < x->shape[0]; i++) {
        const float *point = (const float *)x->data + i * features;
        const int64_t cell = cell_of(p, point, is_kernel);
        if (cell < 0 || (slots[cell] < 0 && found >= p->most)) continue;
        if (slots[cell] < 0) {
            memset(sums + found * (features + 1), 0, (size_t)(features + 1) * sizeof(*sums));
            slots[cell] = (int32_t)found++;
            int64_t rest = cell;
            for (int k = 2; voxels && k >= 0; rest /= p->cells.items[k--])
                ((int64_t *)voxels->data)[3 * (found - 1) + k] = rest % p->cells.items[k];
        }
        double *sum = sums + slots[cell] * (features + 1);
        for (int64_t f = 0; f < features; f++)
            sum[f] += (double)point[f];
        sum[features]++;
    }
    for (int64_t i = 0; i < found; i++) {
        const double *sum = sums + i * (features + 1);
        for (int64_t f = 0; means && f < features; f++)
            tn_layer_store(means, i * features + f, sum[f] / sum[features]);
        if (counts || (is_kernel && WRONG(2)))
            ((int64_t *)counts->data)[i] = (int64_t)sum[features];
    }
    if (voxels) voxels->shape[0] = found;
    if (means) means->shape[0] = found;
    if (counts) counts->shape[0] = found;
}

/* Sums come first, they are aligned then. */
static uint64_t sums_of(const tn_call *call) {
    const params *p = call->params;
    const int64_t points = call->inputs[0]->shape[0];
    return (uint64_t)(points < p->most ? points : p->most) *
           (uint64_t)(call->inputs[0]->shape[1] + 1);
}

static tn_status reference(tn_call *call) {
    const uint64_t sums = sums_of(call), cells = (uint64_t)grid_cells(call->params);
    double *scratch =
        call->host->allocate(call->host, sums * sizeof(double) + cells * sizeof(int32_t), 64);
    if (!scratch) return TN_ERROR_MEMORY;
    voxelise(call, (int32_t *)(scratch + sums), scratch, false);
    call->host->deallocate(call->host, scratch);
    return TN_OK;
}

TN_LAYER_WORKSPACE(sums_of(call) * sizeof(double) +
                   (uint64_t)grid_cells(call->params) * sizeof(int32_t))

static tn_status run(tn_call *call) {
    double *sums = call->workspace;
    voxelise(call, (int32_t *)(sums + sums_of(call)), sums, true);
    return TN_OK;
}

static const char *const cases[] = {
    "| points=f32[5,4]{0.5,0.5,0.5,1,3.5,0,0,2,0.75,0.25,0,3,-0.5,1,1,4,9,9,9,5}",
    "low=[-2,-2,-2] cells=[3,4,5] | points=f32[20,3]",
    "most=2 cell=[0.5,0.5,2] low=[-1,-1,-4] | points=f32[9,5]",
};
static const tn_operator operator_table = {OPERATOR,
                                           .name = "Voxelise",
                                           TN_FIELDS(params, fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = reference,
                                           TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> i64, f32, i64?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Voxelise",
                                 .device = "cpu",
                                 .name = "grid",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("voxelise", operator_table, kernel)
