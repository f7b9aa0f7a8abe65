/* SPDX-License-Identifier: Apache-2.0 */
/* Averages between DequantizeLinear and QuantizeLinear become those of integers, means.h. */
#include "kit/int8/match_quantized.h"
#include "pool/quantized/means.h"

static tn_status is_mean(const tn_match *match) {
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    if (x.type != y.type) return match->refuse(match, "the input and the result are of two types");
    if (!tn_match_is_scale(x.scale / y.scale))
        return match->refuse(match, "the scales are too far apart");
    return TN_OK;
}

#define SCALES(type)                                                                               \
    "x_scale=f32[]{0.5} x_zero=" type "[]{3} y_scale=f32[]{0.375} y_zero=" type "[]{7} "
#define MISSED(type) "x_scale=f32[]{0.5} x_zero=" type "[]{3} y_scale=f32[]{-0.375} "
#define MEAN(symbol, of_name, op, result, fields, of_cases, of_misses)                             \
    TN_REWRITE(symbol, "quantized." of_name, op " between DequantizeLinear and QuantizeLinear",    \
               .pattern = "v = " op "(" TN_MATCH_REAL("x") fields "); " TN_MATCH_STORED("y", "v"), \
               .replacement =                                                                      \
                   "y = Tenon::" result "(x, x_scale, x_zero, y_scale, y_zero" fields ")",         \
               .guard = is_mean, TN_REWRITE_CASES(of_cases), TN_REWRITE_MISSES(of_misses))

#define WINDOW "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] "
static const char *const window_cases[] = {"x=u8[1,2,7,9] " SCALES("u8") WINDOW};
static const char *const window_misses[] = {"x=u8[1,2,7,9] " MISSED("u8") WINDOW};
MEAN(average, "average_pool", "AveragePool", "QLinearAveragePool",
     ", auto_pad=?auto_pad, ceil_mode=?ceil_mode, count_include_pad=?count_include_pad, "
     "kernel_shape=?kernel_shape, strides=?strides, dilations=?dilations, pads=?pads",
     window_cases, window_misses);

static const char *const plane_cases[] = {"x=i8[1,2,7,9] " SCALES("i8")};
static const char *const plane_misses[] = {"x=i8[1,2,7,9] " MISSED("i8")};
MEAN(global_average, "global_average_pool", "GlobalAveragePool", "QLinearGlobalAveragePool", "",
     plane_cases, plane_misses);

const tn_rewrite *const tn_means_rewrites[2] = {&average, &global_average};
