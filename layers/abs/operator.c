/* SPDX-License-Identifier: Apache-2.0 */
/* Abs: y = |x|, element by element; the lowest integer stays what it is. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/math/element.h"
#include "kit/operator/layer.h"

#include <math.h>

static double abs_real(const void *params, double x) {
    (void)params;
    return fabs(x);
}

static int64_t abs_whole(const void *params, int64_t x) {
    (void)params;
    return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
}

static void abs_row(const void *params, uint64_t count, const float *const *inputs,
                    const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_ABS, 0, 0, count, inputs, strides, output);
}

static tn_status abs_reference(tn_call *call) {
    static const tn_unary_function function = {.real = abs_real, .whole = abs_whole};
    const tn_tensor *x = call->inputs[0];
    if (x->type >= TN_U64 && x->type <= TN_U8) { /* all are at least zero */
        tn_element_copy(x, call->outputs[0]);
        return TN_OK;
    }
    return tn_unary_compute(call, &function);
}

static const tn_port abs_inputs[] = {
    TN_PORT("X", "T:number", 0, "any tensor"),
};
static const tn_port abs_outputs[] = {
    TN_PORT("Y", "T", 0, "how far from zero the numbers are"),
};
static const char *const abs_cases[] = {
    "| X=f32[2,3,5,7]",    "| X=f32[1]",
    "| X=f32[]",           "| X=f32[3,0,2]",
    "| X=f64[17]",         "| X=f16[4,33]",
    "| X=bf16[63]",        "| X=i32[2,9,3]",
    "| X=i8[3]{-128,0,5}", "| X=i64[2]{-9223372036854775807,3}",
    "| X=u8[3]{0,7,255}",  "| X=u64[2]{18446744073709551615,1}",
    "| X=f32[1,64,56,56]",
};

static const tn_operator abs_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Abs",
    .doc = "Absolute values.",
    TN_NO_FIELDS,
    TN_INPUTS(abs_inputs),
    TN_OUTPUTS(abs_outputs),
    .infer = tn_unary_infer,
    .reference = abs_reference,
    .expression = "fabs(X)",
    .row = abs_row,
    TN_CASES(abs_cases),
};

TN_MAP_KERNELS(abs, "Abs", TN_MAP_ABS, NULL);

static const tn_operator *const abs_operators[] = {&abs_6};
TN_LAYER(abs, abs_operators, abs_kernels);
