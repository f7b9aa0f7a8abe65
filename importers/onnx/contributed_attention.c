/* SPDX-License-Identifier: Apache-2.0 */
/* Contributed forms of attention with keys and values that are joined to the past ones, as ONNX's
 * Attention; see contributed.h. */
#include "importers/onnx/contributed.h"

#include <math.h>

/* What both operators hand to ONNX's Attention. */
typedef struct attention_parts {
    tn_import_tensor q, k, v; /* batch, positions, elements of all heads */
    tn_import_tensor padding; /* batch, keys: 1 where there is a key */
    tn_import_tensor bias;    /* added to the scores */
    tn_import_tensor past_key, past_value;
    int64_t heads;
} attention_parts;

/* Batch, keys as batch, 1, 1, keys. */
static tn_import_tensor padding_mask(tn_contributed *node, tn_import_tensor padding) {
    const tn_import_tensor_info info = tn_import_tensor_at(node->emit.graph, padding);
    if (info.type != TN_NONE && info.rank != 2)
        tn_contributed_refuse(node, "with a mask other than [batch, keys]");
    const tn_import_tensor seen =
        TN_CONTRIBUTED(node, "Cast", 13, TN_TENSORS(padding), tn_emit_text("to", "bool"));
    const tn_import_tensor axes = TN_CONTRIBUTED_LIST(node, 1, 2);
    return TN_CONTRIBUTED_PLAIN(node, "Unsqueeze", 13, seen, axes);
}

static tn_import_tensor mask_of(tn_contributed *node, const attention_parts *parts) {
    const bool has_bias = parts->bias != TN_IMPORT_NO_TENSOR;
    if (parts->padding == TN_IMPORT_NO_TENSOR) return parts->bias;
    const tn_import_tensor seen = padding_mask(node, parts->padding);
    if (!has_bias) return seen;
    const tn_import_tensor none = tn_contributed_like(node, -(double)INFINITY, parts->bias);
    return TN_CONTRIBUTED_PLAIN(node, "Where", 9, seen, parts->bias, none);
}

/* Y, present_key and present_value. */
static void emit_attention(tn_contributed *node, const attention_parts *parts,
                           tn_import_tensor out[3]) {
    const double scale = tn_contributed_number(node, "scale", 0);
    const tn_import_tensor mask = mask_of(node, parts);
    const tn_attribute fields[4] = {
        tn_emit_i64("q_num_heads", parts->heads), tn_emit_i64("kv_num_heads", parts->heads),
        tn_emit_i64("is_causal", tn_contributed_integer(node, "unidirectional", 0)),
        scale != 0 ? tn_emit_f64("scale", scale) : tn_emit_no_field()};
    tn_contributed_emit_many(
        node, "Attention", 24,
        TN_TENSORS(parts->q, parts->k, parts->v, mask, parts->past_key, parts->past_value), 4,
        fields, 3, out);
}

static int64_t read_heads(tn_contributed *node) {
    const int64_t heads = tn_contributed_integer(node, "num_heads", 0);
    if (heads < 1) tn_contributed_refuse(node, "without attribute 'num_heads'");
    return heads;
}

/* q, k and v side by side along the last axis, in equal parts or as a list says. */
static void split_parts(tn_contributed *node, tn_import_tensor packed, const tn_attribute *sizes,
                        int64_t axis, tn_import_tensor out[3]) {
    const tn_attribute fields[2] = {tn_emit_i64("axis", axis),
                                    sizes ? tn_emit_no_field() : tn_emit_i64("num_outputs", 3)};
    tn_import_tensor list = TN_IMPORT_NO_TENSOR;
    if (sizes && (sizes->type != TN_FIELD_I64S || sizes->count != 3))
        tn_contributed_refuse(node, "with 'qkv_hidden_sizes' that are not three integers");
    else if (sizes)
        list = tn_contributed_list(node, 3, sizes->items);
    tn_contributed_emit_many(node, "Split", 18, TN_TENSORS(packed, list), 2, fields, 3, out);
}

/* ----------------------------------------------------------------------------------------------
 * MultiHeadAttention: projections come from other nodes */

