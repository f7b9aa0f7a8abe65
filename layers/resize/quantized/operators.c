/* SPDX-License-Identifier: Apache-2.0 */
/* The operator of resize.h: shape, reference, table. */
#include "resize/kernels.h"
#include "resize/quantized/resize.h"

#include <math.h>

tn_status tn_quantized_resize_read(tn_call *call, tn_resize_plan *out_plan) {
    tn_call probe = *call;
    for (uint32_t i = TN_RESIZE_X_SCALE; i <= TN_RESIZE_Y_ZERO; i++) {
        const tn_tensor *tensor = tn_infer_input(call, i);
        if (tensor && tn_element_count(tensor) != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one number",
                                    tn_infer_input_name(call, i));
    }
    probe.op = &tn_resize_18; /* its fields and first inputs */
    TN_TRY(tn_resize_read(&probe, out_plan));
    if (out_plan->coordinates == TN_RESIZE_TF_CROP_AND_RESIZE)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "integers are not cropped and resized");
    return TN_OK;
}

static int32_t zero_of(const tn_call *call, uint32_t input) {
    const tn_tensor *zero = tn_infer_input(call, input);
    return zero ? (int32_t)tn_element_i64(zero, 0) : 0;
}

void tn_quantized_resize_steps(const tn_call *call, tn_resize_steps *out_steps) {
    tn_resize_steps steps = {.flip = call->inputs[0]->type == TN_I8 ? 0x80 : 0};
    steps.x_zero = zero_of(call, TN_RESIZE_X_ZERO) + steps.flip;
    steps.y_zero = zero_of(call, TN_RESIZE_Y_ZERO) + steps.flip;
    steps.ratio = tn_element_f64(call->inputs[TN_RESIZE_X_SCALE], 0) /
                  tn_element_f64(call->inputs[TN_RESIZE_Y_SCALE], 0);
    *out_steps = steps;
}

static tn_status quantized_resize_infer(tn_call *call) {
    tn_resize_plan plan;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_quantized_resize_read(call, &plan));
    for (uint32_t i = 0; i < plan.rank; i++)
        shape[i] = plan.axes[i].output;
    return tn_infer_set_shape(call, 0, plan.rank, shape);
}

static void read_steps(const tn_call *call, int64_t begin, int64_t count, double *to) {
    const int32_t zero = zero_of(call, TN_RESIZE_X_ZERO);
    for (int64_t i = 0; i < count; i++)
        to[i] = (double)(tn_element_i64(call->inputs[0], begin + i) - zero);
}

static void write_steps(const tn_call *call, int64_t begin, int64_t count, const double *from) {
    tn_resize_steps steps;
    tn_quantized_resize_steps(call, &steps);
    for (int64_t i = 0; i < count; i++) {
        const double value = from[i] * steps.ratio;
        tn_element_set_f64(call->outputs[0], begin + i,
                           (isnan(value) ? 0 : nearbyint(value)) + steps.y_zero - steps.flip);
    }
}

static tn_status quantized_resize_reference(tn_call *call) {
    static const tn_resize_ends ends = {read_steps, write_steps};
    tn_resize_plan plan;
    TN_TRY(tn_quantized_resize_read(call, &plan));
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    return tn_resize_smooth(call, &plan, &ends);
}

static const tn_port quantized_resize_inputs[] = {
    TN_PORT("X", "T:u8|i8", 0, "any tensor"),
    TN_PORT("roi", "float", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "not read: Resize's region of a crop"),
    TN_PORT("scales", "f32", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "output over input, a number an axis"),
    TN_PORT("sizes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED,
            "extents of the output, instead of scales"),
    TN_PORT("x_scale", "f32", 0, "one number"),
    TN_PORT("x_zero_point", "T", TN_PORT_OPTIONAL, "one number; absent: 0"),
    TN_PORT("y_scale", "f32", 0, "one number"),
    TN_PORT("y_zero_point", "T", TN_PORT_OPTIONAL, "one number; absent: 0"),
};
static const tn_port quantized_resize_outputs[] = {
    TN_PORT("Y", "T", 0, "X resized, in steps of y_scale")};
#define SCALES_OF(type, x_zero, y_zero)                                                            \
    " x_scale=f32[]{0.03} x_zero_point=" type "[]{" x_zero "} y_scale=f32[1]{0.025} "              \
    "y_zero_point=" type "[1]{" y_zero "}"
#define SAME(type) " x_scale=f32[]{0.5} y_scale=f32[]{0.5}"
static const char *const quantized_resize_cases[] = {
    ("mode=linear coordinate_transformation_mode=asymmetric | X=u8[1,1,4]{1,2,5,8} "
     "sizes=i64[3]{1,1,8}" SAME("u8") " | Y=u8[1,1,8]{1,2,2,4,5,6,8,8}"),
    "mode=linear | X=u8[1,3,9,11] scales=f32[4]{1,1,2,2}" SAME("u8"),
    "mode=linear | X=u8[1,3,9,11] sizes=i64[4]{1,3,17,5}" SCALES_OF("u8", "128", "9"),
    "mode=linear | X=i8[1,20,9,11] sizes=i64[4]{1,20,54,66}" SAME("i8"),
    ("mode=linear coordinate_transformation_mode=align_corners | X=i8[2,3,4,5] "
     "scales=f32[4]{1,1,2,3}" SCALES_OF("i8", "-128", "3")),
    "mode=cubic axes=[2,3] | X=u8[1,2,7,6] scales=f32[2]{1.5,0.8}" SCALES_OF("u8", "0", "0"),
    "mode=linear antialias=1 | X=i8[1,2,17,19] sizes=i64[4]{1,2,5,7}" SCALES_OF("i8", "5", "-5"),
    "| X=u8[2,3,4,5] scales=f32[4]{1,1,2,2}" SCALES_OF("u8", "7", "9"),
    "mode=linear | X=u8[3,4,5] scales=f32[3]{2,1,1}" SCALES_OF("u8", "7", "9"),
    "mode=linear | X=u8[3,4,5] scales=f32[3]{1,1,1}" SCALES_OF("u8", "7", "9"),
    "mode=linear | X=u8[0,3,4,4] sizes=i64[4]{0,3,8,8}" SAME("u8"),
    "mode=linear | X=u8[1,64,28,28] sizes=i64[4]{1,64,56,56}" SAME("u8"),
};

const tn_operator tn_quantized_resize_1 =
    TN_OPERATOR_TABLE(quantized_resize, "Tenon", "QLinearResize", 1,
                      "Resizes 8-bit integers that stand for floating-point values.",
                      .params_bytes = sizeof(tn_resize_params), .field_size = sizeof(tn_field),
                      .field_count = TN_RESIZE_18_FIELDS, .fields = tn_resize_18_fields);
