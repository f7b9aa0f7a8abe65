/* SPDX-License-Identifier: Apache-2.0 */
/* Test::QuantizedMatMul: 8-bit matrices with one scale and one zero point each, multiplied in
 * integers; and the rewrite that finds it where exporters write a MatMul between DequantizeLinear
 * and QuantizeLinear. */
#include "fusions.h"

#include <math.h>

#define MATRIX   "i8|u8"
#define SCALE    "one number"
#define POINT(x) "of the type of " x
static const tn_port inputs[] = {
    TN_PORT("a", MATRIX, 0, "[..., m, k]"),   TN_PORT("a_scale", "f32", 0, SCALE),
    TN_PORT("a_zero", MATRIX, 0, POINT("a")), TN_PORT("b", MATRIX, 0, "[k, n]"),
    TN_PORT("b_scale", "f32", 0, SCALE),      TN_PORT("b_zero", MATRIX, 0, POINT("b")),
    TN_PORT("y_scale", "f32", 0, SCALE),      TN_PORT("y_zero", MATRIX, 0, POINT("y"))};
static const tn_port outputs[] = {TN_PORT("y", MATRIX, 0, "[..., m, n]")};
enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[A], *b = call->inputs[B];
    if (a->rank < 2 || b->rank != 2 || last_of(a, 1) != last_of(b, 2))
        return call->host->fail(call, TN_ERROR_SHAPE, "a's last extent is not b's first");
    if (a->type != call->inputs[A_ZERO]->type || b->type != call->inputs[B_ZERO]->type)
        return call->host->fail(call, TN_ERROR_TYPE, "a zero point has another type");
    call->outputs[0]->rank = a->rank;
    for (uint32_t i = 0; i < a->rank; i++)
        call->outputs[0]->shape[i] = a->shape[i];
    call->outputs[0]->shape[a->rank - 1] = last_of(b, 1);
    call->outputs[0]->type = call->inputs[Y_ZERO]->type;
    return TN_OK;
}

static int32_t load(const tn_tensor *tensor, int64_t at) {
    return tensor->type == TN_I8 ? ((const int8_t *)tensor->data)[at]
                                 : ((const uint8_t *)tensor->data)[at];
}

static void store(const tn_tensor *tensor, int64_t at, double value) {
    const double least = tensor->type == TN_I8 ? -128 : 0;
    const double bounded = fmin(fmax(value, least), least + 255);
    if (tensor->type == TN_I8)
        ((int8_t *)tensor->data)[at] = (int8_t)bounded;
    else
        ((uint8_t *)tensor->data)[at] = (uint8_t)bounded;
}

static float scale_of(const tn_tensor *tensor) {
    return *(const float *)tensor->data;
}

static tn_status multiply(tn_call *call) {
    const tn_tensor *const *in = call->inputs, *y = call->outputs[0];
    const int64_t k = last_of(in[B], 2), n = last_of(in[B], 1), count = count_of(y);
    const int32_t a_zero = load(in[A_ZERO], 0), b_zero = load(in[B_ZERO], 0);
    const double factor =
        (double)scale_of(in[A_SCALE]) * scale_of(in[B_SCALE]) / scale_of(in[Y_SCALE]);
    for (int64_t at = 0; n > 0 && at < count; at++) {
        const int64_t row = at / n, column = at % n;
        int64_t sum = 0;
        for (int64_t i = 0; i < k; i++)
            sum += (int64_t)(load(in[A], row * k + i) - a_zero) *
                   (load(in[B], i * n + column) - b_zero);
        store(y, at, nearbyint((double)sum * factor) + load(in[Y_ZERO], 0));
    }
    return TN_OK;
}

#define SCALES "a_scale=f32[]{0.5} b_scale=f32[]{0.25} y_scale=f32[]{8} "
static const char *const cases[] = {
    "| a=i8[2,3,4] b=i8[4,5] " SCALES "a_zero=i8[]{3} b_zero=i8[]{-2} y_zero=u8[]{128}",
    "| a=i8[3,1] b=i8[1,2] " SCALES "a_zero=i8[]{0} b_zero=i8[]{0} y_zero=i8[]{-5}",
    "| a=u8[3,7] b=i8[7,2] " SCALES "a_zero=u8[]{128} b_zero=i8[]{0} y_zero=u8[]{100}",
    "| a=u8[1,4,3] b=u8[3,6] " SCALES "a_zero=u8[]{12} b_zero=u8[]{128} y_zero=u8[]{0}"};
const tn_operator fusions_quantized = {.size = sizeof(tn_operator),
                                       .since_version = 1,
                                       .state_version = 1,
                                       .domain = "Test",
                                       .name = "QuantizedMatMul",
                                       .doc = "A product of matrices of 8-bit integers.",
                                       TN_NO_FIELDS,
                                       TN_INPUTS(inputs),
                                       TN_OUTPUTS(outputs),
                                       .infer = infer,
                                       .reference = multiply,
                                       TN_CASES(cases)};
static const char *const combinations[] = {
    "i8, f32, i8, i8, f32, i8, f32, i8 -> i8", "u8, f32, u8, i8, f32, i8, f32, u8 -> u8",
    "i8, f32, i8, i8, f32, i8, f32, u8 -> u8", "u8, f32, u8, u8, f32, u8, f32, u8 -> u8"};
const tn_kernel fusions_quantized_kernel = {.size = sizeof(tn_kernel),
                                            .revision = 1,
                                            .domain = "Test",
                                            .op = "QuantizedMatMul",
                                            .device = "cpu",
                                            .name = "rows",
                                            .traits = TN_KERNEL_DETERMINISTIC,
                                            TN_COMBINATIONS(combinations),
                                            .run = multiply};

static tn_status is_matrix(const tn_match *match) {
    return tn_match_rank(match, "b") == 2 && tn_match_rank(match, "a") >= 2
               ? TN_OK
               : match->refuse(match, "a is a vector, or b no matrix");
}

#define CASE(a, b)                                                                                 \
    "a=" a " a_scale=f32[]{0.5} a_zero=i8[]{3} b=" b " b_scale=f32[]{0.25} b_zero=i8[]{-2} "       \
    "y_scale=f32[]{8} y_zero=u8[]{128}"
static const char *const rewrite_cases[] = {CASE("i8[2,3,4]", "i8[4,5]"),
                                            CASE("i8[3,1]", "i8[1,2]")};
static const char *const misses[] = {CASE("i8[2,3,4]", "i8[2,4,5]")};
static const tn_rewrite rewrite = {
    .size = sizeof(tn_rewrite),
    .name = "quantized-matmul",
    .doc = "MatMul of dequantised matrices, the second one of constants, quantised again",
    .pattern = "w = DequantizeLinear(b:const, b_scale:scalar, b_zero:scalar, ...);"
               "p = MatMul(DequantizeLinear(a, a_scale:scalar, a_zero:scalar, ...), w);"
               "y = QuantizeLinear(p, y_scale:scalar, y_zero:scalar, ...)",
    .replacement = "y = Test::QuantizedMatMul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, "
                   "y_zero)",
    .guard = is_matrix,
    TN_REWRITE_CASES(rewrite_cases),
    TN_REWRITE_MISSES(misses),
};
const tn_rewrite *const fusions_quantized_rewrites[1] = {&rewrite};
