/* SPDX-License-Identifier: Apache-2.0 */
/* Transpose: a tensor with its axes in another order. */
#include "transpose/transpose.h"
#include "kit/operator/moves.h"
#include "kit/region/tiles.h"
#include <tenon/kit/open.h>

typedef struct transpose_params {
    uint64_t present;
    tn_i64s perm;
} transpose_params;

static const tn_field transpose_fields[] = {
    TN_FIELD(transpose_params, perm, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "axis of the input for each axis of the output; absent: the order reversed"),
};

static tn_status read_axes(tn_call *call, uint32_t *out_axes) {
    const transpose_params *params = call->params;
    const uint32_t rank = call->inputs[0]->rank;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < rank; i++)
        out_axes[i] = rank - 1 - i;
    if (!(params->present & 1)) return TN_OK;
    if (params->perm.count != rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field 'perm' has %llu axes, the input has rank %u",
                                (unsigned long long)params->perm.count, rank);
    TN_TRY(tn_infer_axes(call, "field 'perm'", rank, params->perm.items, rank, &mask));
    for (uint32_t i = 0; i < rank; i++)
        TN_TRY(tn_infer_axis(call, "field 'perm'", params->perm.items[i], rank, &out_axes[i]));
    return TN_OK;
}

static tn_status transpose_infer(tn_call *call) {
    uint32_t axes[TN_MAX_RANK];
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(read_axes(call, axes));
    const tn_tensor *data = call->inputs[0];
    for (uint32_t i = 0; i < data->rank; i++)
        shape[i] = data->shape[axes[i]];
    return tn_infer_set_shape(call, 0, data->rank, shape);
}

static tn_status transpose_is_identity(tn_call *call) {
    uint32_t axes[TN_MAX_RANK];
    TN_TRY(read_axes(call, axes));
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        if (axes[i] != i) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status read_region(tn_call *call, tn_region *out_region) {
    const tn_tensor *data = call->inputs[0], *output = call->outputs[0];
    uint32_t axes[TN_MAX_RANK];
    int64_t strides[TN_MAX_RANK];
    TN_TRY(read_axes(call, axes));
    tn_region_init(out_region, output->rank, output->shape, output->type);
    tn_region_strides(data->rank, data->shape, strides);
    for (uint32_t i = 0; i < data->rank; i++)
        out_region->from_strides[i] = strides[axes[i]];
    return TN_OK;
}

tn_status tn_transpose_move(tn_call *call, tn_region_mover mover) {
    tn_region region;
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    TN_TRY(read_region(call, &region));
    return mover(call, &region, call->outputs[0]->data, call->inputs[0]->data);
}

TN_MOVES(transpose, tn_transpose_move)

/* ----------------------------------------------------------------------------------------------
 * kernels: by runs, for any type and best where the last axis stays; and by tiles (tiles.h), where
 * the last axis goes elsewhere, one a processor level */

/* A copy as matrices: `columns` is the output's last axis, `rows` the axis that is the input's last
 * one; the other axes number the matrices. */
typedef struct tiles_job {
    tn_transpose_function function;
    tn_region outer;
    int64_t rows, columns, to_stride, from_stride, bytes; /* bytes of an element */
    int64_t band, bands, part, parts;                     /* of rows, and of their columns */
    const char *from;
    char *to;
} tiles_job;

/* Rows of a matrix that are done together: cache lines, and no fewer elements than a call pays. */
static int64_t band_of(int64_t columns) {
    enum { LINES = 64, ELEMENTS = 4096 };
    const int64_t rows = (ELEMENTS + columns - 1) / (columns > 0 ? columns : 1);
    return rows > LINES ? (rows + LINES - 1) / LINES * LINES : LINES;
}

/* Columns that are done together: all, but of the few rows of planes. */
static int64_t part_of(int64_t rows, int64_t columns) {
    enum { FEW = 16, ELEMENTS = 16384 };
    return rows < 1 || rows > FEW || columns < 1 ? columns : (ELEMENTS / rows + 63) / 64 * 64;
}

/* False when the last axis stays, or no other is contiguous in the input. */
static bool read_tiles(tn_region *region, tiles_job *job) {
    if (region->element_bytes > 8 || !tn_region_simplify(region)) return false;
    const uint32_t last = region->rank - 1;
    uint32_t axis = 0;
    while (axis < last && region->from_strides[axis] != 1)
        axis++;
    if (axis == last) return false;
    job->rows = region->extents[axis];
    job->to_stride = region->to_strides[axis];
    job->columns = region->extents[last];
    job->from_stride = region->from_strides[last];
    job->bytes = (int64_t)region->element_bytes;
    job->band = band_of(job->columns);
    job->bands = (job->rows + job->band - 1) / job->band;
    job->part = part_of(job->rows, job->columns);
    job->parts = job->part > 0 ? (job->columns + job->part - 1) / job->part : 0;
    job->outer.rank = 0;
    for (uint32_t i = 0; i < last; i++) {
        if (i == axis) continue;
        job->outer.extents[job->outer.rank] = region->extents[i];
        job->outer.to_strides[job->outer.rank] = region->to_strides[i];
        job->outer.from_strides[job->outer.rank++] = region->from_strides[i];
    }
    return true;
}

/* An item is a part of a band of rows of a matrix. */
static tn_status do_bands(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tiles_job *job = user;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t column = item % job->parts * job->part;
        const int64_t row = item / job->parts % job->bands * job->band;
        const int64_t rows = job->rows - row, columns = job->columns - column;
        int64_t rest = item / job->parts / job->bands;
        int64_t to = row * job->to_stride + column, from = row + column * job->from_stride;
        for (uint32_t i = job->outer.rank; i-- > 0; rest /= job->outer.extents[i]) {
            to += rest % job->outer.extents[i] * job->outer.to_strides[i];
            from += rest % job->outer.extents[i] * job->outer.from_strides[i];
        }
        job->function(rows < job->band ? rows : job->band,
                      columns < job->part ? columns : job->part, job->from + from * job->bytes,
                      job->from_stride, job->to + to * job->bytes, job->to_stride);
    }
    return TN_OK;
}

