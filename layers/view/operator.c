/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: operators whose output has the elements of their input in the same order, in another shape
 * (Reshape, Flatten, Squeeze, Unsqueeze) or as they are (Identity). No kernel ever runs for them.
 */
#include "kit/elementwise/unary.h"
#include "kit/operator/axis.h"
#include "kit/operator/layer.h"
#include "kit/operator/strings.h"

static tn_status view_reference(tn_call *call) {
    tn_element_copy(call->inputs[0], call->outputs[0]);
    return tn_strings_share(call, 0);
}

#define VIEW(prefix, name, version, words, traits_of_it, fields, rule, input_table)                \
    static const tn_operator prefix##_##version = {                                                \
        TN_OPERATOR_BEGIN("", name, version, words),                                               \
        fields,                                                                                    \
        TN_INPUTS(input_table),                                                                    \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = rule,                                                                             \
        .reference = view_reference,                                                               \
        TN_CASES(prefix##_##version##_cases),                                                      \
        .traits = traits_of_it,                                                                    \
    }

static const tn_port input_port[] = {TN_PORT("input", "T:any|string", 0, "any tensor")};
static const tn_port data_port[] = {TN_PORT("data", "T:any|string", 0, "any tensor")};

/* Axes that are a field before opset 13 and an input from then on. */
typedef struct axes_params {
    uint64_t present;
    tn_i64s axes;
} axes_params;

/* Their values, as the field has them or into `values`; null `*out_what`: they are not given. */
static tn_status read_axes(tn_call *call, int64_t *values, tn_i64s *out_axes,
                           const char **out_what) {
    const axes_params *params = call->params;
    *out_what = NULL;
    if (tn_infer_input(call, 1)) {
        uint32_t count = 0;
        TN_TRY(tn_infer_integers(call, 1, TN_MAX_RANK, values, &count));
        *out_axes = (tn_i64s){count, values};
        *out_what = "'axes'";
    } else if (call->op->since_version < 13 && params->present & 1) {
        *out_axes = params->axes;
        *out_what = "field 'axes'";
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * Identity: dropped when a network is built */

static const tn_port identity_outputs[] = {TN_PORT_VIEW_OF("output", "T", 0, "the same")};
static const char *const identity_1_cases[] = {
    "| input=f32[2,3,4]", "| input=i64[]", "| input=bool[7]",
    "| input=f16[3,0]",   "| input=u8[1]", "| input=string[2,3]",
};
VIEW(identity, "Identity", 1, "Nothing.",
     TN_OPERATOR_SELECTS | TN_OPERATOR_IDENTITY | TN_OPERATOR_ELEMENTWISE, TN_NO_FIELDS,
     tn_unary_infer, input_port);

/* ----------------------------------------------------------------------------------------------
 * Flatten: a matrix, with the axes before `axis` as rows and the others as columns */

static const tn_field flatten_fields[] = {
    TN_AXIS_FIELD(
        TN_OPTIONAL, "1",
        "first axis that goes into the columns; negative: from the end; the rank: none does"),
};

static tn_status flatten_infer(tn_call *call) {
    const tn_axis_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *input = call->inputs[0];
    uint32_t axis = input->rank;
    if (params->axis != (int64_t)input->rank)
        TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, input->rank, &axis));
    int64_t shape[2] = {tn_infer_product(input->shape, 0, axis),
                        tn_infer_product(input->shape, axis, input->rank)};
    return tn_infer_set_shape(call, 0, 2, shape);
}

static const tn_port flatten_outputs[] = {
    TN_PORT_VIEW_OF("output", "T", 0, "a matrix of the same elements")};
static const char *const flatten_1_cases[] = {
    "| input=f32[2,3,4,5]",         "axis=0 | input=f32[2,3,4]", "axis=3 | input=f32[2,3,4]",
    "axis=-1 | input=f16[2,3,5]",   "axis=0 | input=f32[]",      "axis=2 | input=i8[0,3,4]",
    "axis=1 | input=bool[7,1,3,1]",
};

