/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ScatterElements: a copy of `data` in which each element of `updates` is put at its own index, but
 * for the given axis, where `indices` says which; or met with what is there by `reduction`.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>
#include "kit/scatter/scatter.h"

typedef struct scatter_elements_params {
    uint64_t present;
    int64_t axis;
    uint32_t reduction;
} scatter_elements_params;

enum { SCATTER_DATA = 0, SCATTER_INDICES = 1, SCATTER_UPDATES = 2 };

#define FIELD_AXIS                                                                                 \
    TN_FIELD(scatter_elements_params, axis, TN_FIELD_I64, TN_OPTIONAL, "0",                        \
             "the axis that indices speak of; negative: from the end")
#define FIELD_REDUCTION(choices)                                                                   \
    TN_FIELD_CHOICE(scatter_elements_params, reduction, TN_FIELD_ENUM, TN_OPTIONAL, "none",        \
                    choices, "how an update meets the element that is there")
static const tn_field scatter_elements_11_fields[] = {FIELD_AXIS};
static const tn_field scatter_elements_16_fields[] = {FIELD_AXIS, FIELD_REDUCTION("none|add|mul")};
static const tn_field scatter_elements_18_fields[] = {FIELD_AXIS,
                                                      FIELD_REDUCTION("none|add|mul|max|min")};

static tn_status scatter_elements_infer(tn_call *call) {
    const scatter_elements_params *params = call->params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, SCATTER_DATA, 1, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[SCATTER_DATA];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &axis));
    TN_TRY(tn_infer_require_rank(call, SCATTER_INDICES, data->rank, data->rank));
    TN_TRY(tn_infer_require_rank(call, SCATTER_UPDATES, data->rank, data->rank));
    const tn_tensor *indices = call->inputs[SCATTER_INDICES];
    for (uint32_t i = 0; i < data->rank; i++) {
        if (indices->shape[i] != call->inputs[SCATTER_UPDATES]->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u differs between 'indices' and 'updates'", i);
        if (i != axis && indices->shape[i] > data->shape[i])
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u has %lld elements in 'data' and %lld in 'indices'", i,
                                    (long long)data->shape[i], (long long)indices->shape[i]);
    }
    return tn_infer_copy_shape(call, 0, SCATTER_DATA);
}

typedef struct scatter_rows {
    int64_t strides[TN_MAX_RANK]; /* of the data */
    int64_t count, length;        /* rows of the indices along the last axis */
    uint32_t axis;
    uint32_t reduction;
} scatter_rows;

static tn_status read_rows(tn_call *call, scatter_rows *rows) {
    const scatter_elements_params *params = call->params;
    const tn_tensor *data = call->inputs[SCATTER_DATA], *indices = call->inputs[SCATTER_INDICES];
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, data->rank, &rows->axis));
    tn_region_strides(data->rank, data->shape, rows->strides);
    rows->length = indices->shape[indices->rank - 1];
    rows->count = rows->length > 0 ? tn_element_count(indices) / rows->length : 0;
    rows->reduction = call->op->since_version >= 16 ? params->reduction : (uint32_t)TN_SCATTER_NONE;
    return TN_OK;
}

/* Where in the data a row of the indices begins, its index along `axis` left out. */
static int64_t find_row(const scatter_rows *rows, const tn_tensor *indices, int64_t row) {
    int64_t at = 0;
    for (uint32_t k = indices->rank - 1; k-- > 0; row /= indices->shape[k])
        at += k == rows->axis ? 0 : row % indices->shape[k] * rows->strides[k];
    return at;
}

static tn_status check_indices(tn_call *call, const scatter_rows *rows) {
    const tn_tensor *indices = call->inputs[SCATTER_INDICES];
    const int64_t extent = call->inputs[SCATTER_DATA]->shape[rows->axis];
    int64_t index = 0;
    for (int64_t i = 0; i < rows->count * rows->length; i++)
        TN_TRY(tn_scatter_index(call, tn_element_load_i64(indices->data, indices->type, i), extent,
                                &index));
    return TN_OK;
}

