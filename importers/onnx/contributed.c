/* SPDX-License-Identifier: Apache-2.0 */
/* The table of contributed operators, and what their formulas are made with; see contributed.h. */
#include "importers/onnx/contributed.h"
#include "base/status.h"

#define MICROSOFT "com.microsoft"

static const struct {
    const char *domain, *op;
    tn_contributed_formula formula;
} formulas[] = {
    {MICROSOFT, "Attention", tn_contributed_attention},
    {MICROSOFT, "BiasGelu", tn_contributed_bias_gelu},
    {MICROSOFT, "DequantizeLinear", tn_contributed_quantize},
    {MICROSOFT, "DynamicQuantizeMatMul", tn_contributed_dynamic_mat_mul},
    {MICROSOFT, "EmbedLayerNormalization", tn_contributed_embed_layer_norm},
    {MICROSOFT, "FastGelu", tn_contributed_fast_gelu},
    {MICROSOFT, "FusedConv", tn_contributed_fused_conv},
    {MICROSOFT, "FusedGemm", tn_contributed_fused_gemm},
    {MICROSOFT, "FusedMatMul", tn_contributed_fused_mat_mul},
    {MICROSOFT, "GatherBlockQuantized", tn_contributed_gather_blocks},
    {MICROSOFT, "Gelu", tn_contributed_gelu},
    {MICROSOFT, "GroupQueryAttention", tn_contributed_group_query_attention},
    {MICROSOFT, "MatMulNBits", tn_contributed_mat_mul_bits},
    {MICROSOFT, "MultiHeadAttention", tn_contributed_multi_head_attention},
    {MICROSOFT, "QAttention", tn_contributed_q_attention},
    {MICROSOFT, "QGemm", tn_contributed_q_gemm},
    {MICROSOFT, "QLinearAdd", tn_contributed_qlinear_binary},
    {MICROSOFT, "QLinearAveragePool", tn_contributed_qlinear_pool},
    {MICROSOFT, "QLinearConcat", tn_contributed_qlinear_concat},
    {MICROSOFT, "QLinearGlobalAveragePool", tn_contributed_qlinear_pool},
    {MICROSOFT, "QLinearLeakyRelu", tn_contributed_qlinear_unary},
    {MICROSOFT, "QLinearMul", tn_contributed_qlinear_binary},
    {MICROSOFT, "QLinearSigmoid", tn_contributed_qlinear_unary},
    {MICROSOFT, "QLinearSoftmax", tn_contributed_qlinear_softmax},
    {MICROSOFT, "QLinearWhere", tn_contributed_qlinear_where},
    {MICROSOFT, "QuantizeLinear", tn_contributed_quantize},
    {MICROSOFT, "QuickGelu", tn_contributed_quick_gelu},
    {MICROSOFT, "RotaryEmbedding", tn_contributed_rotary},
    {MICROSOFT, "SkipLayerNormalization", tn_contributed_skip_layer_norm},
    {MICROSOFT, "SkipSimplifiedLayerNormalization", tn_contributed_skip_rms_norm},
    {MICROSOFT, "TransposeMatMul", tn_contributed_fused_mat_mul},
    /* in ONNX's domain, though not ONNX's */
    {"", "SimplifiedLayerNormalization", tn_contributed_rms_norm},
};

tn_contributed_formula tn_contributed_find(const char *domain, const char *op) {
    for (size_t i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++)
        if (strcmp(formulas[i].domain, domain) == 0 && strcmp(formulas[i].op, op) == 0)
            return formulas[i].formula;
    return NULL;
}

tn_import_tensor tn_contributed_input(const tn_contributed *node, uint32_t index) {
    return index < node->input_count ? node->inputs[index] : TN_IMPORT_NO_TENSOR;
}

bool tn_contributed_wants(const tn_contributed *node, uint32_t index) {
    return index < node->output_count && node->outputs[index] != TN_IMPORT_NO_TENSOR;
}

/* The tensor is there already, for nodes that name it: a node that hands on its input is dropped by
 * the build. */
void tn_contributed_output(tn_contributed *node, uint32_t index, tn_import_tensor value) {
    const tn_operator *op = NULL;
    tn_import *import = node->emit.graph->import;
    if (node->emit.status != TN_OK || !tn_contributed_wants(node, index)) return;
    tn_emit_keep(&node->emit, import->services->find_operator(import, "", "Identity", 0, &op));
    if (node->emit.status == TN_OK)
        tn_emit_keep(&node->emit, tn_import_add_node(node->emit.graph, node->emit.name, op, 0, NULL,
                                                     1, &value, 1, &node->outputs[index]));
}

void tn_contributed_refuse(tn_contributed *node, const char *reason) {
    if (node->emit.status != TN_OK) return;
    node->emit.status = reason
                            ? tn_fail(TN_ERROR_UNSUPPORTED, "%s is not read %s", node->op, reason)
                            : tn_fail_memory("a message");
}

const tn_attribute *tn_contributed_attribute(const tn_contributed *node, const char *name) {
    for (uint64_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i]->name, name) == 0) return node->attributes[i];
    return NULL;
}

double tn_contributed_number(const tn_contributed *node, const char *name, double fallback) {
    const tn_attribute *attribute = tn_contributed_attribute(node, name);
    if (!attribute) return fallback;
    return attribute->type == TN_FIELD_I64 ? (double)attribute->i : attribute->f;
}

