/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For rewrites of networks that are quantised with QuantizeLinear and DequantizeLinear: texts of
 * patterns, and what guards ask of scales and zero points. A tensor of 8 bits named x has its scale
 * under x_scale and its zero point, which may be absent, under x_zero.
 *
 *     real = (x - x_zero) * x_scale
 */
#ifndef TN_KIT_INT8_MATCH_QUANTIZED_H
#define TN_KIT_INT8_MATCH_QUANTIZED_H

#include <tenon/plugin/rewrite.h>

/* The real values of x, of one scale; the node stays for others that read it. */
#define TN_MATCH_REAL(x) "DequantizeLinear*(" x ", " x "_scale:scalar, " x "_zero?:scalar, ...)"
/* The same of a tensor that may be a constant. */
#define TN_MATCH_REAL_OR_CONST(x)                                                                  \
    "(" TN_MATCH_REAL(x) " | DequantizeLinear*(" x ":const, " x "_scale:scalar, " x                \
                         "_zero?:scalar, ...))"
/* The real values of constant weights w, of one scale or of one an index along the axis that is
 * captured as `axis`. Before opset 13 there is no axis, and these do not match. */
#define TN_MATCH_WEIGHTS(w)                                                                        \
    "DequantizeLinear@13*(" w ":const, " w "_scale:const, " w "_zero?:const, axis=?axis, ...)"
/* A bias for tn_match_set_bias(match, .., "b", "q", ..). */
#define TN_MATCH_BIAS                                                                              \
    "b?:const | DequantizeLinear@13*(q:const, q_scale:const, q_zero?:const, axis=?bias_axis, ...)"
/* The last statement: y, of one scale, from real values. */
#define TN_MATCH_STORED(y, real)                                                                   \
    y " = QuantizeLinear(" real ", " y "_scale:scalar, " y "_zero?:scalar, ...)"

typedef struct tn_match_scale {
    tn_type type; /* of the stored tensor: TN_I8 or TN_U8 */
    float scale;  /* positive, not subnormal */
    int32_t zero;
    int32_t lowest, highest; /* of the type */
} tn_match_scale;

/* Reads the scale and zero point of the tensor of 8 bits `name`, which has one of each.
 * TN_ERROR_UNSUPPORTED, with the reason: the scale is no positive 32-bit float, or the types are
 * others. */
tn_status tn_match_scale_read(const tn_match *match, const char *name, tn_match_scale *out_scale);
/* Whether a scale is one that integers are computed with: positive and neither subnormal nor
 * infinite. */
bool tn_match_is_scale(float scale);
/* TN_ERROR_UNSUPPORTED, with the reason: the ReLU that matched as `relu`, or the bounds that were
 * captured as `low` and `high`, change what is stored with this scale. None of them: TN_OK. */
tn_status tn_match_check_clip(const tn_match *match, const tn_match_scale *scale);
/* TN_ERROR_UNSUPPORTED, with the reason: TN_MATCH_WEIGHTS(name) has other scales than one, or one
 * for each index along `axis`, or integers cannot be computed with them between x and y. */
tn_status tn_match_weights_check(const tn_match *match, const char *name, uint32_t axis,
                                 const tn_match_scale *x, const tn_match_scale *y);

/* Sets $name to the zero points of `stored`: those in the network, or 0 of its type. */
tn_status tn_match_set_zero(const tn_match *match, const char *name, const char *stored);
/* Sets $xz, $wz and $yz to the zero points of x, of the tensor `factor` and of y: those in the
 * network, or 0 where there are none. */
tn_status tn_match_set_zero_points(const tn_match *match, const char *factor);
/* Sets $name to a vector of 32-bit integers: the biases of `count` channels in steps of
 * x_scale * scales[channel], `scales` of one element or one a channel. They are the constant `b`,
 * of real values, or `q`, of integers with q_scale and q_zero; neither: all are 0.
 * TN_ERROR_UNSUPPORTED: they do not fit. */
tn_status tn_match_set_bias(const tn_match *match, const char *name, const char *b, const char *q,
                            float x_scale, const tn_tensor *scales, int64_t count);

#endif
