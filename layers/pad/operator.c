/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pad: a tensor with elements put before and after it along its axes: a constant, the nearest
 * element, the elements mirrored or repeated. Negative pads take elements away.
 */
#include "kit/operator/layer.h"
#include <tenon/kit/region.h>
#include "pad/pad.h"

#define FIELD_MODE(choices)                                                                        \
    TN_FIELD_CHOICE(tn_pad_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "constant", choices,          \
                    "what is put there")

static const tn_field pad_2_fields[] = {
    FIELD_MODE("constant|reflect|edge"),
    TN_FIELD(tn_pad_params, pads, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "elements before each axis, then after each axis"),
    TN_FIELD(tn_pad_params, value, TN_FIELD_F32, TN_OPTIONAL, "0", "the constant"),
};
static const tn_field pad_11_fields[] = {FIELD_MODE("constant|reflect|edge")};
static const tn_field pad_19_fields[] = {FIELD_MODE("constant|reflect|edge|wrap")};

static tn_status pad_infer(tn_call *call) {
    tn_pad_plan plan = {0};
    TN_TRY(tn_pad_read(call, &plan));
    return tn_infer_set_shape(call, 0, plan.rank, plan.output);
}

static const tn_port pad_2_inputs[] = {TN_PORT("data", "T:float", 0, "any tensor")};
#define PORTS_11                                                                                   \
    TN_PORT("data", "T:any", 0, "any tensor"),                                                     \
        TN_PORT("pads", "i64", TN_PORT_VALUE_NEEDED,                                               \
                "elements before each axis, then after each axis"),                                \
        TN_PORT("constant_value", "T", TN_PORT_OPTIONAL, "the constant; absent: zero")
static const tn_port pad_11_inputs[] = {PORTS_11};
static const tn_port pad_18_inputs[] = {
    PORTS_11,
    TN_PORT("axes", "i64|i32", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "the axes that pads speaks of; absent: all"),
};
static const tn_port pad_outputs[] = {TN_PORT("output", "T", 0, "data with its padding")};

static const char *const pad_2_cases[] = {
    "pads=[0,0,1,1,0,0,1,2] | data=f32[1,3,4,5]",
    "pads=[1,2] value=-1.5 | data=f64[3]",
    "pads=[0,2,0,1] mode=reflect | data=f32[2,4]",
    "pads=[1,1,1,1] mode=edge | data=f16[2,3]",
    "pads=[0,1,2,0,0,0,1,1] value=0.5 | data=f32[1,3,4,5]",
    "pads=[-1,1,0,-2] | data=f32[3,4]",
};
#define CASES_11                                                                                   \
    "| data=f32[1,3,4,5] pads=i64[8]{0,0,1,1,0,0,1,2}",                                            \
        "| data=i32[3] pads=i64[2]{1,2} constant_value=i32[]{-7}",                                 \
        "| data=bool[2,2] pads=i64[4]{1,0,0,1} constant_value=bool[]{1}",                          \
        "mode=reflect | data=f32[2,4] pads=i64[4]{0,2,0,9}",                                       \
        "mode=reflect | data=f32[1,3] pads=i64[4]{2,1,1,1}",                                       \
        "mode=edge | data=f16[2,3] pads=i64[4]{1,1,1,1}",                                          \
        "mode=edge | data=i64[2,3,4] pads=i64[6]{1,-1,0,2,0,0}",                                   \
        "| data=f32[0,3] pads=i64[4]{1,0,1,0} constant_value=f32[]{2}",                            \
        "| data=f32[] pads=i64[0]", "| data=f32[3] pads=i64[2]{-3,2}",                             \
        "| data=f32[2,3,4,5] pads=i64[8]{0,1,2,0,1,0,-1,3} constant_value=f32[]{-1.5}",            \
        "mode=reflect | data=f32[2,3,4,5] pads=i64[8]{0,1,2,3,1,0,1,2}",                           \
        "mode=edge | data=f32[1,3,4,5] pads=i64[8]{0,0,2,1,0,0,1,2}",                              \
        "| data=f32[1,64,56,56] pads=i64[8]{0,0,1,1,0,0,1,1}",                                     \
        "mode=reflect | data=f32[2,3,19,37] pads=i64[8]{0,0,3,3,0,0,3,3}",                         \
        "mode=reflect | data=u8[3,50,61] pads=i64[6]{0,40,45,0,7,50}",                             \
        "mode=edge | data=f64[2,30,21] pads=i64[6]{1,2,1,0,1,70}",                                 \
        "mode=edge | data=f32[5,18,7] pads=i64[6]{0,2,0,0,1,0}"
static const char *const pad_11_cases[] = {CASES_11};
#define CASES_18                                                                                   \
    CASES_11, "| data=f32[2,3,4] pads=i64[4]{1,2,0,1} axes=i64[2]{-1,0}",                          \
        "mode=edge | data=u8[2,3,4] pads=i64[2]{1,2} axes=i32[1]{1}"
static const char *const pad_18_cases[] = {CASES_18};
static const char *const pad_19_cases[] = {
    CASES_18,
    "mode=wrap | data=f32[2,3] pads=i64[4]{3,1,1,7}",
    "mode=wrap | data=f32[4,3] pads=i64[4]{-1,1,2,0}",
    "mode=wrap | data=i16[3,20,17] pads=i64[6]{0,30,9,1,4,80}",
};

#define PAD(version, field_table, input_table)                                                     \
    static const tn_operator pad_##version = {                                                     \
        TN_OPERATOR_BEGIN("", "Pad", version,                                                      \
                          "Puts elements around a tensor, or takes them away."),                   \
        TN_FIELDS(tn_pad_params, field_table),                                                     \
        TN_INPUTS(input_table),                                                                    \
        TN_OUTPUTS(pad_outputs),                                                                   \
        .infer = pad_infer,                                                                        \
        .reference = tn_pad_reference,                                                             \
        TN_CASES(pad_##version##_cases),                                                           \
    }
PAD(2, pad_2_fields, pad_2_inputs);
PAD(11, pad_11_fields, pad_11_inputs);
PAD(18, pad_11_fields, pad_18_inputs);
PAD(19, pad_19_fields, pad_18_inputs);

static const tn_kernel pad_runs = TN_REGION_KERNEL("Pad", tn_pad_run);

TN_LAYER(pad, TN_OPERATORS(&pad_2, &pad_11, &pad_18, &pad_19, &tn_center_crop_pad),
         TN_KERNELS(&pad_runs, &tn_pad_bytes, &tn_center_crop_pad_runs));
