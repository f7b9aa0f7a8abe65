/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout in inference: the input as it is, and a mask of ones. Networks that ask for training
 * (opset 12 on, by an input) are refused unless nothing would be dropped.
 */
#include "kit/operator/layer.h"

typedef struct dropout_params {
    uint64_t present;
    float ratio;
    bool is_test;
    int64_t seed;
} dropout_params;

static const tn_field dropout_6_fields[] = {
    TN_FIELD(dropout_params, ratio, TN_FIELD_F32, TN_OPTIONAL, "0.5",
             "part that training would drop"),
    TN_FIELD(dropout_params, is_test, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the network was meant for inference; it is run so in both cases"),
};
static const tn_field dropout_7_fields[] = {TN_FIELD(
    dropout_params, ratio, TN_FIELD_F32, TN_OPTIONAL, "0.5", "part that training would drop")};
static const tn_field dropout_12_fields[] = {TN_FIELD(
    dropout_params, seed, TN_FIELD_I64, TN_OPTIONAL, NULL, "of training's random numbers")};

enum { DROPOUT_RATIO = 1, DROPOUT_TRAINING = 2 };

/* A scalar given as a tensor of one element. */
static tn_status check_scalar(tn_call *call, uint32_t input) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    if (!tensor || tn_element_count(tensor) == 1) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be a scalar",
                            tn_infer_input_name(call, input));
}

static tn_status dropout_infer(tn_call *call) {
    TN_TRY(check_scalar(call, DROPOUT_RATIO));
    TN_TRY(check_scalar(call, DROPOUT_TRAINING));
    TN_TRY(tn_infer_copy_shape(call, 0, 0));
    return tn_infer_copy_shape(call, 1, 0);
}

/* Whether elements would be dropped, as far as the inputs' values are known. */
static bool may_drop(const tn_call *call) {
    const tn_tensor *training = tn_infer_input(call, DROPOUT_TRAINING);
    const tn_tensor *ratio = tn_infer_input(call, DROPOUT_RATIO);
    if (!training) return false;
    if (training->data && tn_element_i64(training, 0) == 0) return false;
    return !ratio || !ratio->data || tn_element_f64(ratio, 0) != 0;
}

static tn_status dropout_is_identity(tn_call *call) {
    return tn_infer_output(call, 1) || may_drop(call) ? TN_ERROR_UNSUPPORTED : TN_OK;
}

static tn_status dropout_reference(tn_call *call) {
    const tn_tensor *mask = tn_infer_output(call, 1);
    if (may_drop(call))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "training_mode is true: elements are only dropped in training");
    tn_element_copy(call->inputs[0], call->outputs[0]);
    for (int64_t i = 0, end = mask ? tn_element_count(mask) : 0; i < end; i++)
        tn_element_set_i64(mask, i, 1);
    return TN_OK;
}

static const tn_port dropout_6_inputs[] = {TN_PORT("data", "T:float", 0, "any tensor")};
static const tn_port dropout_12_inputs[] = {
    TN_PORT("data", "T:float", 0, "any tensor"),
    TN_PORT("ratio", "float", TN_PORT_OPTIONAL, "part that training would drop"),
    TN_PORT("training_mode", "bool", TN_PORT_OPTIONAL, "whether this is training"),
};
static const tn_port dropout_6_outputs[] = {
    TN_PORT("output", "T", 0, "data"),
    TN_PORT("mask", "T", TN_PORT_OPTIONAL, "ones: nothing was dropped"),
};
static const tn_port dropout_10_outputs[] = {
    TN_PORT("output", "T", 0, "data"),
    TN_PORT("mask", "bool", TN_PORT_OPTIONAL, "true: nothing was dropped"),
};
static const char *const dropout_cases[] = {
    "| data=f32[2,3,5]", "| data=f32[1]",   "| data=f32[]",
    "| data=f16[33]",    "| data=f64[0,3]", "| data=f32[16,4096]",
};

#define DROPOUT(version, field_table, input_table, output_table)                                   \
    TN_OPERATOR_VERSION(dropout, "", "Dropout", version, "Nothing, in inference.",                 \
                        TN_FIELDS(dropout_params, field_table), TN_INPUTS(input_table),            \
                        TN_OUTPUTS(output_table), TN_CASES(dropout_cases),                         \
                        .traits = TN_OPERATOR_IDENTITY, .is_identity = dropout_is_identity)
DROPOUT(6, dropout_6_fields, dropout_6_inputs, dropout_6_outputs);
DROPOUT(7, dropout_7_fields, dropout_6_inputs, dropout_6_outputs);
DROPOUT(10, dropout_7_fields, dropout_6_inputs, dropout_10_outputs);
DROPOUT(12, dropout_12_fields, dropout_12_inputs, dropout_10_outputs);

TN_LAYER_WITHOUT_KERNELS(dropout, TN_OPERATORS(&dropout_6, &dropout_7, &dropout_10, &dropout_12));
