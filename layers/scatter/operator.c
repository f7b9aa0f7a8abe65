/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of `data` with updates at indices: ScatterElements puts each element at its own position,
 * but for the given axis, where `indices` says which; ScatterND puts slices, each by an index of
 * several axes at once. Either replaces what is there or meets it by `reduction` (update.h).
 * Indices are checked before anything is written, so that a state whose update fails stays what it
 * was.
 */
#include "kit/index/index.h"
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>
#include "scatter/cache.h"
#include "scatter/update.h"

enum { DATA = TN_INDEX_DATA, INDICES = TN_INDEX_INDICES, UPDATES = 2 };

typedef struct scatter_params {
    uint64_t present;
    int64_t axis; /* ScatterElements */
    uint32_t reduction;
} scatter_params;

#define FIELD_AXIS                                                                                 \
    TN_FIELD(scatter_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",                                 \
             "the axis that indices speak of; negative: from the end")
#define FIELD_REDUCTION(choices)                                                                   \
    TN_FIELD_CHOICE(scatter_params, reduction, TN_FIELD_ENUM, TN_OPTIONAL, "none", choices,        \
                    "how an update meets the element that is there")
#define REDUCTIONS_16 "none|add|mul"
#define REDUCTIONS_18 "none|add|mul|max|min"
static const tn_field scatter_elements_11_fields[] = {FIELD_AXIS};
static const tn_field scatter_elements_16_fields[] = {FIELD_AXIS, FIELD_REDUCTION(REDUCTIONS_16)};
static const tn_field scatter_elements_18_fields[] = {FIELD_AXIS, FIELD_REDUCTION(REDUCTIONS_18)};
static const tn_field scatter_nd_16_fields[] = {FIELD_REDUCTION(REDUCTIONS_16)};
static const tn_field scatter_nd_18_fields[] = {FIELD_REDUCTION(REDUCTIONS_18)};

static uint32_t reduction_of(const tn_call *call) {
    const scatter_params *params = call->params;
    return call->op->since_version >= 16 ? params->reduction : (uint32_t)TN_SCATTER_NONE;
}

/* ----------------------------------------------------------------------------------------------
 * ScatterElements */

static tn_status scatter_elements_infer(tn_call *call) {
    const scatter_params *params = call->params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, DATA, 1, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[DATA];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &axis));
    TN_TRY(tn_infer_require_rank(call, INDICES, data->rank, data->rank));
    TN_TRY(tn_infer_require_rank(call, UPDATES, data->rank, data->rank));
    for (uint32_t i = 0; i < data->rank; i++)
        if (call->inputs[INDICES]->shape[i] != call->inputs[UPDATES]->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u differs between 'indices' and 'updates'", i);
    TN_TRY(tn_index_check_axes(call, axis));
    return tn_infer_copy_shape(call, 0, DATA);
}

typedef struct scatter_rows {
    int64_t strides[TN_MAX_RANK]; /* of the data */
    int64_t count, length;        /* rows of the indices along the last axis */
    uint32_t axis;
    uint32_t reduction;
} scatter_rows;

static tn_status read_rows(tn_call *call, scatter_rows *rows) {
    const scatter_params *params = call->params;
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &rows->axis));
    tn_region_strides(data->rank, data->shape, rows->strides);
    rows->length = indices->shape[indices->rank - 1];
    rows->count = rows->length > 0 ? tn_element_count(indices) / rows->length : 0;
    rows->reduction = reduction_of(call);
    return TN_OK;
}

/* Where in the data a row of the indices begins, its index along `axis` left out. */
static int64_t find_row(const scatter_rows *rows, const tn_tensor *indices, int64_t row) {
    int64_t at = 0;
    for (uint32_t k = indices->rank - 1; k-- > 0; row /= indices->shape[k])
        at += k == rows->axis ? 0 : row % indices->shape[k] * rows->strides[k];
    return at;
}

/* Does `count` elements of a row of the indices, from number `done` on; without writing anything
 * where the indices are only checked. */
static tn_status do_part(tn_call *call, const scatter_rows *rows, int64_t row, int64_t done,
                         int64_t count, bool is_check) {
    const tn_tensor *indices = call->inputs[INDICES];
    const int64_t extent = call->inputs[DATA]->shape[rows->axis];
    const int64_t from = row * rows->length + done;
    int64_t offsets[TN_INDEX_BLOCK];
    TN_TRY(tn_index_offsets(call, from, count, extent, rows->strides[rows->axis], offsets));
    if (is_check) return TN_OK;
    tn_scatter_row part = {.output = call->outputs[0],
                           .updates = call->inputs[UPDATES],
                           .at = find_row(rows, indices, row),
                           .step = rows->axis + 1 == indices->rank ? 0 : 1,
                           .from = from};
    part.at += done * part.step;
    tn_scatter_row_update(&part, count, offsets, rows->reduction);
    return TN_OK;
}

