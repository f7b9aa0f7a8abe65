/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AffineGrid: for each position of an image of a given size the position that an affine map theta
 * leads to, in -1..1 from the first to the last element of each axis, the last axis first: a grid
 * for GridSample (Jaderberg et al., "Spatial Transformer Networks", 2015).
 */
#include "affine_grid/fields.h"
#include "kit/operator/layer.h"

enum { THETA = 0, SIZE = 1, MOST_AXES = 3 };

static tn_status affine_grid_infer(tn_call *call) {
    int64_t size[TN_MAX_RANK], shape[TN_MAX_RANK];
    uint32_t count = 0;
    TN_TRY(tn_infer_require_rank(call, THETA, 3, 3));
    TN_TRY(tn_infer_integers(call, SIZE, TN_MAX_RANK, size, &count));
    if (count != 4 && count != 5)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'size' must be batch, channels and 2 or 3 spatial extents");
    const uint32_t axes = count - 2;
    const int64_t *theta = call->inputs[THETA]->shape;
    if (theta[0] != size[0] || theta[1] != axes || theta[2] != axes + 1)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'theta' must be [%lld, %u, %u] for this size",
                                (long long)size[0], axes, axes + 1);
    shape[0] = size[0];
    for (uint32_t i = 0; i < axes; i++)
        shape[1 + i] = size[2 + i];
    shape[1 + axes] = axes;
    return tn_infer_set_shape(call, 0, axes + 2, shape);
}

/* Position `index` of an axis, in -1..1. */
static double normalized(int64_t index, int64_t extent, bool align_corners) {
    if (!align_corners) return (double)(2 * index + 1) / (double)extent - 1;
    return extent == 1 ? 0 : (double)(2 * index) / (double)(extent - 1) - 1;
}

/* An item is a position of an image. */
static tn_status do_positions(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_affine_grid_params *params = call->params;
    const tn_tensor *theta = call->inputs[THETA], *grid = call->outputs[0];
    const uint32_t axes = grid->rank - 2;
    const int64_t positions = tn_infer_product(grid->shape, 1, grid->rank - 1);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        double at[MOST_AXES + 1];
        int64_t rest = item % positions;
        for (uint32_t i = axes; i-- > 0; rest /= grid->shape[1 + i])
            at[axes - 1 - i] =
                normalized(rest % grid->shape[1 + i], grid->shape[1 + i], params->align_corners);
        at[axes] = 1;
        for (uint32_t row = 0; row < axes; row++) {
            const int64_t first = (item / positions * axes + row) * (axes + 1);
            double sum = 0;
            for (uint32_t k = 0; k <= axes; k++)
                sum += at[k] * tn_element_f64(theta, first + k);
            tn_element_set_f64(grid, item * axes + row, sum);
        }
    }
    return TN_OK;
}

static int64_t item_count(const tn_call *call) {
    const tn_tensor *grid = call->outputs[0];
    return tn_element_count(grid) / (grid->rank - 2);
}

static tn_status affine_grid_reference(tn_call *call) {
    return do_positions(call, 0, item_count(call), 0);
}

static tn_status affine_grid_run(tn_call *call) {
    enum { GRAIN = 1024 };
    if (item_count(call) == 0) return TN_OK;
    return call->host->parallel_for(call, item_count(call), GRAIN, do_positions, call);
}

static const tn_port affine_grid_inputs[] = {
    TN_PORT("theta", "T1:float", 0, "an affine map for each image, [batch, axes, axes + 1]"),
    TN_PORT("size", "i64", TN_PORT_VALUE_NEEDED, "batch, channels, spatial extents"),
};
static const tn_port affine_grid_outputs[] = {
    TN_PORT("grid", "T1", 0, "batch, spatial axes, a position with the last axis first"),
};
static const char *const affine_grid_cases[] = {
    "| theta=f32[2,2,3] size=i64[4]{2,3,5,6}",
    "align_corners=1 | theta=f32[1,2,3] size=i64[4]{1,1,1,4}",
    "| theta=f64[1,3,4] size=i64[5]{1,2,3,4,5}",
    "align_corners=1 | theta=f16[1,3,4] size=i64[5]{1,2,2,2,3}",
    "| theta=bf16[1,2,3] size=i64[4]{1,1,2,2}",
    "| theta=f32[0,2,3] size=i64[4]{0,3,5,6}",
    "| theta=f32[2,2,3] size=i64[4]{2,3,0,6}",
    ("| theta=f64[1,2,3]{1,0,0.5,0,2,0} size=i64[4]{1,1,1,2}"
     " | grid=f64[1,1,2,2]{0,0,1,0}"),
    "| theta=f32[4,2,3] size=i64[4]{4,3,32,32}",
};

TN_OPERATOR(affine_grid, "", "AffineGrid", 20, "Grids of affine maps.",
            TN_FIELDS(tn_affine_grid_params, affine_grid_fields));

TN_CPU_KERNEL(affine_grid_positions, "", "AffineGrid", "positions",
              "Positions on all threads, in double precision.", .run = affine_grid_run);

TN_LAYER(affine_grid, TN_OPERATORS(&affine_grid_20), TN_KERNELS(&affine_grid_positions));
