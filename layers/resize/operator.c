/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resize: nearest, linear and cubic interpolation along any axes, by scales or to sizes. plan.c
 * reads a node, axis.c knows the formulas, reference.c computes; kernels lie beside them.
 */
#include "resize/resize.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include "resize/kernels.h"

#define FIELD_MODE(choices)                                                                        \
    TN_FIELD_CHOICE(tn_resize_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "nearest", choices,        \
                    "interpolation")
#define FIELDS_11                                                                                  \
    FIELD_MODE(TN_RESIZE_MODES),                                                                   \
        TN_FIELD_CHOICE(tn_resize_params, coordinate_transformation_mode, TN_FIELD_ENUM,           \
                        TN_OPTIONAL, "half_pixel", TN_RESIZE_COORDINATES,                          \
                        "how positions of the output lie in the input"),                           \
        TN_FIELD_CHOICE(tn_resize_params, nearest_mode, TN_FIELD_ENUM, TN_OPTIONAL,                \
                        "round_prefer_floor", TN_RESIZE_NEAREST_MODES,                             \
                        "which element is nearest (mode nearest)"),                                \
        TN_FIELD(tn_resize_params, cubic_coeff_a, TN_FIELD_F32, TN_OPTIONAL, "-0.75",              \
                 "coefficient a of the cubic filter"),                                             \
        TN_FIELD(tn_resize_params, exclude_outside, TN_FIELD_BOOL, TN_OPTIONAL, "0",               \
                 "whether elements outside the input weigh nothing (linear, cubic)"),              \
        TN_FIELD(tn_resize_params, extrapolation_value, TN_FIELD_F32, TN_OPTIONAL, "0",            \
                 "value outside the input (tf_crop_and_resize)")

static const tn_field resize_10_fields[] = {FIELD_MODE("nearest|linear")};
static const tn_field resize_11_fields[] = {FIELDS_11};
const tn_field tn_resize_18_fields[TN_RESIZE_18_FIELDS] = {
    FIELDS_11,
    TN_FIELD(tn_resize_params, antialias, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the filter is widened where the output is smaller (linear, cubic)"),
    TN_FIELD(tn_resize_params, axes, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "axes that roi, scales and sizes speak of; absent: all"),
    TN_FIELD_CHOICE(tn_resize_params, keep_aspect_ratio_policy, TN_FIELD_ENUM, TN_OPTIONAL,
                    "stretch", TN_RESIZE_POLICIES, "how sizes are kept in proportion"),
};

static tn_status resize_infer(tn_call *call) {
    tn_resize_plan plan;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_resize_read(call, &plan));
    for (uint32_t i = 0; i < plan.rank; i++)
        shape[i] = plan.axes[i].output;
    return tn_infer_set_shape(call, 0, plan.rank, shape);
}