VIEW(flatten, "Flatten", 1, "Flattens a tensor into a matrix.", TN_OPERATOR_SELECTS,
     TN_FIELDS(tn_axis_params, flatten_fields), flatten_infer, input_port);

/* ----------------------------------------------------------------------------------------------
 * Reshape: another shape, of which one extent may be left open */

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

/* The product of extents but for those whose bits are set and, where that is wanted, zeros. */
static bool product_of(uint32_t rank, const int64_t *extents, uint32_t without, bool without_zeros,
                       int64_t *out_product) {
    bool fits = true;
    *out_product = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (!(without >> i & 1) && !(without_zeros && extents[i] == 0))
            fits = fits && tn_infer_multiply(*out_product, extents[i], out_product);
    return fits;
}

/* Puts the open extent in. Axes that are copied (bits of `copied`) count on neither side, so that
 * one is found though they are empty; nor do zeros of an empty tensor where some are wanted as
 * extents, as exporters write them for an empty batch. */
static tn_status fill_open(tn_call *call, uint32_t rank, const int64_t *wanted, uint32_t copied,
                           uint32_t open, int64_t *shape) {
    const tn_tensor *data = call->inputs[0];
    int64_t elements = 1, others = 1;
    bool is_empty = false;
    for (uint32_t i = 0; i < rank; i++)
        is_empty = is_empty || (shape[i] == 0 && !(copied >> i & 1));
    if (is_empty && tn_infer_product(data->shape, 0, data->rank) != 0)
        return refuse(call, rank, wanted);
    if (!product_of(data->rank, data->shape, copied, is_empty, &elements) ||
        !product_of(rank, shape, copied | 1u << open, is_empty, &others) || others == 0 ||
        elements % others != 0)
        return refuse(call, rank, wanted);
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

static const tn_port reshape_inputs[] = {
    TN_PORT("data", "T:any|string", 0, "any tensor"),
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
    "allowzero=1 | data=f32[0,11,64] shape=i64[4]{0,11,-1,16}",
    "allowzero=1 | data=f32[0,3] shape=i64[2]{2,-1}",
    "| data=bool[5] shape=i64[1]{-1}",
    "| data=string[2,3] shape=i64[2]{3,-1}",
};

VIEW(reshape, "Reshape", 5, "The same elements in another shape.", TN_OPERATOR_SELECTS,
     TN_NO_FIELDS, reshape_infer, reshape_inputs);
VIEW(reshape, "Reshape", 14, "The same elements in another shape.", TN_OPERATOR_SELECTS,
     TN_FIELDS(reshape_params, reshape_14_fields), reshape_infer, reshape_inputs);

/* ----------------------------------------------------------------------------------------------
 * Squeeze: without some axes, each of which has one element */

static const tn_field squeeze_1_fields[] = {
    TN_FIELD(axes_params, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "axes to leave out; absent: all that have one element"),
};

static tn_status squeeze_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK], values[TN_MAX_RANK];
    uint32_t mask = 0, rank = 0;
    tn_i64s axes;
    const char *what = NULL;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(read_axes(call, values, &axes, &what));
    const tn_tensor *data = call->inputs[0];
    if (what) TN_TRY(tn_infer_axes(call, what, axes.count, axes.items, data->rank, &mask));
    for (uint32_t i = 0; i < data->rank; i++) {
        if (!what && data->shape[i] == 1) mask |= 1u << i;
        if (!(mask >> i & 1))
            shape[rank++] = data->shape[i];
        else if (data->shape[i] != 1)
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "axis %u has %lld elements and cannot be left out", i,
                                    (long long)data->shape[i]);
    }
    return tn_infer_set_shape(call, 0, rank, shape);
}

