/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transpose next to Reshape where it moves nothing: axes of more than one element keep their order,
 * as heads do of a single token. One Reshape says the same, and is a view.
 */
#include "kit/operator/layer.h"
#include "transpose/transpose.h"

#include <tenon/plugin/rewrite.h>

/* The axes of `x` in the order `perm`, but for those of one element. */
static tn_status keeps_order(const tn_match *match) {
    const tn_attribute *perm = match->value(match, "perm");
    const tn_tensor *x = match->tensor(match, "x");
    int64_t last = -1;
    if (!perm || perm->type != TN_FIELD_I64S || !x || perm->count != x->rank)
        return match->refuse(match, "the axes are not known");
    for (uint32_t i = 0; i < x->rank; i++) {
        const int64_t axis = ((const int64_t *)perm->items)[i];
        if (axis < 0 || axis >= (int64_t)x->rank) return match->refuse(match, "no such axis");
        if (x->shape[axis] == 1) continue;
        if (axis < last) return match->refuse(match, "elements move");
        last = axis;
    }
    return TN_OK;
}

/* $shape: that of y. */
static tn_status set_shape(const tn_match *match) {
    const tn_tensor *y = match->tensor(match, "y");
    if (!y) return match->refuse(match, "the shape is not known");
    for (uint32_t i = 0; i < y->rank; i++)
        if (y->shape[i] < 1) return match->refuse(match, "an extent is not known, or 0");
    const tn_attribute shape = {.size = sizeof shape,
                                .type = TN_FIELD_I64S,
                                .name = "shape",
                                .count = y->rank,
                                .items = y->shape};
    return match->set(match, &shape);
}

static tn_status moves_nothing(const tn_match *match) {
    const tn_status status = keeps_order(match);
    return status == TN_OK ? set_shape(match) : status;
}

static const char *const behind_cases[] = {
    "a=f32[1,1,12] s=i64[4]{0,-1,3,4} perm=[0,2,1,3]",
    "a=f32[2,3,4] s=i64[3]{6,1,4} perm=[1,0,2]",
};
static const char *const behind_misses[] = {"a=f32[1,2,12] s=i64[4]{0,-1,3,4} perm=[0,2,1,3]",
                                            "a=f32[2,0,4] s=i64[3]{1,0,4} perm=[1,0,2]"};
TN_REWRITE(behind, "transpose.behind_reshape", "Transpose that moves nothing, behind a Reshape",
           .pattern = "x = Reshape(a, s, ...); y = Transpose(x, perm=?perm)",
           .replacement = "y = Reshape(a, $shape)", .guard = moves_nothing,
           TN_REWRITE_CASES(behind_cases), TN_REWRITE_MISSES(behind_misses));

static const char *const before_cases[] = {"x=f32[1,3,1,4] s=i64[3]{0,-1,12} perm=[0,2,1,3]",
                                           "x=f32[3,1,2] s=i64[1]{-1} perm=[1,0,2]"};
static const char *const before_misses[] = {"x=f32[1,3,2,4] s=i64[3]{0,-1,12} perm=[0,2,1,3]"};
TN_REWRITE(before, "transpose.before_reshape", "Transpose that moves nothing, before a Reshape",
           .pattern = "t = Transpose(x, perm=?perm); y = Reshape(t, s, ...)",
           .replacement = "y = Reshape(x, $shape)", .guard = moves_nothing,
           TN_REWRITE_CASES(before_cases), TN_REWRITE_MISSES(before_misses));

const tn_rewrite *const tn_transpose_rewrites[2] = {&behind, &before};