static void update_row(tn_call *call, const scatter_rows *rows, int64_t row) {
    const tn_tensor *indices = call->inputs[SCATTER_INDICES];
    const int64_t extent = call->inputs[SCATTER_DATA]->shape[rows->axis];
    const int64_t first = find_row(rows, indices, row), from = row * rows->length;
    const int64_t step = rows->axis + 1 == indices->rank ? 0 : 1;
    for (int64_t i = 0; i < rows->length; i++) {
        int64_t index = tn_element_load_i64(indices->data, indices->type, from + i);
        if (index < 0) index += extent;
        tn_scatter_update(call->outputs[0], first + i * step + index * rows->strides[rows->axis],
                          call->inputs[SCATTER_UPDATES], from + i, 1, rows->reduction);
    }
}

static tn_status update_elements(tn_call *call, tn_status (*copy)(tn_call *call)) {
    scatter_rows rows;
    TN_TRY(read_rows(call, &rows));
    TN_TRY(check_indices(call, &rows));
    TN_TRY(copy(call));
    for (int64_t row = 0; row < rows.count; row++)
        update_row(call, &rows, row);
    return TN_OK;
}

static tn_status scatter_elements_reference(tn_call *call) {
    return update_elements(call, tn_scatter_copy);
}

static tn_status scatter_elements_run(tn_call *call) {
    return update_elements(call, tn_scatter_copy_parallel);
}

static const tn_port scatter_elements_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("indices", "i64|i32", 0, "where along the axis"),
    TN_PORT("updates", "T", 0, "what is put there, shaped like the indices"),
};
static const tn_port scatter_elements_outputs[] = {
    {"output", "T", "data with its updates", TN_PORT_ALIAS, 1 + SCATTER_DATA, 0, 0},
};
#define CASES_11                                                                                   \
    "axis=1 | data=f32[1,5] indices=i64[1,2]{1,3} updates=f32[1,2]",                               \
        "| data=f16[3,3] indices=i32[2,3]{1,0,2,0,2,1} updates=f16[2,3]",                          \
        "axis=-1 | data=u8[2,4] indices=i64[1,2]{-1,0} updates=u8[1,2]",                           \
        "| data=bool[3] indices=i64[0] updates=bool[0]"
#define CASES_16                                                                                   \
    CASES_11, "axis=1 reduction=add | data=f32[1,5] indices=i64[1,3]{1,1,-4} updates=f32[1,3]",    \
        "reduction=mul | data=i32[3] indices=i64[3]{0,0,2} updates=i32[3]"
static const char *const scatter_elements_11_cases[] = {CASES_11};
static const char *const scatter_elements_16_cases[] = {CASES_16};
static const char *const scatter_elements_18_cases[] = {
    CASES_16,
    "reduction=max | data=f64[3] indices=i64[3]{0,0,2} updates=f64[3]",
    "reduction=min | data=u64[2]{18446744073709551615,3} indices=i64[2]{0,1} updates=u64[2]{7,9}",
};

#define SCATTER_ELEMENTS(version)                                                                  \
    TN_OPERATOR_VERSION(scatter_elements, "", "ScatterElements", version,                          \
                        "Puts elements at indices along an axis.",                                 \
                        TN_FIELDS(scatter_elements_params, scatter_elements_##version##_fields),   \
                        TN_INPUTS(scatter_elements_inputs), TN_OUTPUTS(scatter_elements_outputs),  \
                        TN_CASES(scatter_elements_##version##_cases))
SCATTER_ELEMENTS(11);
SCATTER_ELEMENTS(16);
SCATTER_ELEMENTS(18);

static const char *const scatter_elements_combinations[] = {"*, i64|i32, * -> *"};
static const tn_kernel scatter_elements_updates =
    TN_SCATTER_KERNEL("ScatterElements", scatter_elements_combinations, scatter_elements_run);
TN_LAYER(scatter_elements,
         TN_OPERATORS(&scatter_elements_11, &scatter_elements_16, &scatter_elements_18),
         TN_KERNELS(&scatter_elements_updates));