int64_t tn_contributed_integer(const tn_contributed *node, const char *name, int64_t fallback) {
    const tn_attribute *attribute = tn_contributed_attribute(node, name);
    return attribute && attribute->type == TN_FIELD_I64 ? attribute->i : fallback;
}

void tn_contributed_only(tn_contributed *node, const char *attribute, double value) {
    if (tn_contributed_number(node, attribute, value) == value) return;
    tn_contributed_refuse(
        node,
        tn_arena_format(node->emit.arena, "with attribute '%s' other than %g", attribute, value));
}

void tn_contributed_without(tn_contributed *node, uint32_t inputs, uint32_t outputs) {
    for (uint32_t i = inputs; i < node->input_count; i++)
        if (tn_contributed_has(node, i))
            tn_contributed_refuse(node, tn_arena_format(node->emit.arena, "with its input %u", i));
    for (uint32_t i = outputs; i < node->output_count; i++)
        if (tn_contributed_wants(node, i))
            tn_contributed_refuse(node, tn_arena_format(node->emit.arena, "with its output %u", i));
}

static void make_fields(tn_emit_fields *out, uint32_t version, size_t count,
                        const tn_attribute *fields) {
    *out = (tn_emit_fields){.version = version};
    for (size_t i = 0; i < count && i < TN_EMIT_FIELDS; i++)
        out->items[i] = fields[i];
}

tn_import_tensor tn_contributed_emit(tn_contributed *node, const char *op, uint32_t version,
                                     tn_emit_tensors inputs, size_t count,
                                     const tn_attribute *fields) {
    tn_emit_fields all;
    make_fields(&all, version, count, fields);
    return tn_emit(&node->emit, op, op, &all, inputs);
}

void tn_contributed_emit_many(tn_contributed *node, const char *op, uint32_t version,
                              tn_emit_tensors inputs, size_t count, const tn_attribute *fields,
                              uint32_t output_count, tn_import_tensor *out_outputs) {
    enum { MOST = 4 };
    const char *names[MOST];
    tn_emit_fields all;
    make_fields(&all, version, count, fields);
    for (uint32_t i = 0; i < output_count; i++) {
        out_outputs[i] = TN_IMPORT_NO_TENSOR;
        if (i < MOST)
            names[i] = tn_emit_name(&node->emit, tn_arena_format(node->emit.arena, "%s.%u", op, i));
    }
    if (node->emit.status == TN_OK && output_count <= MOST)
        (void)tn_emit_node(&node->emit,
                           tn_arena_format(node->emit.arena, "%s/%s", node->emit.name, op), op,
                           &all, inputs, output_count, names, out_outputs);
}

tn_import_tensor tn_contributed_list(tn_contributed *node, size_t count, const int64_t *items) {
    return tn_emit_list(&node->emit, "list", count, items);
}

tn_import_tensor tn_contributed_like(tn_contributed *node, double value, tn_import_tensor like) {
    const tn_import_tensor number = tn_emit_scalar(&node->emit, "number", value);
    return TN_CONTRIBUTED_PLAIN(node, "CastLike", 15, number, like);
}

tn_import_tensor tn_contributed_add(tn_contributed *node, tn_import_tensor x, tn_import_tensor y) {
    return y == TN_IMPORT_NO_TENSOR ? x : TN_CONTRIBUTED_PLAIN(node, "Add", 14, x, y);
}

tn_import_tensor tn_contributed_reshaped(tn_contributed *node, tn_import_tensor x, size_t count,
                                         const int64_t *extents) {
    const tn_import_tensor list = tn_contributed_list(node, count, extents);
    return TN_CONTRIBUTED_PLAIN(node, "Reshape", 14, x, list);
}

tn_import_tensor tn_contributed_extent(tn_contributed *node, tn_import_tensor x, int64_t axis) {
    return TN_CONTRIBUTED(node, "Shape", 15, TN_TENSORS(x), tn_emit_i64("start", axis),
                          tn_emit_i64("end", axis + 1));
}

tn_import_tensor tn_contributed_range(tn_contributed *node, tn_import_tensor end) {
    const int64_t numbers[2] = {0, 1};
    const tn_import_tensor count = TN_CONTRIBUTED_PLAIN(node, "Squeeze", 13, end);
    const tn_import_tensor zero =
        tn_emit_constant(&node->emit, "zero", TN_I64, 0, NULL, &numbers[0]);
    const tn_import_tensor one = tn_emit_constant(&node->emit, "one", TN_I64, 0, NULL, &numbers[1]);
    return TN_CONTRIBUTED_PLAIN(node, "Range", 11, zero, count, one);
}

tn_import_tensor tn_contributed_unsqueezed(tn_contributed *node, tn_import_tensor x, size_t count,
                                           const int64_t *axes) {
    const tn_import_tensor list = tn_contributed_list(node, count, axes);
    return TN_CONTRIBUTED_PLAIN(node, "Unsqueeze", 13, x, list);
}

tn_import_tensor tn_contributed_swapped(tn_contributed *node, tn_import_tensor x) {
    const int64_t order[4] = {0, 2, 1, 3};
    return TN_CONTRIBUTED(node, "Transpose", 13, TN_TENSORS(x), tn_emit_i64s("perm", 4, order));
}
