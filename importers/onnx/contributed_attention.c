/* SPDX-License-Identifier: Apache-2.0 */
/* Contributed forms of attention with keys and values that are joined to the past ones, as ONNX's
 * Attention; see contributed.h. */
#include "importers/onnx/contributed.h"

#include <math.h>

/* What both operators hand to ONNX's Attention. */
typedef struct attention_parts {
    tn_import_tensor q, k, v; /* batch, positions, elements of all heads */
    bool by_heads;            /* or batch, heads, positions, elements of a head */
    tn_import_tensor padding; /* which keys there are, in any form; see padding_mask */
    tn_import_tensor bias;    /* added to the scores */
    tn_import_tensor past_key, past_value;
    int64_t heads;
} attention_parts;

/* The keys of all positions, past ones and new ones, as a list of one. */
static tn_import_tensor extent_of_keys(tn_contributed *node, const attention_parts *parts) {
    const tn_import_tensor added = tn_contributed_extent(node, parts->k, parts->by_heads ? 2 : 1);
    if (parts->past_key == TN_IMPORT_NO_TENSOR) return added;
    const tn_import_tensor past = tn_contributed_extent(node, parts->past_key, 2);
    return TN_CONTRIBUTED_PLAIN(node, "Add", 14, past, added);
}

/* Keys below a sample's length: batch, keys. */
static tn_import_tensor within_lengths(tn_contributed *node, const attention_parts *parts,
                                       tn_import_tensor column) {
    const tn_import_tensor keys = tn_contributed_range(node, extent_of_keys(node, parts));
    const tn_import_tensor lengths =
        TN_CONTRIBUTED(node, "Cast", 13, TN_TENSORS(column), tn_emit_text("to", "i64"));
    return TN_CONTRIBUTED_PLAIN(node, "Less", 13, keys, lengths);
}

/* Of a mask whose rank the file does not say: one element a sample is its length, several say which
 * keys there are. */
static tn_import_tensor seen_of_any_rank(tn_contributed *node, const attention_parts *parts) {
    const tn_import_tensor rest = TN_CONTRIBUTED_LIST(node, -1), one = TN_CONTRIBUTED_LIST(node, 1);
    const tn_import_tensor batch = tn_contributed_extent(node, parts->q, 0);
    const tn_import_tensor shape =
        TN_CONTRIBUTED(node, "Concat", 13, TN_TENSORS(batch, rest), tn_emit_i64("axis", 0));
    const tn_import_tensor rows = TN_CONTRIBUTED_PLAIN(node, "Reshape", 14, parts->padding, shape);
    const tn_import_tensor width = tn_contributed_extent(node, rows, 1);
    const tn_import_tensor is_length = TN_CONTRIBUTED_PLAIN(node, "Equal", 13, width, one);
    const tn_import_tensor within = within_lengths(node, parts, rows);
    const tn_import_tensor seen =
        TN_CONTRIBUTED(node, "Cast", 13, TN_TENSORS(rows), tn_emit_text("to", "bool"));
    return TN_CONTRIBUTED_PLAIN(node, "Where", 9, is_length, within, seen);
}

/* The mask as batch, 1, queries or 1, keys. It comes as lengths [batch], as [batch, keys] or as
 * [batch, queries, keys]. */
static tn_import_tensor padding_mask(tn_contributed *node, const attention_parts *parts) {
    const tn_import_tensor_info info = tn_import_tensor_at(node->emit.graph, parts->padding);
    const uint32_t rank = info.type == TN_NONE ? 0 : info.rank;
    if (rank > 3) tn_contributed_refuse(node, "with a mask of four axes or more");
    if (rank == 0) return TN_CONTRIBUTED_UNSQUEEZED(node, seen_of_any_rank(node, parts), 1, 2);
    if (rank == 1) {
        const tn_import_tensor column = TN_CONTRIBUTED_UNSQUEEZED(node, parts->padding, 1);
        return TN_CONTRIBUTED_UNSQUEEZED(node, within_lengths(node, parts, column), 1, 2);
    }
    const tn_import_tensor seen =
        TN_CONTRIBUTED(node, "Cast", 13, TN_TENSORS(parts->padding), tn_emit_text("to", "bool"));
    if (rank == 2) return TN_CONTRIBUTED_UNSQUEEZED(node, seen, 1, 2);
    return TN_CONTRIBUTED_UNSQUEEZED(node, seen, 1);
}

static tn_import_tensor mask_of(tn_contributed *node, const attention_parts *parts) {
    const bool has_bias = parts->bias != TN_IMPORT_NO_TENSOR;
    if (parts->padding == TN_IMPORT_NO_TENSOR) return parts->bias;
    const tn_import_tensor seen = padding_mask(node, parts);
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

/* Batch, positions, heads, parts, elements as so many tensors of batch, positions, elements. */
static void split_heads(tn_contributed *node, tn_import_tensor packed, uint32_t count,
                        tn_import_tensor *out) {
    const tn_attribute fields[2] = {tn_emit_i64("axis", 3), tn_emit_i64("num_outputs", count)};
    tn_contributed_emit_many(node, "Split", 18, TN_TENSORS(packed), 2, fields, count, out);
    for (uint32_t i = 0; i < count; i++)
        out[i] = TN_CONTRIBUTED_RESHAPED(node, out[i], 0, 0, -1);
}

/* Without keys or without values these come with what is before them. */
static void read_projections(tn_contributed *node, attention_parts *parts) {
    tn_import_tensor items[3] = {parts->q, parts->k, parts->v};
    if (parts->k == TN_IMPORT_NO_TENSOR)
        split_heads(node, parts->q, 3, items);
    else if (parts->v == TN_IMPORT_NO_TENSOR)
        split_heads(node, parts->k, 2, items + 1);
    parts->q = items[0];
    parts->k = items[1];
    parts->v = items[2];
}

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
    read_projections(node, &parts);
    if (tn_contributed_has(node, 3)) {
        split_parts(node, tn_contributed_input(node, 3), NULL, 0, bias);
        parts.q = tn_contributed_add(node, parts.q, bias[0]);
        parts.k = tn_contributed_add(node, parts.k, bias[1]);
        parts.v = tn_contributed_add(node, parts.v, bias[2]);
    }
    const tn_import_tensor_info of_k = tn_import_tensor_at(node->emit.graph, parts.k);
    parts.by_heads = of_k.type != TN_NONE && of_k.rank == 4;
    /* keys of another sequence come by heads: batch, heads, positions, elements */
    if (parts.by_heads)
        parts.q = tn_contributed_swapped(
            node, TN_CONTRIBUTED_RESHAPED(node, parts.q, 0, 0, parts.heads, -1));
    emit_attention(node, &parts, out);
    if (parts.by_heads)
        out[0] = TN_CONTRIBUTED_RESHAPED(node, tn_contributed_swapped(node, out[0]), 0, 0, -1);
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
