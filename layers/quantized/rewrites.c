/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes between DequantizeLinear and QuantizeLinear that integers pass: sums and products,
 * functions of one element (functions.h), and what only selects elements (rewrites_selections.h).
 * Convolutions and products of matrices are their own layers' matter.
 */
#include "kit/int8/match_quantized.h"
#include "quantized/quantized.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * sums and products */

static tn_status read_pair(const tn_match *match, tn_match_scale *a, tn_match_scale *b,
                           tn_match_scale *y) {
    tn_status status = tn_match_scale_read(match, "a", a);
    if (status == TN_OK) status = tn_match_scale_read(match, "b", b);
    if (status == TN_OK) status = tn_match_scale_read(match, "y", y);
    if (status != TN_OK) return status;
    if (a->type != b->type || a->type != y->type)
        return match->refuse(match, "the operands and the result are of two types");
    return TN_OK;
}

static tn_status is_sum(const tn_match *match) {
    tn_match_scale a, b, y;
    tn_status status = read_pair(match, &a, &b, &y);
    if (status != TN_OK) return status;
    if (!tn_match_is_scale(a.scale / y.scale) || !tn_match_is_scale(b.scale / y.scale))
        return match->refuse(match, "the scales are too far apart");
    return tn_match_check_clip(match, &y);
}

static tn_status is_product(const tn_match *match) {
    tn_match_scale a, b, y;
    tn_status status = read_pair(match, &a, &b, &y);
    if (status != TN_OK) return status;
    const float both = a.scale * b.scale;
    if (!tn_match_is_scale(both) || !tn_match_is_scale(both / y.scale))
        return match->refuse(match, "the scales are too far apart");
    return TN_OK;
}

#define OPERANDS                                                                                   \
    "a=u8[2,3,5] a_scale=f32[]{0.25} a_zero=u8[]{3} b=u8[3,1] b_scale=f32[]{0.5} "                 \
    "b_zero=u8[]{128} "
#define PAIR_PATTERN(op, of) op "(" TN_MATCH_REAL("a") ", " TN_MATCH_REAL_OR_CONST("b") "); " of
#define PAIR_REPLACEMENT(op)                                                                       \
    "y = com.microsoft::" op "(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)"
static const char *const pair_cases[] = {
    OPERANDS "y_scale=f32[]{1} y_zero=u8[]{0}",
    "a=i8[7] a_scale=f32[]{0.25} b=i8[7] b_scale=f32[]{2} y_scale=f32[]{0.5} y_zero=i8[]{-128}"};
static const char *const pair_misses[] = {OPERANDS "y_scale=f32[]{0} y_zero=u8[]{0}",
                                          OPERANDS "y_scale=f32[]{-1} y_zero=u8[]{0}",
                                          OPERANDS "y_scale=f32[]{1} y_zero=i8[]{0}"};
TN_REWRITE(sum, "quantized.add", "Add between DequantizeLinear and QuantizeLinear",
           .pattern = "v = " PAIR_PATTERN("Add", TN_MATCH_STORED("y", "v")),
           .replacement = PAIR_REPLACEMENT("QLinearAdd"), .guard = is_sum,
           TN_REWRITE_CASES(pair_cases), TN_REWRITE_MISSES(pair_misses));
TN_REWRITE(sum_relu, "quantized.add.relu", "the same with a ReLU that the output's type does",
           .pattern = "v = " PAIR_PATTERN("Add", "relu = Relu(v); " TN_MATCH_STORED("y", "relu")),
           .replacement = PAIR_REPLACEMENT("QLinearAdd"), .guard = is_sum,
           TN_REWRITE_CASES(pair_cases), TN_REWRITE_MISSES(pair_misses));
TN_REWRITE(product, "quantized.mul", "Mul between DequantizeLinear and QuantizeLinear",
           .pattern = "v = " PAIR_PATTERN("Mul", TN_MATCH_STORED("y", "v")),
           .replacement = PAIR_REPLACEMENT("QLinearMul"), .guard = is_product,
           TN_REWRITE_CASES(pair_cases), TN_REWRITE_MISSES(pair_misses));

/* The 256 bytes of a type in the order of their bits, of which operators compute tables, as $all.
 */
static tn_status set_all(const tn_match *match, tn_type type) {
    int8_t bytes[256];
    int64_t extent = 256;
    for (int i = 0; i < 256; i++)
        bytes[i] = (int8_t)i;
    const tn_tensor tensor = {.size = sizeof(tensor),
                              .type = type,
                              .rank = 1,
                              .shape = &extent,
                              .bytes = sizeof(bytes),
                              .data = bytes};
    const tn_attribute all = {
        .size = sizeof(all), .type = TN_FIELD_TENSOR, .name = "all", .tensor = &tensor};
    return match->set(match, &all);
}

#include "quantized/functions.h"
#include "quantized/rewrites_selections.h"

const tn_rewrite *const tn_quantized_rewrites[TN_QUANTIZED_REWRITES] = {&sum,
                                                                        &sum_relu,
                                                                        &product,
                                                                        &silu,
                                                                        &relu,
                                                                        &relu6,
                                                                        &relu6_fields,
                                                                        &leaky_relu,
                                                                        &elu,
                                                                        &celu,
                                                                        &selu,
                                                                        &sigmoid,
                                                                        &tanh_table,
                                                                        &hard_swish,
                                                                        &hard_sigmoid,
                                                                        &gelu,
                                                                        &mish,
                                                                        &swish,
                                                                        &softplus,
                                                                        &softsign,
                                                                        &erf_table,
                                                                        &max_pool,
                                                                        &reshape,
                                                                        &flatten,
                                                                        &transpose,
                                                                        &squeeze,
                                                                        &unsqueeze,
                                                                        &slice,
                                                                        &gather,
                                                                        &expand,
                                                                        &depth_to_space,
                                                                        &space_to_depth,
                                                                        &pad,
                                                                        &pad_axes,
                                                                        &resize,
                                                                        &resize_axes,
                                                                        &concat_2,
                                                                        &concat_3,
                                                                        &concat_4,
                                                                        &concat_5,
                                                                        &concat_tables_2,
                                                                        &concat_tables_3,
                                                                        &concat_tables_4,
                                                                        &concat_tables_5,
                                                                        &split_2,
                                                                        &split_3};
