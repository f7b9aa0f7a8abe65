/* SPDX-License-Identifier: Apache-2.0 */
/* CastLike: the same elements in the type of another tensor, by the rules of kit/operator/cast.h.
 */
#include "kit/operator/cast.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"

typedef struct cast_like_params {
    uint64_t present;
    bool saturate;
    uint32_t round_mode;
} cast_like_params;

static const tn_field cast_like_fields[] = {
    TN_FIELD(cast_like_params, saturate, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "speaks of types of 8 bits and less alone, which are not offered"),
    TN_FIELD_CHOICE(cast_like_params, round_mode, TN_FIELD_ENUM, TN_OPTIONAL, "up",
                    "up|down|nearest", "speaks of exponents alone as a type, which is not offered"),
};

static tn_status cast_like_infer(tn_call *call) {
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status cast_like_is_identity(tn_call *call) {
    return call->inputs[0]->type == call->inputs[1]->type ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status cast_like_reference(tn_call *call) {
    tn_cast_elements(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static const tn_port cast_like_inputs[] = {
    TN_PORT("input", "any", 0, "any tensor"),
    TN_PORT("target_type", "T:any", TN_PORT_SHAPE_ONLY, "whose type to take"),
};
static const tn_port cast_like_outputs[] = {TN_PORT("output", "T", 0, "the same in that type")};
static const char *const cast_like_cases[] = {
    "| input=f32[2,3,5] target_type=f16[1]",
    "| input=f16[33] target_type=f64[]",
    "| input=f32[6]{-2.7,-0.5,0.5,1.5,2.5,1e20} target_type=i32[2]",
    "| input=f32[4]{0,-0.0,0.1,-7} target_type=bool[1]",
    "| input=u64[2]{18446744073709551615,1} target_type=f32[1]",
    "| input=i64[2,0] target_type=u8[3]",
    "| input=i16[9] target_type=i16[1]",
};

TN_OPERATOR(cast_like, "", "CastLike", 15, "A tensor's elements in the type of another tensor.",
            TN_FIELDS(cast_like_params, cast_like_fields), .traits = TN_OPERATOR_IDENTITY,
            .is_identity = cast_like_is_identity);

TN_LAYER_WITHOUT_KERNELS(cast_like, TN_OPERATORS(&cast_like_15));
