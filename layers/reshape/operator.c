/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reshape: the same elements in the same order with another shape, of which one extent may be left
 * open. A view: no kernel ever runs for it.
 */
#include "kit/math/element.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

typedef struct reshape_params {
    uint64_t present;
    bool allowzero;
} reshape_params;

static const tn_field reshape_14_fields[] = {
    TN_FIELD(reshape_params, allowzero, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether 0 in shape is an extent of zero, not the input's extent there")};

static tn_status refuse(tn_call *call, uint32_t rank, const int64_t *wanted) {
    const tn_tensor *data = call->inputs[0];
    char from[TN_INFER_SHAPE_TEXT_BYTES], to[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE, "%s elements cannot be given the shape %s",
                            tn_infer_shape_text(data->rank, data->shape, from, sizeof(from)),
                            tn_infer_shape_text(rank, wanted, to, sizeof(to)));
}

/* Puts the open extent in. Axes that are copied (bits of `copied`) count on neither side, so that
 * one is found though they are empty. */
static tn_status fill_open(tn_call *call, uint32_t rank, const int64_t *wanted, uint32_t copied,
                           uint32_t open, int64_t *shape) {
    const tn_tensor *data = call->inputs[0];
    int64_t elements = 1, others = 1;
    bool fits = true;
    for (uint32_t i = 0; i < data->rank; i++)
        if (!(copied >> i & 1))
            fits = fits && tn_infer_multiply(elements, data->shape[i], &elements);
    for (uint32_t i = 0; i < rank; i++)
        if (i != open && !(copied >> i & 1))
            fits = fits && tn_infer_multiply(others, shape[i], &others);
    if (!fits || others == 0 || elements % others != 0) return refuse(call, rank, wanted);
    shape[open] = elements / others;
    return TN_OK;
}

static tn_status read_shape(tn_call *call, uint32_t *out_rank, int64_t *shape) {
    const reshape_params *params = call->params;
    const tn_tensor *data = call->inputs[0];
    const bool keeps_zero = call->op->since_version >= 14 && params->allowzero;
    uint32_t rank = 0, copied = 0, open = UINT32_MAX;
    int64_t wanted[TN_MAX_RANK];
    TN_TRY(tn_infer_integers(call, 1, TN_MAX_RANK, wanted, &rank));
    for (uint32_t i = 0; i < rank; i++) {
        shape[i] = wanted[i];
        if (wanted[i] < -1 || (wanted[i] == -1 && open != UINT32_MAX) ||
            (wanted[i] == 0 && !keeps_zero && i >= data->rank))
            return refuse(call, rank, wanted);
        if (wanted[i] == -1) open = i;
        if (wanted[i] != 0 || keeps_zero) continue;
        copied |= 1u << i;
        shape[i] = data->shape[i];
    }
    *out_rank = rank;
    if (open != UINT32_MAX) return fill_open(call, rank, wanted, copied, open, shape);
    if (tn_infer_product(shape, 0, rank) == tn_infer_product(data->shape, 0, data->rank))
        return TN_OK;
    return refuse(call, rank, wanted);
}

static tn_status reshape_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    uint32_t rank = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(read_shape(call, &rank, shape));
    return tn_infer_set_shape(call, 0, rank, shape);
}

static tn_status reshape_reference(tn_call *call) {
    tn_element_copy(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static const tn_port reshape_inputs[] = {
    TN_PORT("data", "T:any", 0, "any tensor"),
    TN_PORT("shape", "i64", TN_PORT_VALUE_NEEDED,
            "extents of the output; one may be -1: what is left"),
};
static const tn_port reshape_outputs[] = {
    TN_PORT_VIEW_OF("reshaped", "T", 0, "the same elements in the new shape")};
static const char *const reshape_5_cases[] = {
    "| data=f32[2,3,4] shape=i64[2]{6,4}", "| data=f16[2,3,4] shape=i64[3]{0,-1,2}",
    "| data=i64[1,1] shape=i64[0]",        "| data=f32[0,3,4] shape=i64[2]{0,-1}",
    "| data=u8[] shape=i64[2]{1,-1}",
};
static const char *const reshape_14_cases[] = {
    "| data=f32[2,3,4] shape=i64[2]{6,4}",
    "| data=f16[2,3,4] shape=i64[3]{0,-1,2}",
    "allowzero=1 | data=f32[0,3,4] shape=i64[3]{3,4,0}",
    "| data=bool[5] shape=i64[1]{-1}",
};

TN_OPERATOR_VERSION(reshape, "", "Reshape", 5, "The same elements in another shape.", TN_NO_FIELDS,
                    TN_INPUTS(reshape_inputs), TN_OUTPUTS(reshape_outputs),
                    TN_CASES(reshape_5_cases), .traits = TN_OPERATOR_SELECTS);
TN_OPERATOR_VERSION(reshape, "", "Reshape", 14, "The same elements in another shape.",
                    TN_FIELDS(reshape_params, reshape_14_fields), TN_INPUTS(reshape_inputs),
                    TN_OUTPUTS(reshape_outputs), TN_CASES(reshape_14_cases),
                    .traits = TN_OPERATOR_SELECTS);

TN_LAYER_WITHOUT_KERNELS(reshape, TN_OPERATORS(&reshape_5, &reshape_14));
