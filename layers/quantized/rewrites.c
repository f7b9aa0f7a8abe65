/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes between DequantizeLinear and QuantizeLinear that integers pass: sums, functions of one
 * element, and what only selects elements. Convolutions and products are their own layers' matter.
 */
#include "kit/int8/match_quantized.h"
#include "quantized/quantized.h"

/* ----------------------------------------------------------------------------------------------
 * sums */

static tn_status is_sum(const tn_match *match) {
    tn_match_scale a, b, y;
    tn_status status = tn_match_scale_read(match, "a", &a);
    if (status == TN_OK) status = tn_match_scale_read(match, "b", &b);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    if (a.type != b.type || a.type != y.type)
        return match->refuse(match, "the summands and the sum are of two types");
    if (!tn_match_is_scale(a.scale / y.scale) || !tn_match_is_scale(b.scale / y.scale))
        return match->refuse(match, "the scales are too far apart");
    return tn_match_check_clip(match, &y);
}

#define SUMMANDS                                                                                   \
    "a=u8[2,3,5] a_scale=f32[]{0.25} a_zero=u8[]{3} b=u8[3,1] b_scale=f32[]{0.5} "                 \
    "b_zero=u8[]{128} "
#define SUM_PATTERN(of) "v = Add(" TN_MATCH_REAL("a") ", " TN_MATCH_REAL_OR_CONST("b") "); " of
#define SUM_REPLACEMENT                                                                            \
    "y = com.microsoft::QLinearAdd(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)"
static const char *const sum_cases[] = {
    SUMMANDS "y_scale=f32[]{1} y_zero=u8[]{0}",
    "a=i8[7] a_scale=f32[]{0.25} b=i8[7] b_scale=f32[]{2} y_scale=f32[]{0.5} y_zero=i8[]{-128}"};
static const char *const sum_misses[] = {SUMMANDS "y_scale=f32[]{0} y_zero=u8[]{0}",
                                         SUMMANDS "y_scale=f32[]{-1} y_zero=u8[]{0}",
                                         SUMMANDS "y_scale=f32[]{1} y_zero=i8[]{0}"};
TN_REWRITE(sum, "quantized.add", "Add between DequantizeLinear and QuantizeLinear",
           .pattern = SUM_PATTERN(TN_MATCH_STORED("y", "v")), .replacement = SUM_REPLACEMENT,
           .guard = is_sum, TN_REWRITE_CASES(sum_cases), TN_REWRITE_MISSES(sum_misses));
TN_REWRITE(sum_relu, "quantized.add.relu", "the same with a ReLU that the output's type does",
           .pattern = SUM_PATTERN("relu = Relu(v); " TN_MATCH_STORED("y", "relu")),
           .replacement = SUM_REPLACEMENT, .guard = is_sum, TN_REWRITE_CASES(sum_cases),
           TN_REWRITE_MISSES(sum_misses));

/* ----------------------------------------------------------------------------------------------
 * what only selects elements */

static tn_status is_selection(const tn_match *match) {
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    if (x.type != y.type || x.zero != y.zero || x.scale != y.scale)
        return match->refuse(match, "the output has another scale or zero point than the input");
    return TN_OK;
}

#define STORED(type)                                                                               \
    "x_scale=f32[]{0.5} x_zero=" type "[]{3} y_scale=f32[]{0.5} y_zero=" type "[]{3} "
#define OTHER(type)                                                                                \
    "x_scale=f32[]{0.5} x_zero=" type "[]{3} y_scale=f32[]{0.25} y_zero=" type "[]{3} "
/* `more` follows the tensor in pattern and replacement. */
#define SELECTION(symbol, of_name, op, more, of_cases, of_misses)                                  \
    TN_REWRITE(symbol, "quantized." of_name, op " of 8-bit integers as they are",                  \
               .pattern = "v = " op "(" TN_MATCH_REAL("x") more "); " TN_MATCH_STORED("y", "v"),   \
               .replacement = "y = " op "(x" more ")", .guard = is_selection,                      \
               TN_REWRITE_CASES(of_cases), TN_REWRITE_MISSES(of_misses))
static const char *const pool_cases[] = {
    "x=u8[1,2,7,9] " STORED("u8") "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"};
static const char *const pool_misses[] = {
    "x=u8[1,2,7,9] " OTHER("u8") "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"};
