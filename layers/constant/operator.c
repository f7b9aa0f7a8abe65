/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant: a tensor given by a field, whole or as a number or a list of numbers. It is folded when
 * a network is built. Strings become constants of the graph when a network is read; a sparse value
 * is read as the dense tensor that it stands for.
 */
#include "kit/operator/layer.h"

typedef struct constant_params {
    uint64_t present;
    const tn_tensor *value;
    float value_float;
    int64_t value_int;
    tn_f32s value_floats;
    tn_i64s value_ints;
} constant_params;

static const tn_field constant_fields[] = {
    TN_FIELD(constant_params, value, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "the tensor"),
    TN_FIELD(constant_params, value_float, TN_FIELD_F32, TN_OPTIONAL, NULL, "a scalar of f32"),
    TN_FIELD(constant_params, value_int, TN_FIELD_I64, TN_OPTIONAL, NULL, "a scalar of i64"),
    TN_FIELD(constant_params, value_floats, TN_FIELD_F32S, TN_OPTIONAL, NULL, "a vector of f32"),
    TN_FIELD(constant_params, value_ints, TN_FIELD_I64S, TN_OPTIONAL, NULL, "a vector of i64"),
};

/* What the one given field says. */
typedef struct constant_value {
    tn_type type;
    uint32_t rank;
    const int64_t *shape;
    const void *data;
    int64_t count; /* of a vector; `shape` points at it */
} constant_value;

static tn_status find_value(tn_call *call, constant_value *out_value) {
    const constant_params *params = call->params;
    switch (params->present) {
    case 1:
        if (!params->value) break;
        out_value->type = params->value->type;
        out_value->rank = params->value->rank;
        out_value->shape = params->value->shape;
        out_value->data = params->value->data;
        return TN_OK;
    case 2:
        *out_value = (constant_value){TN_F32, 0, NULL, &params->value_float, 1};
        return TN_OK;
    case 4:
        *out_value = (constant_value){TN_I64, 0, NULL, &params->value_int, 1};
        return TN_OK;
    case 8:
        *out_value = (constant_value){TN_F32, 1, &out_value->count, params->value_floats.items,
                                      (int64_t)params->value_floats.count};
        return TN_OK;
    case 16:
        *out_value = (constant_value){TN_I64, 1, &out_value->count, params->value_ints.items,
                                      (int64_t)params->value_ints.count};
        return TN_OK;
    default:
        break;
    }
    return call->host->fail(call, TN_ERROR_ARGUMENT,
                            "exactly one of the fields 'value', 'value_float', 'value_int', "
                            "'value_floats' and 'value_ints' must be given");
}

static tn_status constant_infer(tn_call *call) {
    constant_value value = {0};
    TN_TRY(find_value(call, &value));
    tn_infer_set_type(call, 0, value.type);
    return tn_infer_set_shape(call, 0, value.rank, value.shape);
}

static tn_status constant_reference(tn_call *call) {
    constant_value value = {0};
    TN_TRY(find_value(call, &value));
    size_t bytes = (size_t)tn_element_count(call->outputs[0]) * tn_element_bytes(value.type);
    if (bytes) memcpy(call->outputs[0]->data, value.data, bytes);
    return TN_OK;
}

static const tn_port constant_outputs[] = {TN_PORT("output", "any", 0, "the constant")};
static const char *const constant_cases[] = {
    "value_float=0.5 |",
    "value_int=-3 |",
    "value_floats=[1.5,-2,3] |",
    "value_ints=[7] |",
};

TN_OPERATOR_VERSION(constant, "", "Constant", 1, "A constant tensor.",
                    TN_FIELDS(constant_params, constant_fields), TN_OUTPUTS(constant_outputs),
                    TN_CASES(constant_cases), .traits = TN_OPERATOR_CONSTANT, TN_NO_INPUTS);

TN_LAYER_WITHOUT_KERNELS(constant, TN_OPERATORS(&constant_1));