static const tn_port squeeze_13_inputs[] = {
    TN_PORT("data", "T:any|string", 0, "any tensor"),
    TN_PORT("axes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "axes to leave out; absent: all that have one element"),
};
static const tn_port squeeze_outputs[] = {TN_PORT_VIEW_OF("squeezed", "T", 0, "the same elements")};
static const char *const squeeze_1_cases[] = {
    "| data=f32[1,3,1,2]",
    "axes=[0,-2] | data=f32[1,3,1,2]",
    "axes=[1] | data=i8[0,1]",
};
static const char *const squeeze_13_cases[] = {
    "| data=f32[1,3,1,2]",
    "| data=f16[1,3,1,2] axes=i64[2]{0,-2}",
    "| data=bool[1] axes=i64[1]{0}",
};

VIEW(squeeze, "Squeeze", 1, "Leaves out axes of one element, by a field.", TN_OPERATOR_SELECTS,
     TN_FIELDS(axes_params, squeeze_1_fields), squeeze_infer, data_port);
VIEW(squeeze, "Squeeze", 13, "Leaves out axes of one element, by an input.", TN_OPERATOR_SELECTS,
     TN_NO_FIELDS, squeeze_infer, squeeze_13_inputs);

/* ----------------------------------------------------------------------------------------------
 * Unsqueeze: with axes of one element put in, which are counted in the output */

static const tn_field unsqueeze_1_fields[] = {
    TN_FIELD(axes_params, axes, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "axes of the output that are new; negative: from the end"),
};

static tn_status unsqueeze_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK], values[TN_MAX_RANK];
    uint32_t mask = 0, at = 0;
    tn_i64s axes = {0};
    const char *what = NULL;
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    TN_TRY(read_axes(call, values, &axes, &what));
    if (!what) return tn_infer_require_rank(call, 1, 0, 1);
    const tn_tensor *data = call->inputs[0];
    if (axes.count > TN_MAX_RANK - data->rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "%s has %llu axes: the output would have more than %d", what,
                                (unsigned long long)axes.count, TN_MAX_RANK);
    const uint32_t rank = data->rank + (uint32_t)axes.count;
    TN_TRY(tn_infer_axes(call, what, axes.count, axes.items, rank, &mask));
    for (uint32_t i = 0; i < rank; i++)
        shape[i] = mask >> i & 1 ? 1 : data->shape[at++];
    return tn_infer_set_shape(call, 0, rank, shape);
}

static const tn_port unsqueeze_13_inputs[] = {
    TN_PORT("data", "T:any|string", 0, "any tensor"),
    TN_PORT("axes", "i64", TN_PORT_VALUE_NEEDED,
            "axes of the output that are new; negative: from the end"),
};
static const tn_port unsqueeze_outputs[] = {
    TN_PORT_VIEW_OF("expanded", "T", 0, "the same elements")};
static const char *const unsqueeze_1_cases[] = {
    "axes=[0] | data=f32[3,4]",
    "axes=[-1,1] | data=f32[3,4]",
    "axes=[0] | data=i8[]",
};
static const char *const unsqueeze_13_cases[] = {
    "| data=f32[3,4] axes=i64[1]{0}",
    "| data=f16[3,4] axes=i64[3]{4,-4,0}",
    "| data=bool[0] axes=i64[1]{1}",
};

VIEW(unsqueeze, "Unsqueeze", 1, "Puts in axes of one element, by a field.", TN_OPERATOR_SELECTS,
     TN_FIELDS(axes_params, unsqueeze_1_fields), unsqueeze_infer, data_port);
VIEW(unsqueeze, "Unsqueeze", 13, "Puts in axes of one element, by an input.", TN_OPERATOR_SELECTS,
     TN_NO_FIELDS, unsqueeze_infer, unsqueeze_13_inputs);

TN_LAYER_WITHOUT_KERNELS(view, TN_OPERATORS(&identity_1, &flatten_1, &reshape_5, &reshape_14,
                                            &squeeze_1, &squeeze_13, &unsqueeze_1, &unsqueeze_13));
