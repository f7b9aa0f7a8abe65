/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions between DequantizeLinear and QuantizeLinear: QLinearConv computes the same in
 * integers. A ReLU or Clip before QuantizeLinear is left out where the output's type ends at its
 * bounds. A sum behind becomes one operator with it, where a library has a kernel for that.
 */
#include "conv/kernels.h"
#include "kit/int8/match_quantized.h"
#include "kit/operator/layer.h"

static tn_status is_integer_conv(const tn_match *match) {
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status == TN_OK) status = tn_match_weights_check(match, "w", 0, &x, &y);
    if (status == TN_OK) status = tn_match_check_clip(match, &y);
    if (status == TN_OK) status = tn_match_set_zero_points(match, "w");
    if (status == TN_OK)
        status =
            tn_match_set_bias(match, "bias", "b", "q", x.scale, match->tensor(match, "w_scale"),
                              match->tensor(match, "w")->shape[0]);
    return status;
}

#define FIELDS                                                                                     \
    "auto_pad=?auto_pad, group=?group, kernel_shape=?kernel_shape, strides=?strides, "             \
    "dilations=?dilations, pads=?pads"
#define CONV                                                                                       \
    "v = Conv(" TN_MATCH_REAL("x") ", " TN_MATCH_WEIGHTS("w") ", " TN_MATCH_BIAS ", " FIELDS "); "

#define X      "x=u8[1,3,9,7] x_scale=f32[]{0.25} x_zero=u8[]{7} "
#define Y      "y_scale=f32[]{4} y_zero=u8[]{0} "
#define W      "w=i8[4,3,3,3] w_scale=f32[4]{0.5,0.25,1,0.125} w_zero=i8[4]{0,0,0,0} axis=0 "
#define WINDOW "group=1 kernel_shape=[3,3] strides=[2,1] dilations=[1,1] pads=[1,0,0,1] "
#define BIAS                                                                                       \
    "b=f32[4]{1,-2,0,25} q=i32[4]{10,-20,0,96} q_scale=f32[4]{0.125,0.0625,0.25,0.03125} "         \
    "bias_axis=0 "

static const char *const cases[] = {
    X Y W WINDOW BIAS,
    X "y_scale=f32[]{4} y_zero=u8[]{0} w=i8[4,3,3,3] w_scale=f32[]{0.5} axis=1 " WINDOW
      "b=f32[4]{1,-2,0,25} q=i32[4]{10,-20,0,96} q_scale=f32[]{0.125} q_zero=i32[]{0} bias_axis=0 ",
    "x=i8[2,4,6,6] x_scale=f32[1]{0.5} y_scale=f32[1]{16} y_zero=i8[1]{-128} w=u8[4,1,3,3] "
    "w_scale=f32[1]{0.5} w_zero=u8[1]{128} axis=1 group=4 pads=[1,1,1,1] " BIAS,
};
static const char *const misses[] = {
    X "y_scale=f32[]{0} y_zero=u8[]{0} " W WINDOW BIAS,
    X "y_scale=f32[]{-4} y_zero=u8[]{0} " W WINDOW BIAS,
    X "y_scale=f32[]{nan} y_zero=u8[]{0} " W WINDOW BIAS,
    "x=u8[1,4,9,7] x_scale=f32[]{0.25} x_zero=u8[]{7} " Y "w=i8[4,4,3,3] "
    "w_scale=f32[4]{0.5,0.25,1,0.5} w_zero=i8[4]{0,0,0,0} axis=1 " WINDOW BIAS,
    X Y "w=i8[4,3,3,3] w_scale=f32[4]{0.5,0,1,2} w_zero=i8[4] axis=0 " WINDOW BIAS,
};
#define CONV_REWRITE(symbol, of_name, words, text, of_cases, of_misses)                            \
    TN_REWRITE(symbol, of_name, words, .guard = is_integer_conv, .pattern = CONV text,             \
               .replacement = "y = QLinearConv(x, x_scale, $xz, w, w_scale, $wz, y_scale, $yz, "   \
                              "$bias, " FIELDS ")",                                                \
               TN_REWRITE_CASES(of_cases), TN_REWRITE_MISSES(of_misses))
CONV_REWRITE(plain, "quantized.conv", "Conv between DequantizeLinear and QuantizeLinear",
             TN_MATCH_STORED("y", "v"), cases, misses);
CONV_REWRITE(with_relu, "quantized.conv.relu", "the same with a ReLU that the output's type does",
             "relu = Relu(v); " TN_MATCH_STORED("y", "relu"), cases, misses);

#define BOUNDS "low=0.0 high=1020.0 "
static const char *const clip_cases[] = {X Y W WINDOW BIAS BOUNDS};
static const char *const clip_misses[] = {X Y W WINDOW BIAS "low=8.0 high=1020.0",
                                          X Y W WINDOW BIAS "low=0.0 high=1000.0"};
CONV_REWRITE(with_clip, "quantized.conv.clip", "the same with bounds that the output's type has",
             TN_MATCH_STORED("y", "(Clip@11(v, ?low, ?high) | Clip@6-10(v, min=?low, max=?high))"),
             clip_cases, clip_misses);

/* ----------------------------------------------------------------------------------------------
 * sums behind convolutions, made by the rewrites above and by those of Add */

static tn_status is_sum(const tn_match *match) {
    if (!tn_match_is_same_shape(match, "c", "z"))
        return match->refuse(match, "what is added has another shape");
    return TN_OK;
}

#define Q_CONV "QLinearConv(x, x_scale"
#define Q_ADD  "com.microsoft::QLinearAdd("
#define STORED "c, y_scale, y_zero"
#define ADDED  "z, z_scale:const, z_zero?:const"
#define SCALES                                                                                     \
    "x=u8[1,16,9,7] x_scale=f32[]{0.25} x_zero=u8[]{0} w=i8[16,16,1,1] w_scale=f32[]{0.125} "      \
    "w_zero=i8[]{0} y_scale=f32[]{4} y_zero=u8[]{120} z_scale=f32[]{3} z_zero=u8[]{7} "            \
    "s_scale=f32[]{5} s_zero=u8[]{3} "
static const char *const sum_cases[] = {SCALES "z=u8[1,16,9,7] bias=i32[16]"};
static const char *const sum_misses[] = {SCALES "z=u8[1,1,9,7]"};
TN_REWRITE(with_sum, "quantized.conv.add", "QLinearAdd behind a QLinearConv",
           .pattern = "c = " Q_CONV ":const, x_zero:const, w:const, w_scale:const, w_zero:const, "
                      "y_scale:const, y_zero:const, bias?:const, " FIELDS "); "
                      "y = " Q_ADD STORED ", " ADDED
                      ", s_scale:const, s_zero?:const) | " Q_ADD ADDED ", " STORED
                      ", s_scale:const, s_zero?:const)",
           .replacement = "y = Tenon::QLinearConvAdd(x, x_scale, x_zero, w, w_scale, w_zero, "
                          "y_scale, y_zero, bias, z, z_scale, z_zero, s_scale, s_zero, " FIELDS ")",
           .guard = is_sum, TN_REWRITE_CASES(sum_cases), TN_REWRITE_MISSES(sum_misses));

const tn_rewrite *const tn_conv_rewrites[4] = {&plain, &with_relu, &with_clip, &with_sum};