void tn_contributed_multi_head_attention(tn_contributed *node) {
    attention_parts parts = {.q = tn_contributed_input(node, 0),
                             .k = tn_contributed_input(node, 1),
                             .v = tn_contributed_input(node, 2),
                             .padding = tn_contributed_input(node, 4),
                             .bias = tn_contributed_input(node, 5),
                             .past_key = tn_contributed_input(node, 6),
                             .past_value = tn_contributed_input(node, 7),
                             .heads = read_heads(node)};
    tn_import_tensor bias[3], out[3];
    tn_contributed_without(node, 8, 3);
    if (parts.k == TN_IMPORT_NO_TENSOR || parts.v == TN_IMPORT_NO_TENSOR)
        tn_contributed_refuse(node, "with packed keys and values");
    if (tn_contributed_has(node, 3)) {
        split_parts(node, tn_contributed_input(node, 3), NULL, 0, bias);
        parts.q = tn_contributed_add(node, parts.q, bias[0]);
        parts.k = tn_contributed_add(node, parts.k, bias[1]);
        parts.v = tn_contributed_add(node, parts.v, bias[2]);
    }
    emit_attention(node, &parts, out);
    for (uint32_t i = 0; i < 3; i++)
        tn_contributed_output(node, i, out[i]);
}

/* ----------------------------------------------------------------------------------------------
 * Attention: one product for all projections; the past and the present of keys and values are
 * halves of one tensor */

static void split_past(tn_contributed *node, attention_parts *parts) {
    const tn_attribute fields[2] = {tn_emit_i64("axis", 0), tn_emit_i64("num_outputs", 2)};
    const tn_import_tensor past = tn_contributed_input(node, 4);
    tn_import_tensor halves[2];
    if (past == TN_IMPORT_NO_TENSOR) return;
    const tn_import_tensor axes = TN_CONTRIBUTED_LIST(node, 0);
    tn_contributed_emit_many(node, "Split", 18, TN_TENSORS(past), 2, fields, 2, halves);
    parts->past_key = TN_CONTRIBUTED_PLAIN(node, "Squeeze", 13, halves[0], axes);
    parts->past_value = TN_CONTRIBUTED_PLAIN(node, "Squeeze", 13, halves[1], axes);
}

static void join_present(tn_contributed *node, tn_import_tensor key, tn_import_tensor value) {
    if (!tn_contributed_wants(node, 1)) return;
    const tn_import_tensor axes = TN_CONTRIBUTED_LIST(node, 0);
    const tn_import_tensor a = TN_CONTRIBUTED_PLAIN(node, "Unsqueeze", 13, key, axes);
    const tn_import_tensor b = TN_CONTRIBUTED_PLAIN(node, "Unsqueeze", 13, value, axes);
    tn_contributed_output(
        node, 1, TN_CONTRIBUTED(node, "Concat", 13, TN_TENSORS(a, b), tn_emit_i64("axis", 0)));
}

void tn_contributed_attention(tn_contributed *node) {
    attention_parts parts = {.padding = tn_contributed_input(node, 3),
                             .bias = tn_contributed_input(node, 5),
                             .past_key = TN_IMPORT_NO_TENSOR,
                             .past_value = TN_IMPORT_NO_TENSOR,
                             .heads = read_heads(node)};
    tn_import_tensor projected[3], out[3];
    tn_contributed_only(node, "do_rotary", 0);
    tn_contributed_only(node, "past_present_share_buffer", 0);
    tn_contributed_without(node, 6, 2);
    tn_import_tensor all = TN_CONTRIBUTED_PLAIN(node, "MatMul", 13, tn_contributed_input(node, 0),
                                                tn_contributed_input(node, 1));
    all = tn_contributed_add(node, all, tn_contributed_input(node, 2));
    split_parts(node, all, tn_contributed_attribute(node, "qkv_hidden_sizes"), -1, projected);
    parts.q = projected[0];
    parts.k = projected[1];
    parts.v = projected[2];
    split_past(node, &parts);
    emit_attention(node, &parts, out);
    tn_contributed_output(node, 0, out[0]);
    join_present(node, out[1], out[2]);
}
