/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of quantized.h: shapes, references, tables. */
#include "quantized/quantized.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/known_steps.h>
#include <tenon/plugin/look_up.h>

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * QLinearAdd, QLinearMul */

static const bool is_sum = false, is_product = true; /* what `user` of the operators points at */

bool tn_quantized_is_product(const tn_call *call) {
    return *(const bool *)call->op->user;
}

static tn_status pair_infer(tn_call *call) {
    static const uint32_t scalars[] = {TN_PAIR_A_SCALE, TN_PAIR_A_ZERO,  TN_PAIR_B_SCALE,
                                       TN_PAIR_B_ZERO,  TN_PAIR_Y_SCALE, TN_PAIR_Y_ZERO};
    const tn_tensor *const both[] = {call->inputs[TN_PAIR_A], call->inputs[TN_PAIR_B]};
    for (size_t i = 0; i < TN_COUNT(scalars); i++) {
        const tn_tensor *tensor = tn_infer_input(call, scalars[i]);
        if (tensor && tn_element_count(tensor) != 1)
            return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be one number",
                                    tn_infer_input_name(call, scalars[i]));
    }
    tn_call probe = *call;
    probe.inputs = both;
    probe.input_count = 2;
    return tn_broadcast_infer_binary(&probe);
}

static int32_t zero_of(const tn_call *call, uint32_t input, uint8_t flip) {
    const tn_tensor *zero = tn_infer_input(call, input);
    return (zero ? (int32_t)tn_element_i64(zero, 0) : 0) + flip;
}

static uint8_t flip_of(const tn_tensor *tensor) {
    return tensor->type == TN_I8 ? 0x80 : 0;
}

void tn_quantized_pair_read(const tn_call *call, tn_quantized_pair *out_pair) {
    const float y_scale = (float)tn_element_f64(call->inputs[TN_PAIR_Y_SCALE], 0);
    const float a_scale = (float)tn_element_f64(call->inputs[TN_PAIR_A_SCALE], 0);
    const float b_scale = (float)tn_element_f64(call->inputs[TN_PAIR_B_SCALE], 0);
    const float both = a_scale * b_scale;
    tn_quantized_pair pair = {.a_flip = flip_of(call->inputs[TN_PAIR_A]),
                              .b_flip = flip_of(call->inputs[TN_PAIR_B]),
                              .y_flip = flip_of(call->outputs[0]),
                              .y_high = UINT8_MAX};
    pair.a_zero = zero_of(call, TN_PAIR_A_ZERO, pair.a_flip);
    pair.b_zero = zero_of(call, TN_PAIR_B_ZERO, pair.b_flip);
    pair.y_zero = zero_of(call, TN_PAIR_Y_ZERO, pair.y_flip);
    pair.a_factor = (tn_quantized_is_product(call) ? both : a_scale) / y_scale;
    pair.b_factor = b_scale / y_scale;
    *out_pair = pair;
}

static int32_t steps_of(const tn_tensor *tensor, int64_t at, uint8_t flip, int32_t zero) {
    return (int32_t)tn_element_i64(tensor, at) + flip - zero;
}

static tn_status pair_reference(tn_call *call) {
    const tn_tensor *a = call->inputs[TN_PAIR_A], *b = call->inputs[TN_PAIR_B];
    const bool multiplies = tn_quantized_is_product(call);
    tn_tensor *y = call->outputs[0];
    tn_quantized_pair pair;
    tn_broadcast_rows rows;
    tn_quantized_pair_read(call, &pair);
    tn_broadcast_init(&rows, y->rank, y->shape);
    tn_broadcast_add(&rows, a->rank, a->shape);
    tn_broadcast_add(&rows, b->rank, b->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows)) {
        for (int64_t i = 0; i < rows.count; i++) {
            const int32_t a_steps =
                steps_of(a, rows.offset[0] + i * rows.stride[0], pair.a_flip, pair.a_zero);
            const int32_t b_steps =
                steps_of(b, rows.offset[1] + i * rows.stride[1], pair.b_flip, pair.b_zero);
            const float value =
                multiplies ? (float)(a_steps * b_steps) * pair.a_factor
                           : (float)a_steps * pair.a_factor + (float)b_steps * pair.b_factor;
            tn_element_set_f64(y, rows.output_offset + i,
                               (isnan(value) ? 0 : nearbyint((double)value)) + pair.y_zero -
                                   pair.y_flip);
        }
    }
    return TN_OK;
}

static const tn_port pair_inputs[] = {
    TN_PORT("A", "T:u8|i8", 0, "first operand"),
    TN_PORT("A_scale", "f32", 0, "one number"),
    TN_PORT("A_zero_point", "T", TN_PORT_OPTIONAL, "one number; absent: 0"),
    TN_PORT("B", "T", 0, "second operand"),
    TN_PORT("B_scale", "f32", 0, "one number"),
    TN_PORT("B_zero_point", "T", TN_PORT_OPTIONAL, "one number; absent: 0"),
    TN_PORT("C_scale", "f32", 0, "one number"),
    TN_PORT("C_zero_point", "T", TN_PORT_OPTIONAL, "one number; absent: 0"),
};
static const tn_port pair_outputs[] = {TN_PORT("C", "T", 0, "the results in steps of C_scale")};
#define SCALES                                                                                     \
    "B_scale=f32[]{0.5} B_zero_point=u8[]{7} C_scale=f32[1]{0.75} C_zero_point=u8[1]{100}"