static tn_status do_rows(tn_call *call, const scatter_rows *rows, bool is_check) {
    for (int64_t row = 0; row < rows->count; row++)
        for (int64_t done = 0; done < rows->length; done += TN_INDEX_BLOCK) {
            const int64_t left = rows->length - done;
            TN_TRY(do_part(call, rows, row, done, left < TN_INDEX_BLOCK ? left : TN_INDEX_BLOCK,
                           is_check));
        }
    return TN_OK;
}

static tn_status update_elements(tn_call *call, tn_status (*copy)(tn_call *call)) {
    scatter_rows rows;
    TN_TRY(read_rows(call, &rows));
    TN_TRY(do_rows(call, &rows, true));
    TN_TRY(copy(call));
    return do_rows(call, &rows, false);
}

static tn_status scatter_elements_reference(tn_call *call) {
    return update_elements(call, tn_scatter_copy);
}

static tn_status scatter_elements_run(tn_call *call) {
    return update_elements(call, tn_scatter_copy_parallel);
}

/* ----------------------------------------------------------------------------------------------
 * ScatterND */

static tn_status refuse_updates(tn_call *call) {
    const tn_tensor *updates = call->inputs[UPDATES];
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input 'updates' has the shape %s, which fits not data and indices",
                            tn_infer_shape_text(updates->rank, updates->shape, text, sizeof(text)));
}

static tn_status scatter_nd_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, DATA, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, INDICES, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, UPDATES, 0, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    const tn_tensor *updates = call->inputs[UPDATES];
    uint32_t width = 0;
    TN_TRY(tn_index_tuple_width(call, 0, &width));
    const uint32_t outer = indices->rank - 1, inner = data->rank - width;
    if (updates->rank != outer + inner) return refuse_updates(call);
    for (uint32_t i = 0; i < updates->rank; i++) {
        const int64_t wanted = i < outer ? indices->shape[i] : data->shape[width + i - outer];
        if (updates->shape[i] != wanted) return refuse_updates(call);
    }
    return tn_infer_copy_shape(call, 0, DATA);
}

static tn_status update_slices(tn_call *call, tn_status (*copy)(tn_call *call)) {
    const tn_tensor *data = call->inputs[DATA], *indices = call->inputs[INDICES];
    const tn_tensor *updates = call->inputs[UPDATES];
    const uint32_t width = (uint32_t)indices->shape[indices->rank - 1];
    const int64_t elements = tn_infer_product(data->shape, width, data->rank);
    int64_t strides[TN_MAX_RANK], at = 0, slices = 0;
    if (tn_element_count(updates) > 0)
        slices = tn_infer_product(indices->shape, 0, indices->rank - 1);
    tn_region_strides(data->rank, data->shape, strides);
    for (int64_t i = 0; i < slices; i++)
        TN_TRY(tn_index_tuple(call, 0, strides, i, &at));
    TN_TRY(copy(call));
    for (int64_t i = 0; i < slices; i++) {
        TN_TRY(tn_index_tuple(call, 0, strides, i, &at));
        tn_scatter_update(call->outputs[0], at, updates, i * elements, elements,
                          reduction_of(call));
    }
    return TN_OK;
}

static tn_status scatter_nd_reference(tn_call *call) {
    return update_slices(call, tn_scatter_copy);
}

static tn_status scatter_nd_run(tn_call *call) {
    return update_slices(call, tn_scatter_copy_parallel);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port scatter_elements_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("indices", "i64|i32", 0, "where along the axis"),
    TN_PORT("updates", "T", 0, "what is put there, shaped like the indices"),
};
static const tn_port scatter_outputs[] = {
    {"output", "T", "data with its updates", TN_PORT_ALIAS, 1 + DATA, 0, 0},
};
#define ELEMENTS_11                                                                                \
    "axis=1 | data=f32[1,5] indices=i64[1,2]{1,3} updates=f32[1,2]",                               \
        "| data=f16[3,3] indices=i32[2,3]{1,0,2,0,2,1} updates=f16[2,3]",                          \
        "axis=-1 | data=u8[2,4] indices=i64[1,2]{-1,0} updates=u8[1,2]",                           \
        "| data=bool[3] indices=i64[0] updates=bool[0]"
