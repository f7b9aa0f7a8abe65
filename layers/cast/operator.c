/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cast and CastLike: the same elements in another type, which a field says or another tensor has.
 * Casts to types of 8 bits and less are not offered, of which two of the fields speak.
 */
#include "cast/strings.h"
#include "kit/operator/cast.h"
#include <tenon/kit/known_steps.h>
#include "kit/operator/layer.h"

#include <tenon/plugin/before.h>

typedef struct cast_params {
    uint64_t present;
    tn_type to;
} cast_params;

typedef struct cast_19_params {
    uint64_t present;
    tn_type to;
    bool saturate;
} cast_19_params;

typedef struct cast_24_params {
    uint64_t present;
    tn_type to;
    bool saturate;
    uint32_t round_mode;
} cast_24_params;

#define FIELD_TO(params)                                                                           \
    TN_FIELD(params, to, TN_FIELD_TYPE, TN_REQUIRED, NULL, "type of the output")
#define FIELD_SATURATE(params)                                                                     \
    TN_FIELD(params, saturate, TN_FIELD_BOOL, TN_OPTIONAL, "1",                                    \
             "speaks of types of 8 bits and less alone, which are not offered")
#define FIELD_ROUND_MODE(params)                                                                   \
    TN_FIELD_CHOICE(params, round_mode, TN_FIELD_ENUM, TN_OPTIONAL, "up", "up|down|nearest",       \
                    "speaks of exponents alone as a type, which is not offered")

static const tn_field cast_6_fields[] = {FIELD_TO(cast_params)};
static const tn_field cast_19_fields[] = {FIELD_TO(cast_19_params), FIELD_SATURATE(cast_19_params)};
static const tn_field cast_24_fields[] = {
    FIELD_TO(cast_24_params),
    FIELD_SATURATE(cast_24_params),
    FIELD_ROUND_MODE(cast_24_params),
};

/* All parameter structs begin with these members. */
static tn_type cast_type(const tn_call *call) {
    return ((const cast_params *)call->params)->to;
}

static tn_status cast_infer(tn_call *call) {
    tn_infer_set_type(call, 0, cast_type(call));
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status cast_is_identity(tn_call *call) {
    return call->inputs[0]->type == cast_type(call) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static bool is_of_strings(const tn_call *call) {
    return call->inputs[0]->type == TN_STRING || call->outputs[0]->type == TN_STRING;
}

static tn_status cast_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (input != 0 || !tn_known_is(name, TN_FACET_CONVERT) || is_of_strings(call))
        return TN_ERROR_UNSUPPORTED;
    *(uint32_t *)out_facet->what = sizeof(uint32_t);
    return TN_OK;
}

static tn_status cast_reference(tn_call *call) {
    if (is_of_strings(call)) return tn_cast_strings(call);
    tn_cast_elements(call->inputs[0], call->outputs[0]);
    return TN_OK;
}

static const tn_port cast_inputs[] = {TN_PORT("input", "any|string", 0, "any tensor")};
static const tn_port cast_outputs[] = {
    TN_PORT("output", "any|string", 0, "the same in the type `to`")};
static const char *const cast_cases[] = {
    "to=f16 | input=f32[2,3,5]",
    "to=f32 | input=u8[2,33]",
    "to=f32 | input=i8[33]",
    "to=f32 | input=f16[33]",
    "to=bf16 | input=f32[33]",
    "to=f64 | input=bf16[]",
    "to=i32 | input=f32[6]{-2.7,-0.5,0.5,1.5,2.5,1e20}",
    "to=u8 | input=f32[4]{-1,255.5,256,3}",
    "to=i64 | input=f64[3]{1e18,-1e18,0.1}",
    "to=bool | input=f32[4]{0,-0.0,0.1,-7}",
    "to=f32 | input=bool[3]{0,1,1}",
    "to=u8 | input=i32[3]{-1,256,255}",
    "to=f32 | input=u64[2]{18446744073709551615,1}",
    "to=f32 | input=i64[2,0]",
    "to=i16 | input=i16[9]",
    "to=i64 | input=i32[64,128]",
    "to=string | input=string[3]",
    "to=string | input=f32[5]{0.1,-3,1e20,nan,inf} | output=string[5]{0.1,-3,1e+20,NaN,INF}",
    "to=string | input=i64[2]{-9223372036854775808,7} | "
    "output=string[2]{-9223372036854775808,7}",
    "to=string | input=u64[1]{9223372036854775807} | output=string[1]{9223372036854775807}",
    "to=string | input=bool[2]{0,1} | output=string[2]{0,1}",
    "to=f32 | input=string[6]{0.1,-1e3,+INF,-inf,nan,7} | output=f32[6]{0.1,-1000,inf,-inf,nan,7}",
    "to=i64 | input=string[3]{-9223372036854775808,2.75,7} | "
    "output=i64[3]{-9223372036854775808,2,7}",
    "to=u64 | input=string[1]{9223372036854775807} | output=u64[1]{9223372036854775807}",
    "to=bool | input=string[2]{0,1} | output=bool[2]{0,1}",
};

#define CAST(version, params, field_table)                                                         \
    TN_OPERATOR(cast, "", "Cast", version, "A tensor's elements in another type.",                 \
                TN_FIELDS(params, field_table),                                                    \
                .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY,                          \
                .is_identity = cast_is_identity, .facet = cast_facet)
CAST(6, cast_params, cast_6_fields);
CAST(19, cast_19_params, cast_19_fields);
CAST(24, cast_24_params, cast_24_fields);

/* ----------------------------------------------------------------------------------------------
 * CastLike */

typedef struct cast_like_params {
    uint64_t present;
    bool saturate;
    uint32_t round_mode;
} cast_like_params;

static const tn_field cast_like_fields[] = {
    FIELD_SATURATE(cast_like_params),
    FIELD_ROUND_MODE(cast_like_params),
};

static tn_status cast_like_infer(tn_call *call) {
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status cast_like_is_identity(tn_call *call) {
    return call->inputs[0]->type == call->inputs[1]->type ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static const tn_port cast_like_inputs[] = {
    TN_PORT("input", "any|string", 0, "any tensor"),
    TN_PORT("target_type", "T:any|string", TN_PORT_SHAPE_ONLY, "whose type to take"),
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

static const tn_operator cast_like_15 = {
    TN_OPERATOR_BEGIN("", "CastLike", 15, "A tensor's elements in the type of another tensor."),
    .traits = TN_OPERATOR_IDENTITY,
    TN_FIELDS(cast_like_params, cast_like_fields),
    TN_INPUTS(cast_like_inputs),
    TN_OUTPUTS(cast_like_outputs),
    .infer = cast_like_infer,
    .reference = cast_reference,
    .is_identity = cast_like_is_identity,
    TN_CASES(cast_like_cases),
};

TN_LAYER_WITHOUT_KERNELS(cast, TN_OPERATORS(&cast_6, &cast_19, &cast_24, &cast_like_15));