static const char *const sum_cases[] = {
    ("| A=u8[4]{0,10,255,3} A_scale=f32[]{1} A_zero_point=u8[]{0} B=u8[4]{0,2,255,4} "
     "B_scale=f32[]{0.5} B_zero_point=u8[]{0} C_scale=f32[]{2} C_zero_point=u8[]{1} "
     "| C=u8[4]{1,7,192,3}"),
    "| A=u8[2,3,5,7] A_scale=f32[]{0.3} A_zero_point=u8[]{128} B=u8[2,3,5,7] " SCALES,
    "| A=u8[2,3,1,7] A_scale=f32[]{0.3} A_zero_point=u8[]{128} B=u8[5,1] " SCALES,
    "| A=u8[] A_scale=f32[]{0.3} B=u8[1,64,9,9] " SCALES,
    ("| A=i8[3,133] A_scale=f32[]{0.01} A_zero_point=i8[]{-128} B=i8[133] B_scale=f32[]{0.02} "
     "C_scale=f32[]{0.03} C_zero_point=i8[]{-3}"),
    "| A=i8[0,3] A_scale=f32[]{1} B=i8[3] B_scale=f32[]{1} C_scale=f32[]{1}",
    "| A=u8[1,256,56,56] A_scale=f32[]{0.3} A_zero_point=u8[]{128} B=u8[1,256,56,56] " SCALES,
};
static const char *const product_cases[] = {
    ("| A=u8[4]{0,10,255,3} A_scale=f32[]{1} A_zero_point=u8[]{0} B=u8[4]{0,2,255,4} "
     "B_scale=f32[]{0.5} B_zero_point=u8[]{2} C_scale=f32[]{2} C_zero_point=u8[]{1} "
     "| C=u8[4]{1,1,255,3}"),
    "| A=u8[2,3,5,7] A_scale=f32[]{0.03} A_zero_point=u8[]{128} B=u8[2,3,5,7] " SCALES,
    "| A=u8[2,3,9,7] A_scale=f32[]{0.03} A_zero_point=u8[]{128} B=u8[2,3,1,1] " SCALES,
    ("| A=i8[3,133] A_scale=f32[]{0.01} A_zero_point=i8[]{-128} B=i8[133] B_scale=f32[]{0.02} "
     "C_scale=f32[]{0.003} C_zero_point=i8[]{-3}"),
    "| A=i8[0,3] A_scale=f32[]{1} B=i8[3] B_scale=f32[]{1} C_scale=f32[]{1}",
};
#define PAIR(prefix, of_name, words, roles)                                                        \
    static const tn_operator prefix##_1 = {TN_OPERATOR_BEGIN("com.microsoft", of_name, 1, words),  \
                                           TN_NO_FIELDS,                                           \
                                           TN_INPUTS(pair_inputs),                                 \
                                           TN_OUTPUTS(pair_outputs),                               \
                                           .infer = pair_infer,                                    \
                                           .reference = pair_reference,                            \
                                           .user = (void *)(uintptr_t) & (roles),                  \
                                           TN_CASES(prefix##_cases)}
PAIR(sum, "QLinearAdd",
     "Sum of two tensors of 8-bit integers that stand for floating-point values, broadcast with "
     "each "
     "other.",
     is_sum);
PAIR(
    product, "QLinearMul",
    "Product of two tensors of 8-bit integers that stand for floating-point values, broadcast with "
    "each other.",
    is_product);

/* ----------------------------------------------------------------------------------------------
 * LookUp */

static tn_status look_up_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *table = call->inputs[1];
    if (tn_element_count(table) != 256)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'table' must have 256 elements");
    return tn_infer_set_shape(call, 0, x->rank, x->shape);
}

static tn_status look_up_facet(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    if (input != 0 || !tn_known_is(name, TN_FACET_LOOK_UP)) return TN_ERROR_UNSUPPORTED;
    *(uint32_t *)out_facet->what = sizeof(uint32_t);
    out_facet->operand_count = 1;
    out_facet->operands[0] = (tn_facet_operand){.input = 1, .form = TN_OPERAND_CONSTANT};
    (void)call;
    return TN_OK;
}

static tn_status look_up_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint8_t *from = x->data, *table = call->inputs[1]->data;
    uint8_t *to = y->data;
    for (int64_t i = 0, end = tn_element_count(y); i < end; i++)
        to[i] = table[from[i]];
    return TN_OK;
}

static const tn_port look_up_inputs[] = {
    TN_PORT("x", "T1:u8|i8", 0, "any tensor"),
    TN_PORT("table", "T2:u8|i8", 0, "256 results, by the bits of x as an unsigned byte"),
};
static const tn_port look_up_outputs[] = {TN_PORT("y", "T2", 0, "table[x]")};
static const char *const look_up_cases[] = {
    "| x=u8[3]{0,255,7} table=u8[256]", "| x=i8[2,3,5] table=i8[256]",
    "| x=i8[1,8,9,9] table=u8[256]",    "| x=u8[0,2] table=i8[256]",
    "| x=u8[1,64,56,56] table=u8[256]",
};
TN_OPERATOR(look_up, "Tenon", "LookUp", 1, "A function of bytes as a table.", TN_NO_FIELDS,
            .facet = look_up_facet);

TN_LAYER_WITH_REWRITES(quantized, TN_OPERATORS(&sum_1, &product_1, &look_up_1),
                       tn_quantized_kernels, tn_quantized_rewrites);
