/* SPDX-License-Identifier: Apache-2.0 */
/* Min: the smallest of several tensors' elements, with broadcasting; NaN where there is one. */
#include "kit/elementwise/variadic.h"

#include <math.h>

static double min_real(double a, double b) {
    return isnan(a) || isnan(b) ? a + b : a < b ? a : b;
}

static int64_t min_whole(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static uint64_t min_natural(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static tn_status min_reference(tn_call *call) {
    static const tn_variadic_function function = {
        .real = min_real, .whole = min_whole, .natural = min_natural};
    return tn_variadic_compute(call, &function);
}

static const tn_port min_inputs[] = {
    {"data_0", "T:number", "tensors that broadcast with each other", TN_PORT_VARIADIC, 0, 1, 0},
};
static const tn_port min_outputs[] = {
    TN_PORT("min", "T", 0, "the smallest"),
};
static const char *const min_cases[] = {
    "| data_0=f32[2,3,5,7]",
    "| data_0=f32[2,3,5,7] data_0=f32[2,3,5,7]",
    "| data_0=f32[2,3,5,7] data_0=f32[3,1,1] data_0=f32[7]",
    "| data_0=f32[3] data_0=f32[] data_0=f32[2,1] data_0=f32[2,3] data_0=f32[1] data_0=f32[3]",
    "| data_0=f32[0,3] data_0=f32[1,3]",
    "| data_0=f16[3,33] data_0=f16[33]",
    "| data_0=f64[2,1,3] data_0=f64[4,1] data_0=f64[]",
    "| data_0=i32[2,9] data_0=i32[9]",
    "| data_0=u64[3]{18446744073709551615,0,5} data_0=u64[]{7}",
    "| data_0=i8[4]{-128,127,0,5} data_0=i8[4]{1,2,3,4} data_0=i8[1]{-3}",
    "| data_0=f32[3]{nan,1,2} data_0=f32[3]{0,nan,3}",
    "| data_0=f32[1,64,56,56] data_0=f32[1,64,56,56]",
};

static const tn_operator min_6 = {
    .size = sizeof(tn_operator),
    .since_version = 6,
    .state_version = 1,
    .traits = TN_OPERATOR_SELECTS | TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Min",
    .doc = "The smallest elements of several tensors.",
    TN_NO_FIELDS,
    TN_INPUTS(min_inputs),
    TN_OUTPUTS(min_outputs),
    .infer = tn_variadic_infer,
    .reference = min_reference,
    TN_CASES(min_cases),
};

TN_VARIADIC_KERNELS(min, "Min", TN_COMBINE_MIN, false);

static const tn_operator *const min_operators[] = {&min_6};
TN_LAYER(min, min_operators, min_kernels);
