/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BitCast: the bits of a tensor's elements as elements of another type of as many bits. As a
 * boolean, which is 0 or 1, a byte is whether it is not 0.
 */
#include "kit/operator/moves.h"

typedef struct bit_cast_params {
    uint64_t present;
    tn_type to;
} bit_cast_params;

static const tn_field bit_cast_fields[] = {
    TN_FIELD(bit_cast_params, to, TN_FIELD_TYPE, TN_REQUIRED, NULL, "type of the output"),
};

static tn_status bit_cast_infer(tn_call *call) {
    const bit_cast_params *params = call->params;
    const size_t bytes = tn_element_bytes(call->inputs[0]->type);
    if (bytes != tn_element_bytes(params->to))
        return call->host->fail(call, TN_ERROR_TYPE,
                                "field 'to' is a type of %zu bytes, the input's has %zu",
                                tn_element_bytes(params->to), bytes);
    tn_infer_set_type(call, 0, params->to);
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status bit_cast_move(tn_call *call, tn_region_mover mover) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    tn_region region;
    tn_region_init(&region, y->rank, y->shape, y->type);
    TN_TRY(mover(call, &region, y->data, x->data));
    if (y->type != TN_BOOL || x->type == TN_BOOL) return TN_OK;
    for (int64_t i = 0, end = tn_element_count(y); i < end; i++)
        tn_element_set_i64(y, i, tn_element_i64(x, i));
    return TN_OK;
}
TN_MOVES(bit_cast, bit_cast_move)

static tn_status bit_cast_is_identity(tn_call *call) {
    const bit_cast_params *params = call->params;
    return call->inputs[0]->type == params->to ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const tn_port bit_cast_inputs[] = {TN_PORT("input", "any", 0, "any tensor")};
static const tn_port bit_cast_outputs[] = {TN_PORT("output", "any", 0, "its bits as type `to`")};
static const char *const bit_cast_cases[] = {
    "to=i32 | input=f32[2,3]",
    "to=i32 | input=f32[2]{1,-2} | output=i32[2]{1065353216,-1073741824}",
    "to=f64 | input=i64[]{4607182418800017408} | output=f64[]{1}",
    "to=u8 | input=bool[3]{0,1,1}",
    "to=bool | input=u8[3]{0,1,7} | output=bool[3]{0,1,1}",
    "to=bf16 | input=u16[3]{16256,0,49152} | output=bf16[3]{1,0,-2}",
    "to=i8 | input=u8[2,3,5]",
    "to=u64 | input=i64[0,3]",
    "to=f16 | input=f16[7]",
    "to=f32 | input=u32[64,96]",
};

TN_OPERATOR(bit_cast, "", "BitCast", 26, "The bits of elements as another type.",
            TN_FIELDS(bit_cast_params, bit_cast_fields), .traits = TN_OPERATOR_IDENTITY,
            .is_identity = bit_cast_is_identity);
static const tn_kernel bit_cast_runs = TN_REGION_KERNEL("BitCast", bit_cast_run);

TN_LAYER(bit_cast, TN_OPERATORS(&bit_cast_26), TN_KERNELS(&bit_cast_runs));