#define ELEMENTS_16                                                                                \
    ELEMENTS_11, "axis=1 reduction=add | data=f32[1,5] indices=i64[1,3]{1,1,-4} updates=f32[1,3]", \
        "reduction=mul | data=i32[3] indices=i64[3]{0,0,2} updates=i32[3]",                        \
        "reduction=add | data=u8[3] indices=i64[3]{0,0,2} updates=u8[3]",                          \
        "reduction=add | data=f64[3] indices=i32[3]{0,-1,0} updates=f64[3]",                       \
        "reduction=add | data=i64[3] indices=i64[3]{0,0,2} updates=i64[3]",                        \
        "reduction=add | data=i32[2,3] indices=i64[1,3]{1,1,0} updates=i32[1,3]"
static const char *const scatter_elements_11_cases[] = {ELEMENTS_11};
static const char *const scatter_elements_16_cases[] = {ELEMENTS_16};
static const char *const scatter_elements_18_cases[] = {
    ELEMENTS_16,
    "reduction=max | data=f64[3] indices=i64[3]{0,0,2} updates=f64[3]",
    "reduction=min | data=u64[2]{18446744073709551615,3} indices=i64[2]{0,1} updates=u64[2]{7,9}",
};

static const tn_port scatter_nd_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("indices", "i64", 0, "indices of several axes, along the last axis"),
    TN_PORT("updates", "T", 0, "the slices that are put there"),
};
#define ND_11                                                                                      \
    "| data=f32[8] indices=i64[4,1]{4,3,1,-1} updates=f32[4]",                                     \
        "| data=f16[4,2,3] indices=i64[2,1]{0,2} updates=f16[2,2,3]",                              \
        "| data=u8[2,3] indices=i64[2,2]{0,1,1,-1} updates=u8[2]",                                 \
        "| data=bool[3] indices=i64[0,1] updates=bool[0]"
#define ND_16                                                                                      \
    ND_11, "reduction=add | data=f32[4,2] indices=i64[3,1]{1,1,0} updates=f32[3,2]",               \
        "reduction=mul | data=i64[3] indices=i64[2,1]{0,0} updates=i64[2]"
static const char *const scatter_nd_11_cases[] = {ND_11};
static const char *const scatter_nd_16_cases[] = {ND_16};
static const char *const scatter_nd_18_cases[] = {
    ND_16,
    "reduction=max | data=f64[3] indices=i64[2,1]{0,0} updates=f64[2]",
    "reduction=min | data=i8[3] indices=i64[2,1]{0,2} updates=i8[2]",
};

#define SCATTER(prefix, name, version, words, ...)                                                 \
    TN_OPERATOR_VERSION(prefix, "", name, version, words, TN_INPUTS(prefix##_inputs),              \
                        TN_OUTPUTS(scatter_outputs), TN_CASES(prefix##_##version##_cases),         \
                        __VA_ARGS__)
#define ELEMENTS(version)                                                                          \
    SCATTER(scatter_elements, "ScatterElements", version,                                          \
            "Puts elements at indices along an axis.",                                             \
            TN_FIELDS(scatter_params, scatter_elements_##version##_fields))
#define ND(version, fields)                                                                        \
    SCATTER(scatter_nd, "ScatterND", version, "Puts slices at indices of several axes.", fields)
ELEMENTS(11);
ELEMENTS(16);
ELEMENTS(18);
ND(11, TN_NO_FIELDS);
ND(16, TN_FIELDS(scatter_params, scatter_nd_16_fields));
ND(18, TN_FIELDS(scatter_params, scatter_nd_18_fields));

/* Updates are applied in the order of the indices, by one thread: an index may occur twice. */
#define UPDATES_KERNEL(prefix, name)                                                               \
    TN_CPU_KERNEL_OF(                                                                              \
        prefix##_updates, TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, "", name,                 \
        "in_place_updates",                                                                        \
        "Updates on the data's own memory where nobody else reads it, else on a copy.",            \
        TN_COMBINATIONS(prefix##_combinations), .run = prefix##_run)
static const char *const scatter_elements_combinations[] = {"*, i64|i32, * -> *"};
static const char *const scatter_nd_combinations[] = {"*, i64, * -> *"};
UPDATES_KERNEL(scatter_elements, "ScatterElements");
UPDATES_KERNEL(scatter_nd, "ScatterND");

TN_LAYER(scatter,
         TN_OPERATORS(&scatter_elements_11, &scatter_elements_16, &scatter_elements_18,
                      &scatter_nd_11, &scatter_nd_16, &scatter_nd_18, &tn_tensor_scatter_24),
         TN_KERNELS(&scatter_elements_updates, &scatter_nd_updates, &tn_tensor_scatter_updates));
