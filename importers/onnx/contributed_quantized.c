/* SPDX-License-Identifier: Apache-2.0 */
/* Contributed operators on 8-bit integers with scales: the operator between DequantizeLinear and
 * QuantizeLinear; see contributed.h. */
#include "importers/onnx/contributed.h"

static tn_import_tensor dequantized(tn_contributed *node, uint32_t first) {
    return TN_CONTRIBUTED_PLAIN(node, "DequantizeLinear", 13, tn_contributed_input(node, first),
                                tn_contributed_input(node, first + 1),
                                tn_contributed_input(node, first + 2));
}

static void output_quantized(tn_contributed *node, tn_import_tensor value, uint32_t scale) {
    tn_contributed_output(node, 0,
                          TN_CONTRIBUTED_PLAIN(node, "QuantizeLinear", 13, value,
                                               tn_contributed_input(node, scale),
                                               tn_contributed_input(node, scale + 1)));
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
