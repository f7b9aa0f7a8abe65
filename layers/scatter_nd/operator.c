/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ScatterND: a copy of `data` in which slices are replaced, each by an index of several axes at
 * once, which the last axis of `indices` holds; or met with what is there by `reduction`.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>
#include "kit/scatter/scatter.h"

typedef struct scatter_nd_params {
    uint64_t present;
    uint32_t reduction;
} scatter_nd_params;

enum { SCATTER_DATA = 0, SCATTER_INDICES = 1, SCATTER_UPDATES = 2 };

#define FIELD_REDUCTION(choices)                                                                   \
    TN_FIELD_CHOICE(scatter_nd_params, reduction, TN_FIELD_ENUM, TN_OPTIONAL, "none", choices,     \
                    "how an update meets the element that is there")
static const tn_field scatter_nd_16_fields[] = {FIELD_REDUCTION("none|add|mul")};
static const tn_field scatter_nd_18_fields[] = {FIELD_REDUCTION("none|add|mul|max|min")};

static tn_status refuse_updates(tn_call *call) {
    const tn_tensor *updates = call->inputs[SCATTER_UPDATES];
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input 'updates' has the shape %s, which fits not data and indices",
                            tn_infer_shape_text(updates->rank, updates->shape, text, sizeof(text)));
}

static tn_status scatter_nd_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, SCATTER_DATA, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, SCATTER_INDICES, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, SCATTER_UPDATES, 0, TN_MAX_RANK));
    const tn_tensor *data = call->inputs[SCATTER_DATA], *indices = call->inputs[SCATTER_INDICES];
    const tn_tensor *updates = call->inputs[SCATTER_UPDATES];
    const int64_t width = indices->shape[indices->rank - 1];
    if (width < 1 || width > (int64_t)data->rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "indices of %lld numbers do not fit the %u axes of 'data'",
                                (long long)width, data->rank);
    const uint32_t outer = indices->rank - 1, inner = data->rank - (uint32_t)width;
    if (updates->rank != outer + inner) return refuse_updates(call);
    for (uint32_t i = 0; i < updates->rank; i++) {
        const int64_t wanted =
            i < outer ? indices->shape[i] : data->shape[(uint32_t)width + i - outer];
        if (updates->shape[i] != wanted) return refuse_updates(call);
    }
    return tn_infer_copy_shape(call, 0, SCATTER_DATA);
}

/* Where slice `slice` of the updates goes: the element of `data` at which it begins. */
static tn_status find_slice(tn_call *call, int64_t slice, const int64_t *strides, int64_t *out_at) {
    const tn_tensor *data = call->inputs[SCATTER_DATA], *indices = call->inputs[SCATTER_INDICES];
    const int64_t width = indices->shape[indices->rank - 1];
    *out_at = 0;
    for (int64_t k = 0, index = 0; k < width; k++) {
        TN_TRY(tn_scatter_index(
            call, tn_element_load_i64(indices->data, indices->type, slice * width + k),
            data->shape[k], &index));
        *out_at += index * strides[k];
    }
    return TN_OK;
}

static tn_status update_slices(tn_call *call, tn_status (*copy)(tn_call *call)) {
    const scatter_nd_params *params = call->params;
    const tn_tensor *data = call->inputs[SCATTER_DATA], *indices = call->inputs[SCATTER_INDICES];
    const tn_tensor *updates = call->inputs[SCATTER_UPDATES];
    const uint32_t reduction =
        call->op->since_version >= 16 ? params->reduction : (uint32_t)TN_SCATTER_NONE;
    const uint32_t width = (uint32_t)indices->shape[indices->rank - 1];
    const int64_t elements = tn_infer_product(data->shape, width, data->rank);
    int64_t strides[TN_MAX_RANK], at = 0, slices = 0;
    if (tn_element_count(updates) > 0)
        slices = tn_infer_product(indices->shape, 0, indices->rank - 1);
    tn_region_strides(data->rank, data->shape, strides);
    for (int64_t i = 0; i < slices; i++)
        TN_TRY(find_slice(call, i, strides, &at));
    TN_TRY(copy(call));
    for (int64_t i = 0; i < slices; i++) {
        TN_TRY(find_slice(call, i, strides, &at));
        tn_scatter_update(call->outputs[0], at, updates, i * elements, elements, reduction);
    }
    return TN_OK;
}

static tn_status scatter_nd_reference(tn_call *call) {
    return update_slices(call, tn_scatter_copy);
}

static tn_status scatter_nd_run(tn_call *call) {
    return update_slices(call, tn_scatter_copy_parallel);
}

static const tn_port scatter_nd_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("indices", "i64", 0, "indices of several axes, along the last axis"),
    TN_PORT("updates", "T", 0, "the slices that are put there"),
};
static const tn_port scatter_nd_outputs[] = {
    {"output", "T", "data with its updates", TN_PORT_ALIAS, 1 + SCATTER_DATA, 0, 0},
};
#define CASES_11                                                                                   \
    "| data=f32[8] indices=i64[4,1]{4,3,1,-1} updates=f32[4]",                                     \
        "| data=f16[4,2,3] indices=i64[2,1]{0,2} updates=f16[2,2,3]",                              \
        "| data=u8[2,3] indices=i64[2,2]{0,1,1,-1} updates=u8[2]",                                 \
        "| data=bool[3] indices=i64[0,1] updates=bool[0]"
#define CASES_16                                                                                   \
    CASES_11, "reduction=add | data=f32[4,2] indices=i64[3,1]{1,1,0} updates=f32[3,2]",            \
        "reduction=mul | data=i64[3] indices=i64[2,1]{0,0} updates=i64[2]"
static const char *const scatter_nd_11_cases[] = {CASES_11};
static const char *const scatter_nd_16_cases[] = {CASES_16};
static const char *const scatter_nd_18_cases[] = {
    CASES_16,
    "reduction=max | data=f64[3] indices=i64[2,1]{0,0} updates=f64[2]",
    "reduction=min | data=i8[3] indices=i64[2,1]{0,2} updates=i8[2]",
};

#define SCATTER_ND(version, field_rows)                                                            \
    TN_OPERATOR_VERSION(scatter_nd, "", "ScatterND", version,                                      \
                        "Puts slices at indices of several axes.", TN_INPUTS(scatter_nd_inputs),   \
                        TN_OUTPUTS(scatter_nd_outputs), TN_CASES(scatter_nd_##version##_cases),    \
                        field_rows)
SCATTER_ND(11, TN_NO_FIELDS);
SCATTER_ND(16, TN_FIELDS(scatter_nd_params, scatter_nd_16_fields));
SCATTER_ND(18, TN_FIELDS(scatter_nd_params, scatter_nd_18_fields));

static const char *const scatter_nd_combinations[] = {"*, i64, * -> *"};
static const tn_kernel scatter_nd_updates =
    TN_SCATTER_KERNEL("ScatterND", scatter_nd_combinations, scatter_nd_run);
TN_LAYER(scatter_nd, TN_OPERATORS(&scatter_nd_11, &scatter_nd_16, &scatter_nd_18),
         TN_KERNELS(&scatter_nd_updates));
