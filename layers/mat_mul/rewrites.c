/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MatMul between DequantizeLinear and QuantizeLinear: QLinearMatMul computes the same in integers.
 * MatMulInteger whose sums become floats, as dynamic quantisation writes it: MatMulIntegerToFloat.
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

/* ----------------------------------------------------------------------------------------------
 * dynamic quantisation */

/* One scale of A, one of B or one a column. */
static tn_status is_to_float(const tn_match *match) {
    const tn_tensor *b_scale = match->tensor(match, "b_scale");
    const tn_tensor *bias = match->tensor(match, "bias");
    if (tn_match_rank(match, "a") < 2 || tn_match_rank(match, "b") < 2)
        return match->refuse(match, "a factor is a vector");
    if (tn_match_rank(match, "a_scale") != 0 && tn_match_extent(match, "a_scale", 0) != 1)
        return match->refuse(match, "A has other scales than one");
    if (tn_match_rank(match, "a_scale") > 1 || b_scale->rank > 1 ||
        (tn_element_count(b_scale) != 1 && !match->is_equal_extent(match, "b_scale", 0, "b", -1)))
        return match->refuse(match, "B has other scales than one or one a column");
    if (bias && (bias->rank != 1 || !match->is_equal_extent(match, "bias", 0, "b", -1)))
        return match->refuse(match, "the bias is not one number a column");
    return TN_OK;
}

#define SUMS       "a=u8[2,3,7] b=i8[7,4] a_zero=u8[]{7} b_zero=i8[]{3} a_scale=f32[]{0.25} "
#define OF_COLUMNS SUMS "b_scale=f32[4]{0.5,0.25,1,0.125}"
#define OF_ONE     "a=i8[3,7] b=u8[2,7,4] a_scale=f32[1]{0.25} b_scale=f32[]{0.5}"
#define OF_ROWS    "a=u8[2,3,7] b=i8[7,4] a_scale=f32[3,1] b_scale=f32[]{0.5}"
static const char *const float_cases[] = {OF_COLUMNS, OF_ONE};
static const char *const float_misses[] = {OF_ROWS, SUMS "b_scale=f32[3,1]"};
static const char *const bias_cases[] = {OF_COLUMNS " bias=f32[4]", OF_ONE " bias=f32[4]"};
static const char *const bias_misses[] = {OF_ROWS " bias=f32[4]", OF_COLUMNS " bias=f32[3,1]"};
#define TO_FLOAT "MatMulIntegerToFloat(a, b, a_scale, b_scale, a_zero, b_zero"
#define PRODUCT                                                                                    \
    "Mul(Cast(MatMulInteger(a, b, a_zero?, b_zero?), to=f32, ...), Mul(a_scale, b_scale:const))"
TN_REWRITE(to_float, "dynamic.mat_mul", "sums of integers multiplied by the product of two scales",
           .pattern = "y = " PRODUCT, .replacement = "y = com.microsoft::" TO_FLOAT ")",
           .guard = is_to_float, TN_REWRITE_CASES(float_cases), TN_REWRITE_MISSES(float_misses));
TN_REWRITE(to_float_bias, "dynamic.mat_mul.bias", "the same with a bias",
           .pattern = "y = Add(" PRODUCT ", bias)",
           .replacement = "y = com.microsoft::" TO_FLOAT ", bias)", .guard = is_to_float,
           TN_REWRITE_CASES(bias_cases), TN_REWRITE_MISSES(bias_misses));

const tn_rewrite *const tn_mat_mul_rewrites[4] = {&of_weights, &of_both, &to_float, &to_float_bias};
