/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMin: where the smallest element along an axis is. */
#include "kit/reduce/arg_reduce.h"

#define CASES                                                                                      \
    "| data=f32[2,3,4]", "axis=1 | data=f32[2,3,4]", "axis=-1 keepdims=0 | data=f32[2,3,4]",       \
        "axis=1 | data=i32[2,3]{5,7,7,-1,-1,3}", "| data=u64[3]{1,18446744073709551615,7}",        \
        "| data=f16[33,3]", "keepdims=0 | data=f32[4]{1,nan,9,nan}", "axis=1 | data=f32[0,4]",     \
        "axis=1 | data=f32[1,21,33,33]"
static const char *const arg_min_1_cases[] = {CASES};
static const char *const arg_min_12_cases[] = {
    CASES,
    "select_last_index=1 axis=1 | data=i32[2,3]{5,7,7,-1,-1,3}",
    "select_last_index=1 | data=f32[3]{2,2,2}",
};

TN_ARG_REDUCE_LAYER(arg_min, "ArgMin", false, "Where the smallest elements along an axis are.");
