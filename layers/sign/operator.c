/* SPDX-License-Identifier: Apache-2.0 */
/* Sign: -1, 0 or 1, element by element; NaN of NaN. */
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/math/element.h"
#include "kit/operator/layer.h"

static double sign_real(const void *params, double x) {
    (void)params;
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static int64_t sign_whole(const void *params, int64_t x) {
    (void)params;
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static void sign_row(const void *params, uint64_t count, const float *const *inputs,
                     const uint64_t *strides, float *output) {
    (void)params;
    tn_rows_map(TN_MAP_SIGN, 0, 0, count, inputs, strides, output);
}

static tn_status sign_reference(tn_call *call) {
    static const tn_unary_function function = {.real = sign_real, .whole = sign_whole};
    const tn_tensor *x = call->inputs[0];
    if (x->type == TN_U64) { /* an int64 has no room for them */
        for (int64_t i = 0; i < tn_element_count(x); i++)
            ((uint64_t *)call->outputs[0]->data)[i] = ((const uint64_t *)x->data)[i] != 0;
        return TN_OK;
    }
    return tn_unary_compute(call, &function);
}

static const tn_port sign_inputs[] = {
    TN_PORT("input", "T:number", 0, "any tensor"),
};
static const tn_port sign_outputs[] = {
    TN_PORT("output", "T", 0, "-1, 0 or 1"),
};
static const char *const sign_cases[] = {
    "| input=f32[2,3,5,7]",
    "| input=f32[1]",
    "| input=f32[]",
    "| input=f32[3,0,2]",
    "| input=f64[17]",
    "| input=f16[4,33]",
    "| input=bf16[63]",
    "| input=i32[2,9,3]",
    "| input=i8[3]{-128,0,5}",
    "| input=i64[2]{-9223372036854775807,3}",
    "| input=u64[3]{18446744073709551615,0,1}",
    "| input=f32[4]{0,-0.0,-3,1e-40}",
    "| input=f32[1,64,56,56]",
};

static const tn_operator sign_9 = {
    .size = sizeof(tn_operator),
    .since_version = 9,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Sign",
    .doc = "Signs of numbers.",
    TN_NO_FIELDS,
    TN_INPUTS(sign_inputs),
    TN_OUTPUTS(sign_outputs),
    .infer = tn_unary_infer,
    .reference = sign_reference,
    .expression = "input > 0 ? 1 : input < 0 ? -1 : input",
    .row = sign_row,
    TN_CASES(sign_cases),
};

TN_MAP_KERNELS(sign, "Sign", TN_MAP_SIGN, NULL);

static const tn_operator *const sign_operators[] = {&sign_9};
TN_LAYER(sign, sign_operators, sign_kernels);