static const tn_port resize_10_inputs[] = {
    TN_PORT("X", "T:any", 0, "any tensor"),
    TN_PORT("scales", "f32", TN_PORT_VALUE_NEEDED, "output over input, a number an axis"),
};
static const tn_port resize_inputs[] = {
    TN_PORT("X", "T:any", 0, "any tensor"),
    TN_PORT("roi", "float", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "region of the input, beginnings then ends, in 0..1 (tf_crop_and_resize)"),
    TN_PORT("scales", "f32", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "output over input, a number an axis"),
    TN_PORT("sizes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "extents of the output, instead of scales"),
};
static const tn_port resize_outputs[] = {
    TN_PORT("Y", "T", 0, "X resized"),
};

static const char *const resize_10_cases[] = {
    "| X=f32[1,1,2,4] scales=f32[4]{1,1,0.6,0.6}",
    "| X=u8[1,2,3,5] scales=f32[4]{1,1,2,3}",
    "mode=linear | X=f32[1,2,4,3] scales=f32[4]{1,1,1.5,2}",
    "mode=linear | X=f64[3] scales=f32[1]{0.7}",
};
#define CASES_11                                                                                   \
    "| X=f32[1] sizes=i64[1]{1}", "| X=f32[1,1,2,4] scales=f32[4]{1,1,0.6,1.3}",                   \
        "| X=f32[2,3,4,5] scales=f32[4]{1,1,2,2}",                                                 \
        "nearest_mode=floor coordinate_transformation_mode=asymmetric"                             \
        " | X=f32[1,2,5,7] sizes=i64[4]{1,2,9,3}",                                                 \
        "nearest_mode=ceil coordinate_transformation_mode=asymmetric"                              \
        " | X=i8[2,1,5,7] sizes=i64[4]{2,1,8,3}",                                                  \
        "nearest_mode=floor coordinate_transformation_mode=asymmetric"                             \
        " | X=f32[7]{0,1,2,3,4,5,6} scales=f32[1]{1.6} | Y=f32[11]{0,0,1,1,2,3,3,4,5,5,6}",        \
        "| X=f32[1,1,1,6]{0,1,2,3,4,5} scales=f32[4]{1,1,1,0.7} | Y=f32[1,1,1,4]{0,2,3,4}",        \
        "mode=linear | X=f32[1,3,9,11] sizes=i64[4]{1,3,17,5}",                                    \
        "mode=linear coordinate_transformation_mode=align_corners"                                 \
        " | X=f64[2,3,4,5] scales=f32[4]{1,1,2,3}",                                                \
        "mode=linear coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=7"      \
        " | X=f32[1,1,6,5] roi=f32[8]{0,0,0.2,-0.1,1,1,0.7,1.3} sizes=i64[4]{1,1,4,9}",            \
        "mode=cubic cubic_coeff_a=-0.5 exclude_outside=1"                                          \
        " | X=f32[1,2,7,6] scales=f32[4]{1,1,1.7,0.8}",                                            \
        "mode=cubic coordinate_transformation_mode=pytorch_half_pixel"                             \
        " | X=f16[1,1,5,4] sizes=i64[4]{1,1,1,9}",                                                 \
        "mode=linear | X=f32[0,3,4,4] sizes=i64[4]{0,3,8,8}",                                      \
        "mode=cubic | X=f32[1,3,64,48] sizes=i64[4]{1,3,128,96}",                                  \
        "| X=i8[2,19,4,5] scales=f32[4]{1,1,2,3}"
static const char *const resize_11_cases[] = {CASES_11};
static const char *const resize_18_cases[] = {
    CASES_11,
    "mode=linear antialias=1 | X=f32[1,2,17,19] sizes=i64[4]{1,2,5,7}",
    "mode=cubic antialias=1 exclude_outside=1 axes=[3,2] | X=f32[1,2,17,19] scales=f32[2]{0.3,2}",
    "axes=[-1,-2] keep_aspect_ratio_policy=not_larger | X=f32[1,1,4,6] sizes=i64[2]{9,9}",
    "axes=[2,3] keep_aspect_ratio_policy=not_smaller | X=f32[1,1,4,6] sizes=i64[2]{7,8}",
};

#define RESIZE_OPERATOR(version, text, field_table, input_table, case_table)                       \
    const tn_operator tn_resize_##version = {                                                      \
        TN_OPERATOR_BEGIN("", "Resize", version, text),                                            \
        TN_FIELDS(tn_resize_params, field_table),                                                  \
        TN_INPUTS(input_table),                                                                    \
        TN_OUTPUTS(resize_outputs),                                                                \
        .infer = resize_infer,                                                                     \
        .reference = tn_resize_reference,                                                          \
        TN_CASES(case_table),                                                                      \
    }
RESIZE_OPERATOR(10, "Resizes a tensor by scales.", resize_10_fields, resize_10_inputs,
                resize_10_cases);
RESIZE_OPERATOR(11, "Resizes a tensor by scales or to sizes.", resize_11_fields, resize_inputs,
                resize_11_cases);
RESIZE_OPERATOR(18, "Resizes some axes of a tensor by scales or to sizes.", tn_resize_18_fields,
                resize_inputs, resize_18_cases);

static const tn_operator *const resize_operators[] = {&tn_resize_10, &tn_resize_11, &tn_resize_18,
                                                      &tn_quantized_resize_1};
TN_LAYER_WITH_REWRITES(resize, resize_operators, tn_resize_kernels, tn_quantized_resize_rewrites);
