/* SPDX-License-Identifier: Apache-2.0 */
/* Contributed operators on 8-bit integers with scales: the operator between DequantizeLinear and
 * QuantizeLinear; see contributed.h. */
#include "importers/onnx/contributed.h"

static tn_import_tensor dequantized(tn_contributed *node, uint32_t first) {
    return TN_CONTRIBUTED_PLAIN(node, "DequantizeLinear", 13, tn_contributed_input(node, first),
                                tn_contributed_input(node, first + 1),
                                tn_contributed_input(node, first + 2));
}

/* An output of floats is one without a scale. */
static void output_quantized(tn_contributed *node, tn_import_tensor value, uint32_t scale) {
    if (tn_contributed_has(node, scale))
        value = TN_CONTRIBUTED_PLAIN(node, "QuantizeLinear", 13, value,
                                     tn_contributed_input(node, scale),
                                     tn_contributed_input(node, scale + 1));
    tn_contributed_output(node, 0, value);
}

void tn_contributed_qlinear_binary(tn_contributed *node) {
    const char *op = strcmp(node->op, "QLinearAdd") == 0 ? "Add" : "Mul";
    const tn_import_tensor a = dequantized(node, 0), b = dequantized(node, 3);
    output_quantized(node, TN_CONTRIBUTED_PLAIN(node, op, 14, a, b), 6);
}

void tn_contributed_qlinear_unary(tn_contributed *node) {
    const tn_import_tensor x = dequantized(node, 0);
    const tn_import_tensor y =
        strcmp(node->op, "QLinearSigmoid") == 0
            ? TN_CONTRIBUTED_PLAIN(node, "Sigmoid", 13, x)
            : TN_CONTRIBUTED(node, "LeakyRelu", 16, TN_TENSORS(x),
                             tn_emit_f64("alpha", tn_contributed_number(node, "alpha", 0.01)));
    output_quantized(node, y, 3);
}

/* Inputs are the result's scale and zero point, then each tensor with its own. */
void tn_contributed_qlinear_concat(tn_contributed *node) {
    enum { MOST = 64 };
    tn_import_tensor items[MOST];
    uint32_t count = 0;
    if (node->input_count / 3 > MOST) tn_contributed_refuse(node, "with so many inputs");
    for (uint32_t i = 2; i + 2 < node->input_count && count < MOST; i += 3)
        items[count++] = dequantized(node, i);
    const tn_attribute axis = tn_emit_i64("axis", tn_contributed_integer(node, "axis", 0));
    const tn_emit_tensors inputs = {count, items};
    output_quantized(node, tn_contributed_emit(node, "Concat", 13, inputs, 1, &axis), 0);
}

void tn_contributed_qlinear_pool(tn_contributed *node) {
    const bool is_global = strcmp(node->op, "QLinearGlobalAveragePool") == 0;
    tn_attribute fields[TN_EMIT_FIELDS];
    size_t count = 0;
    tn_contributed_only(node, "channels_last", 0);
    for (uint64_t i = 0; i < node->attribute_count && count < TN_EMIT_FIELDS; i++)
        if (strcmp(node->attributes[i]->name, "channels_last") != 0)
            fields[count++] = *node->attributes[i];
    const tn_import_tensor x = dequantized(node, 0);
    output_quantized(
        node,
        is_global ? TN_CONTRIBUTED_PLAIN(node, "GlobalAveragePool", 1, x)
                  : tn_contributed_emit(node, "AveragePool", 11, TN_TENSORS(x), count, fields),
        3);
}

/* The table of exponentials is of the version that 'opset' says: before 13 all axes from the given
 * one on are summed over. */
void tn_contributed_qlinear_softmax(tn_contributed *node) {
    const bool is_flat = tn_contributed_integer(node, "opset", 13) < 13;
    const int64_t axis = tn_contributed_integer(node, "axis", is_flat ? 1 : -1);
    const tn_import_tensor x = dequantized(node, 0);
    output_quantized(node,
                     TN_CONTRIBUTED(node, "Softmax", is_flat ? 11 : 13, TN_TENSORS(x),
                                    tn_emit_i64("axis", axis)),
                     3);
}

void tn_contributed_qlinear_where(tn_contributed *node) {
    const tn_import_tensor x = dequantized(node, 1), y = dequantized(node, 4);
    output_quantized(
        node, TN_CONTRIBUTED_PLAIN(node, "Where", 16, tn_contributed_input(node, 0), x, y), 7);
}

