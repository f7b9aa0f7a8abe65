/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul between DequantizeLinear and QuantizeLinear: QLinearMatMul computes the same in integers.
 */
#include "mat_mul/rewrites.h"
#include "kit/int8/match_quantized.h"
#include "kit/operator/layer.h"

/* B is a constant, of one scale or of one a column. */
static tn_status is_of_weights(const tn_match *match) {
    const tn_tensor *w = match->tensor(match, "w");
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    if (w->rank < 2 || tn_match_rank(match, "x") < 2)
        return match->refuse(match, "a factor is a vector");
    status = tn_match_weights_check(match, "w", w->rank - 1, &x, &y);
    return status == TN_OK ? tn_match_set_zero_points(match, "w") : status;
}

/* B comes from elsewhere in the network. */
static tn_status is_of_both(const tn_match *match) {
    tn_match_scale x, b, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "b", &b);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    if (tn_match_rank(match, "x") < 2 || tn_match_rank(match, "b") < 2)
        return match->refuse(match, "a factor is a vector");
    if (!tn_match_is_scale(x.scale * b.scale) || !tn_match_is_scale(x.scale * b.scale / y.scale))
        return match->refuse(match, "the scales are too far apart");
    return tn_match_set_zero_points(match, "b");
}

#define X "x=u8[2,3,7] x_scale=f32[]{0.25} x_zero=u8[]{7} y_scale=f32[]{4} y_zero=u8[]{9} "
static const char *const weights_cases[] = {
    X "w=i8[7,4] axis=1 w_scale=f32[4]{0.5,0.25,1,0.125} w_zero=i8[4]{0,3,0,-1}",
    X "w=u8[2,7,4] axis=1 w_scale=f32[]{0.5} w_zero=u8[]{128}"};
static const char *const weights_misses[] = {
    X "w=i8[7,4] axis=0 w_scale=f32[7] w_zero=i8[7]",
    X "w=i8[7,4] axis=1 w_scale=f32[4]{0.5,-0.25,1,0.125} w_zero=i8[4]{0,3,0,-1}"};
TN_REWRITE(of_weights, "quantized.mat_mul",
           "MatMul with constant weights between DequantizeLinear and QuantizeLinear",
           .pattern = "v = MatMul(" TN_MATCH_REAL("x") ", " TN_MATCH_WEIGHTS(
               "w") "); " TN_MATCH_STORED("y", "v"),
           .replacement = "y = QLinearMatMul(x, x_scale, $xz, w, w_scale, $wz, y_scale, $yz)",
           .guard = is_of_weights, TN_REWRITE_CASES(weights_cases),
           TN_REWRITE_MISSES(weights_misses));

static const char *const both_cases[] = {X "b=u8[2,7,4] b_scale=f32[]{0.5} b_zero=u8[]{128}",
                                         X "b=i8[7,4] b_scale=f32[1]{0.5}"};
static const char *const both_misses[] = {X "b=u8[2,7,4] b_scale=f32[]{0} b_zero=u8[]{128}"};
TN_REWRITE(of_both, "quantized.mat_mul.both",
           "MatMul of two quantised tensors between DequantizeLinear and QuantizeLinear",
           .pattern = "v = MatMul(" TN_MATCH_REAL("x") ", " TN_MATCH_REAL(
               "b") "); " TN_MATCH_STORED("y", "v"),
           .replacement = "y = QLinearMatMul(x, x_scale, $xz, b, b_scale, $wz, y_scale, $yz)",
           .guard = is_of_both, TN_REWRITE_CASES(both_cases), TN_REWRITE_MISSES(both_misses));

const tn_rewrite *const tn_mat_mul_rewrites[2] = {&of_weights, &of_both};
