/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gemm between DequantizeLinear and QuantizeLinear: a QLinearConv of images of one pixel, whose
 * bias is of 32 bits; QLinearMatMul has none.
 */
#include "gemm/rewrites.h"
#include "kit/int8/match_quantized.h"
#include "kit/operator/layer.h"

static tn_status is_integer_gemm(const tn_match *match, uint32_t channel_axis) {
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status == TN_OK) status = tn_match_weights_check(match, "w", channel_axis, &x, &y);
    if (status == TN_OK) status = tn_match_check_clip(match, &y);
    if (status != TN_OK) return status;
    const tn_tensor *w = match->tensor(match, "w");
    if (tn_match_extent(match, "x", 1) != w->shape[1 - channel_axis] || w->shape[0] == 0 ||
        w->shape[1] == 0)
        return match->refuse(match, "the depth is not fixed");
    status = tn_match_set_zero_points(match, "w");
    if (status == TN_OK)
        status = tn_match_set_bias(match, "bias", "b", "q", x.scale,
                                   match->tensor(match, "w_scale"), w->shape[channel_axis]);
    return status;
}

static tn_status is_gemm(const tn_match *match) {
    return is_integer_gemm(match, 1);
}
static tn_status is_transposed_gemm(const tn_match *match) {
    return is_integer_gemm(match, 0);
}

#define X "x=u8[3,7] x_scale=f32[]{0.25} x_zero=u8[]{7} y_scale=f32[]{4} y_zero=u8[]{0} "
#define BIAS                                                                                       \
    "b=f32[4]{1,-2,0,25} q=i32[4]{10,-20,0,96} q_scale=f32[4]{0.125,0.0625,0.25,0.03125} "         \
    "bias_axis=0 "
#define SCALE "w_scale=f32[4]{0.5,0.25,1,0.125} w_zero=i8[4]{0,0,0,0} "
static const char *const cases[] = {X "w=i8[7,4] axis=1 " SCALE BIAS};
static const char *const misses[] = {X "w=i8[7,4] axis=0 w_scale=f32[7] w_zero=i8[7] " BIAS};
static const char *const transposed_cases[] = {X "w=i8[4,7] axis=0 " SCALE BIAS};
static const char *const transposed_misses[] = {
    X "w=i8[4,7] axis=1 w_scale=f32[7] w_zero=i8[7] " BIAS};

#define GEMM(symbol, of_name, trans, weights, end, of_guard, of_cases, of_misses)                  \
    TN_REWRITE(symbol, of_name, "Gemm between DequantizeLinear and QuantizeLinear",                \
               .pattern = "v = Gemm(" TN_MATCH_REAL("x") ", " TN_MATCH_WEIGHTS(                    \
                   "w") ", " TN_MATCH_BIAS ", transB=" trans "); " end,                            \
               .replacement = "c = QLinearConv(Reshape(x, [0, -1, 1, 1]), x_scale, $xz, "          \
                              "Reshape(" weights ", [0, -1, 1, 1]), w_scale, $wz, y_scale, $yz, "  \
                              "$bias); y = Reshape(c, [0, -1])",                                   \
               .guard = of_guard, TN_REWRITE_CASES(of_cases), TN_REWRITE_MISSES(of_misses))
#define PLAIN "Transpose(w, perm=[1, 0])"
#define END   TN_MATCH_STORED("y", "v")
#define RELU  "relu = Relu(v); " TN_MATCH_STORED("y", "relu")
GEMM(plain, "quantized.gemm", "0", PLAIN, END, is_gemm, cases, misses);
GEMM(transposed, "quantized.gemm.transposed", "1", "w", END, is_transposed_gemm, transposed_cases,
     transposed_misses);
GEMM(plain_relu, "quantized.gemm.relu", "0", PLAIN, RELU, is_gemm, cases, misses);
GEMM(transposed_relu, "quantized.gemm.transposed.relu", "1", "w", RELU, is_transposed_gemm,
     transposed_cases, transposed_misses);

const tn_rewrite *const tn_gemm_rewrites[4] = {&plain, &transposed, &plain_relu, &transposed_relu};
