/* SPDX-License-Identifier: Apache-2.0 */
/* EyeLike: a matrix of the input's shape with ones along a diagonal and zeros elsewhere. */
#include "kit/operator/layer.h"

typedef struct eye_like_params {
    uint64_t present;
    tn_type dtype;
    int64_t k;
} eye_like_params;

static const tn_field eye_like_fields[] = {
    TN_FIELD(eye_like_params, dtype, TN_FIELD_TYPE, TN_OPTIONAL, NULL,
             "type of the output; absent: the input's"),
    TN_FIELD(eye_like_params, k, TN_FIELD_I64, TN_OPTIONAL, "0",
             "how far the diagonal is to the right of the main one; negative: to the left"),
};

static tn_status eye_like_infer(tn_call *call) {
    const eye_like_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, 0, 2, 2));
    if (tn_element_bytes(params->dtype) == 0 && params->dtype != TN_NONE)
        return call->host->fail(call, TN_ERROR_TYPE, "field 'dtype' is a type without this matrix");
    tn_infer_set_type(call, 0, params->dtype == TN_NONE ? call->inputs[0]->type : params->dtype);
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status eye_like_reference(tn_call *call) {
    const eye_like_params *params = call->params;
    const tn_tensor *y = call->outputs[0];
    const int64_t height = y->shape[0], width = y->shape[1], k = params->k;
    const size_t bytes = (size_t)tn_element_count(y) * tn_element_bytes(y->type);
    if (bytes == 0) return TN_OK;
    memset(y->data, 0, bytes);
    for (int64_t row = 0; row < height; row++)
        if (k >= -row && k < width - row) tn_element_set_i64(y, row * width + row + k, 1);
    return TN_OK;
}

static const tn_port eye_like_inputs[] = {
    TN_PORT("input", "any", TN_PORT_SHAPE_ONLY, "a matrix, of which the shape counts"),
};
static const tn_port eye_like_outputs[] = {TN_PORT("output", "any", 0, "ones along a diagonal")};
static const char *const eye_like_cases[] = {
    "| input=f32[3,4]",
    "k=1 dtype=f64 | input=i32[4,5]",
    "k=-2 dtype=bool | input=f16[4,3]",
    "k=9223372036854775807 | input=u8[2,3]",
    "k=-9223372036854775808 | input=bf16[2,3]",
    "dtype=f16 | input=i64[0,3]",
    "k=1 dtype=i32 | input=f32[2,3] | output=i32[2,3]{0,1,0,0,0,1}",
};

TN_OPERATOR(eye_like, "", "EyeLike", 9, "Ones along a diagonal of a matrix.",
            TN_FIELDS(eye_like_params, eye_like_fields));

TN_LAYER_WITHOUT_KERNELS(eye_like, TN_OPERATORS(&eye_like_9));
