/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cast and CastLike: the same elements in another type, which a field says or another tensor has.
 * Two of the fields speak of floats of 8 bits and less.
 */
#include "cast/cast.h"
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
             "floats of 8 bits: beyond the largest number comes that one, not NaN or infinity")
#define FIELD_ROUND_MODE(params)                                                                   \
    TN_FIELD_CHOICE(params, round_mode, TN_FIELD_ENUM, TN_OPTIONAL, "up", "up|down|nearest",       \
                    "exponents alone as a type, f8e8m0: where a number is no power of 2")

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

static bool is_of_small(const tn_call *call) {
    return tn_small_is(call->inputs[0]->type) || tn_small_is(call->outputs[0]->type);
}

/* The kernels' cells have 8 bits at least, and are not shared by threads. */
tn_status tn_cast_accepts(tn_call *call) {
    return is_of_small(call) ? TN_ERROR_UNSUPPORTED : TN_OK;
}

static tn_status cast_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (input != 0 || !tn_known_is(name, TN_FACET_CONVERT) || is_of_strings(call) ||
        is_of_small(call))
        return TN_ERROR_UNSUPPORTED;
    *(uint32_t *)out_facet->what = sizeof(uint32_t);
    return TN_OK;
}

static tn_status cast_as(tn_call *call, tn_small_mode mode) {
    if (is_of_strings(call)) return tn_cast_strings(call);
    tn_cast_elements(call->inputs[0], call->outputs[0], mode);
    return TN_OK;
}

static tn_status cast_reference(tn_call *call) {
    const cast_24_params *params = call->params; /* those of older versions are its beginning */
    tn_small_mode mode = {true, TN_SMALL_UP};
    if (call->op->since_version >= 19) mode.is_saturated = params->saturate;
    if (call->op->since_version >= 24) mode.rounding = (tn_small_rounding)params->round_mode;
    return cast_as(call, mode);
}

#define CAST_TYPES "any|string|" TN_SMALL_TYPES
static const tn_port cast_inputs[] = {TN_PORT("input", CAST_TYPES, 0, "any tensor")};
static const tn_port cast_outputs[] = {
    TN_PORT("output", CAST_TYPES, 0, "the same in the type `to`")};
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
    "to=i32 | input=u8[70]",
    "to=u32 | input=i8[3]{-1,127,-128}",
    "to=i32 | input=u64[2]{18446744073709551615,4294967298}",
    "to=u16 | input=u32[3]{4294967295,65536,65537}",
    "to=i64 | input=u32[3]{4294967295,1,2147483648}",
    "to=i64 | input=i32[64,128]",
    "to=i8 | input=f32[5]{300,-129,1e10,nan,-0.9}",
    "to=u64 | input=f64[3]{1e19,-1,3.5}",
    "to=u16 | input=f16[33]",
    "to=f16 | input=i64[4]{70000,-3,2049,65519}",
    "to=bf16 | input=f32[5]{nan,inf,1.00390625,-3e38,1e-40}",
    "to=bf16 | input=f16[33]",
    "to=f16 | input=f64[3]{1e-8,65519.9,0.1}",
    "to=bool | input=i64[3]{4294967296,0,-1}",
    "to=bool | input=f64[3]{nan,0,-0.0}",
    "to=u8 | input=bool[3]{0,1,1}",
    "to=f32 | input=i64[3]{9223372036854775807,16777217,-1}",
    "to=i32 | input=i64[5,1031]",
    "to=i4 | input=f32[5]{-9,-8.7,7.9,8,-0.5}",
    "to=u4 | input=u8[3]{15,16,7}",
    "to=i8 | input=i4[7]",
    "to=f32 | input=u2[9]",
    "to=i2 | input=i64[6]{1,2,-2,-3,0,1}",
    "to=f8e4m3 | input=f32[8]{0.001,448,500,-inf,nan,-0.0,17.5,1e-9}",
    "to=f8e4m3fnuz | input=f16[8]{0.001,240,500,-inf,nan,-0.0,17.5,-1}",
    "to=f8e5m2 | input=f32[8]{0.001,57344,61440,inf,nan,-0.0,17.5,1e-9}",
    "to=f8e5m2fnuz | input=f64[6]{1e-5,57344,-70000,inf,nan,-0.0}",
    "to=f32 | input=f8e4m3[33]",
    "to=f16 | input=f8e5m2[33]",
    "to=f4e2m1 | input=f32[9]{0.2,0.25,0.3,-2.5,5,5.1,inf,nan,-0.0}",
    "to=f32 | input=f4e2m1[5]",
    "to=f8e8m0 | input=f32[6]{1,1.5,0.3,1e-40,nan,3e38}",
    "to=i4 | input=i4[3]",
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

static tn_status cast_like_reference(tn_call *call) {
    const cast_like_params *params = call->params;
    return cast_as(call, (tn_small_mode){params->saturate, (tn_small_rounding)params->round_mode});
}

static const tn_port cast_like_inputs[] = {
    TN_PORT("input", CAST_TYPES, 0, "any tensor"),
    TN_PORT("target_type", "T:" CAST_TYPES, TN_PORT_SHAPE_ONLY, "whose type to take"),
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
    "| input=f32[5]{-9,-8.7,7.9,8,-0.5} target_type=i4[1]",
    "saturate=0 | input=f32[4]{1,500,-inf,448} target_type=f8e4m3[1]",
    "saturate=0 | input=f32[4]{1,70000,-inf,57344} target_type=f8e5m2[1]",
    "round_mode=nearest | input=f32[4]{1,1.5,1.4,3} target_type=f8e8m0[1]",
    "round_mode=down | input=f32[4]{1,1.5,1.4,3} target_type=f8e8m0[1]",
};

TN_OPERATOR(cast_like, "", "CastLike", 15, "A tensor's elements in the type of another tensor.",
            .traits = TN_OPERATOR_IDENTITY, TN_FIELDS(cast_like_params, cast_like_fields),
            .is_identity = cast_like_is_identity);

TN_LAYER(cast, TN_OPERATORS(&cast_6, &cast_19, &cast_24, &cast_like_15),
         TN_KERNELS(TN_LEVEL_LIST(tn_cast), TN_LEVEL_LIST(tn_cast_like)));