SELECTION(max_pool, "max_pool", "MaxPool",
          ", auto_pad=?auto_pad, ceil_mode=?ceil_mode, kernel_shape=?kernel_shape, "
          "strides=?strides, dilations=?dilations, pads=?pads",
          pool_cases, pool_misses);
static const char *const reshape_cases[] = {"x=i8[2,3,4] shape=i64[2]{6,-1} " STORED("i8")};
static const char *const reshape_misses[] = {"x=i8[2,3,4] shape=i64[2]{6,-1} " OTHER("i8")};
SELECTION(reshape, "reshape", "Reshape", ", shape", reshape_cases, reshape_misses);
static const char *const flatten_cases[] = {"x=u8[2,3,4] axis=2 " STORED("u8")};
static const char *const flatten_misses[] = {"x=u8[2,3,4] axis=2 " OTHER("u8")};
SELECTION(flatten, "flatten", "Flatten", ", axis=?axis", flatten_cases, flatten_misses);
static const char *const transpose_cases[] = {"x=u8[2,3,4] perm=[2,0,1] " STORED("u8")};
static const char *const transpose_misses[] = {"x=u8[2,3,4] perm=[2,0,1] " OTHER("u8")};
SELECTION(transpose, "transpose", "Transpose", ", perm=?perm", transpose_cases, transpose_misses);

/* ----------------------------------------------------------------------------------------------
 * functions of one element */

/* The operators compute the table, of all bytes in the order of their bits. */
static tn_status is_function(const tn_match *match) {
    int8_t bytes[256];
    int64_t extent = 256;
    tn_match_scale x, y;
    tn_status status = tn_match_scale_read(match, "x", &x);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", &y);
    if (status != TN_OK) return status;
    for (int i = 0; i < 256; i++)
        bytes[i] = (int8_t)i;
    const tn_tensor tensor = {.size = sizeof(tensor),
                              .type = x.type,
                              .rank = 1,
                              .shape = &extent,
                              .bytes = sizeof(bytes),
                              .data = bytes};
    const tn_attribute all = {
        .size = sizeof(all), .type = TN_FIELD_TENSOR, .name = "all", .tensor = &tensor};
    return match->set(match, &all);
}

static const char *const function_cases[] = {
    "x=u8[2,3,5] x_scale=f32[]{0.03} x_zero=u8[]{100} y_scale=f32[]{0.02} y_zero=u8[]{9}",
    "x=i8[19] x_scale=f32[]{0.03} y_scale=f32[]{0.02} y_zero=i8[]{-4}"};
static const char *const function_misses[] = {
    "x=u8[2,3,5] x_scale=f32[]{0} x_zero=u8[]{100} y_scale=f32[]{0.02} y_zero=u8[]{9}"};
#define FUNCTION(symbol, of_name, before, after)                                                   \
    TN_REWRITE(symbol, "quantized." of_name, "a function of 8-bit integers as a table",            \
               .pattern = "v = " before TN_MATCH_REAL("x") after "; " TN_MATCH_STORED("y", "v"),   \
               .replacement =                                                                      \
                   "y = Tenon::LookUp(x, QuantizeLinear(" before                                   \
                   "DequantizeLinear($all, x_scale, x_zero)" after ", y_scale, y_zero))",          \
               .guard = is_function, TN_REWRITE_CASES(function_cases),                             \
               TN_REWRITE_MISSES(function_misses))
FUNCTION(relu, "relu", "Relu(", ")");
FUNCTION(leaky_relu, "leaky_relu", "LeakyRelu(", ", alpha=?alpha)");
FUNCTION(sigmoid, "sigmoid", "Sigmoid(", ")");
FUNCTION(tanh_table, "tanh", "Tanh(", ")");
FUNCTION(hard_swish, "hard_swish", "HardSwish(", ")");
FUNCTION(hard_sigmoid, "hard_sigmoid", "HardSigmoid(", ", alpha=?alpha, beta=?beta)");
FUNCTION(gelu, "gelu", "Gelu(", ", approximate=?approximate)");
FUNCTION(erf_table, "erf", "Erf(", ")");

const tn_rewrite *const tn_quantized_rewrites[TN_QUANTIZED_REWRITES] = {
    &sum,        &sum_relu, &max_pool,   &reshape,    &flatten,      &transpose, &relu,
    &leaky_relu, &sigmoid,  &tanh_table, &hard_swish, &hard_sigmoid, &gelu,      &erf_table};
