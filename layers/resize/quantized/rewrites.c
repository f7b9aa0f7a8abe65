/* SPDX-License-Identifier: Apache-2.0 */
/* Linear Resize between DequantizeLinear and QuantizeLinear becomes QLinearResize, resize.h. */
#include "kit/int8/match_quantized.h"
#include "resize/kernels.h"
#include "resize/quantized/resize.h"

static tn_status is_linear(const tn_match *match) {
    const tn_attribute *how = match->value(match, "how");
    tn_match_scale x, y;
    if (how && how->s && strcmp(how->s, "tf_crop_and_resize") == 0)
        return match->refuse(match, "it crops");
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    if (x.type != y.type) return match->refuse(match, "the input and the result are of two types");
    if (!tn_match_is_scale(x.scale / y.scale))
        return match->refuse(match, "the scales are too far apart");
    return TN_OK;
}

#define LINEAR_FIELDS                                                                              \
    "mode=linear, coordinate_transformation_mode=?how, exclude_outside=?exclude_outside"
#define LINEAR_RESIZE(symbol, of_name, version, more)                                              \
    TN_REWRITE(symbol, "quantized." of_name, "linear Resize of 8-bit integers",                    \
               .pattern =                                                                          \
                   "v = Resize@" version                                                           \
                   "(" TN_MATCH_REAL("x") ", roi?:const, scales?:const, sizes?"                    \
                                          ", " LINEAR_FIELDS more "); " TN_MATCH_STORED("y", "v"), \
               .replacement =                                                                      \
                   "y = Tenon::QLinearResize(x, roi, scales, sizes, x_scale, x_zero, y_scale, "    \
                   "y_zero, " LINEAR_FIELDS more ")",                                              \
               .guard = is_linear, TN_REWRITE_CASES(cases), TN_REWRITE_MISSES(misses))
#define RESIZED    "x=u8[1,2,3,4] scales=f32[4]{1,1,2,2} x_scale=f32[]{0.5} x_zero=u8[]{3} "
#define STORED(by) "y_scale=f32[]{" by "} y_zero=u8[]{7} "
static const char *const cases[] = {RESIZED STORED("0.5"),
                                    RESIZED "how=asymmetric " STORED("0.375")};
static const char *const misses[] = {RESIZED STORED("-0.5")};
LINEAR_RESIZE(resize, "resize.linear", "11-17", "");
LINEAR_RESIZE(resize_axes, "resize.linear.axes", "18",
              ", antialias=?antialias, axes=?axes, keep_aspect_ratio_policy=?policy");

const tn_rewrite *const tn_quantized_resize_rewrites[2] = {&resize, &resize_axes};