/* Whether the last axis goes elsewhere: as much as there is to say without extents. */
static bool moves_last(tn_call *call) {
    const uint32_t rank = call->inputs[0]->rank;
    uint32_t axes[TN_MAX_RANK];
    return rank > 1 && read_axes(call, axes) == TN_OK && axes[rank - 1] != rank - 1;
}

static tn_status tiles_accepts(tn_call *call) {
    tn_region region;
    tiles_job job;
    if (call->inputs[0]->quantization) TN_TRY(tn_region_bytes_accepts(call));
    if (tn_open_has(call)) return moves_last(call) ? TN_OK : TN_ERROR_UNSUPPORTED;
    TN_TRY(read_region(call, &region));
    return read_tiles(&region, &job) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status tiles_run(tn_call *call) {
    enum { GRAIN = 16384 };
    tn_region region;
    tiles_job job = {.from = call->inputs[0]->data, .to = call->outputs[0]->data};
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    TN_TRY(read_region(call, &region));
    if (!read_tiles(&region, &job))
        return transpose_run(call); /* other shapes than it was made for */
    job.function = tn_transpose_of(call->user, region.element_bytes);
    int64_t items = job.bands * job.parts;
    for (uint32_t i = 0; i < job.outer.rank; i++)
        items *= job.outer.extents[i];
    return call->host->parallel_for(call, items, GRAIN / job.band / job.part + 1, do_bands, &job);
}

TN_MOVE_KERNELS(transpose, "Transpose");

#define FIXED "f64|f32|f16|bf16|i64|i32|i16|i8|u64|u32|u16|u8|bool"
static const char *const combinations[] = {FIXED " -> " FIXED, "qi8 -> qi8"};
TN_LEVEL_KERNELS_OF(static, tiles, TN_LEVELS(tn_transpose), "", 3, "Transpose", "tiles",
                    "Square tiles transposed in registers.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    TN_COMBINATIONS(combinations), .accepts = tiles_accepts, .run = tiles_run);

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port transpose_inputs[] = {TN_PORT("data", "T:any|string", 0, "any tensor")};
static const tn_port transpose_outputs[] = {
    TN_PORT("transposed", "T", 0, "the tensor with its axes in the other order")};
static const char *const transpose_cases[] = {
    "| data=f32[2,3,4]",
    "perm=[1,0] | data=f32[33,17]",
    "perm=[1,2,0] | data=i32[3,17,35]",
    "perm=[0,2,3,1] | data=f32[2,3,5,7]",
    "perm=[0,3,1,2] | data=f16[2,5,7,3]",
    "perm=[0,2,1,3] | data=i64[2,9,4,8]",
    "perm=[2,0,1] | data=u8[3,1,70]",
    "perm=[1,0] | data=f32[0,5]",
    "| data=f64[]",
    "| data=string[2,3]{a,b,c,d,e,f} | transposed=string[3,2]{a,d,b,e,c,f}",
    "perm=[0,1,2] | data=bool[2,3,4]",
    "perm=[4,3,2,1,0] | data=f32[2,3,4,5,6]",
    "perm=[1,0] | data=u8[70,37]",
    "perm=[0,2,1] | data=i16[2,19,26]",
    "perm=[1,2,0] | data=i8[3,7,11]",
    "perm=[2,0,1] | data=bool[5,9,4]",
    "perm=[1,0] | data=f32[4,33]",
    "perm=[1,0] | data=f64[19,10]",
    "perm=[0,2,1] | data=f32[12,128,64]",
    "perm=[0,3,1,2] | data=f32[1,56,56,64]",
    "perm=[0,3,1,2] | data=f32[1,70,90,3]",
    "perm=[0,3,1,2] | data=f32[2,9,7,4]",
    "perm=[0,2,3,1] | data=i32[2,4,9,11]",
    "perm=[1,0] | data=f32[2,37]",
    "perm=[1,0] | data=u8[37,2]",
    "perm=[1,0] | data=i16[37,2]",
    "perm=[1,0] | data=i16[2,37]",
    "perm=[1,0] | data=f64[37,2]",
    "perm=[1,0] | data=u64[2,37]",
};

TN_OPERATOR(transpose, "", "Transpose", 1, "A tensor with its axes in another order.",
            TN_FIELDS(transpose_params, transpose_fields),
            .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY,
            .is_identity = transpose_is_identity);

TN_LAYER_WITH_REWRITES(transpose, TN_OPERATORS(&transpose_1),
                       TN_KERNELS(TN_LEVEL_LIST(tiles), &transpose_runs, &transpose_bytes),
                       tn_transpose_rewrites);