/* Integers whose scale may be a list: one for each index of the axis. */
static tn_import_tensor dequantized_along(tn_contributed *node, int64_t axis,
                                          tn_import_tensor integers, tn_import_tensor scale,
                                          tn_import_tensor zero) {
    return TN_CONTRIBUTED(node, "DequantizeLinear", 13, TN_TENSORS(integers, scale, zero),
                          tn_emit_i64("axis", axis));
}

/* alpha * (A * B + C), where C is of the sums' integers: its scale is that of A times that of B. */
void tn_contributed_q_gemm(tn_contributed *node) {
    enum { B = 3, C = 6, Y_SCALE = 7 };
    const double alpha = tn_contributed_number(node, "alpha", 1);
    const int64_t trans_a = tn_contributed_integer(node, "transA", 0);
    const int64_t trans_b = tn_contributed_integer(node, "transB", 0);
    const tn_import_tensor b_scale = tn_contributed_input(node, B + 1);
    const tn_import_tensor a = dequantized(node, 0);
    const tn_import_tensor b =
        dequantized_along(node, trans_b ? 0 : 1, tn_contributed_input(node, B), b_scale,
                          tn_contributed_input(node, B + 2));
    tn_import_tensor c = TN_IMPORT_NO_TENSOR;
    if (tn_contributed_has(node, C)) {
        const tn_import_tensor step =
            TN_CONTRIBUTED_PLAIN(node, "Mul", 14, tn_contributed_input(node, 1), b_scale);
        c = dequantized_along(node, -1, tn_contributed_input(node, C), step, TN_IMPORT_NO_TENSOR);
    }
    const tn_import_tensor y = TN_CONTRIBUTED(
        node, "Gemm", 13, TN_TENSORS(a, b, c), tn_emit_f64("alpha", alpha),
        tn_emit_f64("beta", alpha), tn_emit_i64("transA", trans_a), tn_emit_i64("transB", trans_b));
    output_quantized(node, y, Y_SCALE);
}

/* Attention whose input and weights are integers. */
void tn_contributed_q_attention(tn_contributed *node) {
    tn_contributed real = *node;
    const tn_import_tensor x =
        dequantized_along(&real, -1, tn_contributed_input(node, 0), tn_contributed_input(node, 3),
                          tn_contributed_input(node, 6));
    const tn_import_tensor weights =
        dequantized_along(&real, 1, tn_contributed_input(node, 1), tn_contributed_input(node, 4),
                          tn_contributed_input(node, 7));
    const tn_import_tensor inputs[] = {x, weights, tn_contributed_input(node, 2),
                                       tn_contributed_input(node, 5),
                                       tn_contributed_input(node, 8)};
    real.inputs = inputs;
    real.input_count = sizeof(inputs) / sizeof(inputs[0]);
    tn_contributed_attention(&real);
    node->emit = real.emit;
}

/* ONNX's own operators, which had no 16-bit and 4-bit integers when these were written. */
void tn_contributed_quantize(tn_contributed *node) {
    const tn_import_tensor y =
        TN_CONTRIBUTED(node, node->op, 21,
                       TN_TENSORS(tn_contributed_input(node, 0), tn_contributed_input(node, 1),
                                  tn_contributed_input(node, 2)),
                       tn_emit_i64("axis", tn_contributed_integer(node, "axis", 1)));
    tn_contributed_output(node, 0, y);
}

/* A is quantised by what is in it; B is constant: integers, a scale and a zero point. */
void tn_contributed_dynamic_mat_mul(tn_contributed *node) {
    tn_import_tensor a[3] = {TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR};
    tn_contributed_emit_many(node, "DynamicQuantizeLinear", 11,
                             TN_TENSORS(tn_contributed_input(node, 0)), 0, NULL, 3, a);
    const tn_import_tensor sums =
        TN_CONTRIBUTED_PLAIN(node, "MatMulInteger", 10, a[0], tn_contributed_input(node, 1), a[2],
                             tn_contributed_input(node, 3));
    const tn_import_tensor wide =
        TN_CONTRIBUTED(node, "Cast", 13, TN_TENSORS(sums), tn_emit_text("to", "f32"));
    const tn_import_tensor scale =
        TN_CONTRIBUTED_PLAIN(node, "Mul", 14, a[1], tn_contributed_input(node, 2));
    const tn_import_tensor y = TN_CONTRIBUTED_PLAIN(node, "Mul", 14, wide, scale);
    tn_contributed_output(node, 0, tn_contributed_add(node, y, tn_contributed_input(node, 4)));
}
