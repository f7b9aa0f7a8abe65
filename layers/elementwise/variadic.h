/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators of any number of inputs, as in maps.h:
 *
 *     VARIADIC(prefix, name, function of tenon/kit/rows.h, whether its result is divided by
 *              the number of inputs, traits, types, facet, the same as an expression of a and b,
 * what comes out, documentation, cases ...) MEAN(the same): it has no kernel on CUDA
 */
#define EXTREME_CASES                                                                              \
    "| data_0=i32[2,9] data_0=i32[9]",                                                             \
        "| data_0=u64[3]{18446744073709551615,0,5} data_0=u64[]{7}",                               \
        "| data_0=i8[4]{-128,127,0,5} data_0=i8[4]{1,2,3,4} data_0=i8[1]{-3}",                     \
        "| data_0=f32[3]{nan,1,2} data_0=f32[3]{0,nan,3}",                                         \
        "| data_0=f32[1,64,56,56] data_0=f32[1,64,56,56]"
VARIADIC(max, "Max", TN_COMBINE_MAX, false, TN_OPERATOR_SELECTS | TN_OPERATOR_ELEMENTWISE,
         "T:number", NULL, "max(a, b)", "the largest", "The largest elements of several tensors.",
         EXTREME_CASES)
VARIADIC(min, "Min", TN_COMBINE_MIN, false, TN_OPERATOR_SELECTS | TN_OPERATOR_ELEMENTWISE,
         "T:number", NULL, "min(a, b)", "the smallest", "The smallest elements of several tensors.",
         EXTREME_CASES)
VARIADIC(sum, "Sum", TN_COMBINE_ADD, false, TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE,
         "T:float", sum_facet, "a + b", "the sum", "Sum of several tensors.",
         "| data_0=f32[1,64,56,56] data_0=f32[1,64,56,56]")
MEAN(mean, "Mean", TN_COMBINE_ADD, true, TN_OPERATOR_ELEMENTWISE, "T:float", NULL, "a + b",
     "the mean", "Mean of several tensors.", "| data_0=f32[1,64,56,56] data_0=f32[1,64,56,56]")
