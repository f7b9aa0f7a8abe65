/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contributed GroupQueryAttention and RotaryEmbedding; see contributed.h. Each sample of the batch
 * has as many keys as an input says, and its new ones are put behind those that its cache holds.
 */
#include "importers/onnx/contributed.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * RotaryEmbedding */

/* Batch, positions; an input of one number says where a sample's positions begin. */
static tn_import_tensor positions_of(tn_contributed *node) {
    const tn_import_tensor ids = tn_contributed_input(node, 1), x = tn_contributed_input(node, 0);
    const tn_import_tensor_info info = tn_import_tensor_at(node->emit.graph, ids);
    const tn_import_tensor_info of_x = tn_import_tensor_at(node->emit.graph, x);
    if (info.type == TN_NONE || info.rank != 1) return ids;
    const bool has_heads = of_x.type != TN_NONE && of_x.rank == 4;
    const tn_import_tensor range =
        tn_contributed_range(node, tn_contributed_extent(node, x, has_heads ? 2 : 1));
    const tn_import_tensor row = TN_CONTRIBUTED_PLAIN(node, "Add", 14, range, ids);
    const tn_import_tensor one = TN_CONTRIBUTED_LIST(node, 1);
    const tn_import_tensor shape =
        TN_CONTRIBUTED(node, "Concat", 13, TN_TENSORS(tn_contributed_extent(node, x, 0), one),
                       tn_emit_i64("axis", 0));
    return TN_CONTRIBUTED_PLAIN(node, "Expand", 13, row, shape);
}

static tn_import_tensor rotated(tn_contributed *node, tn_import_tensor x, tn_import_tensor cosines,
                                tn_import_tensor sines, tn_import_tensor positions,
                                const char *interleaved) {
    return TN_CONTRIBUTED(node, "RotaryEmbedding", 23, TN_TENSORS(x, cosines, sines, positions),
                          tn_emit_i64("interleaved", tn_contributed_integer(node, interleaved, 0)),
                          tn_emit_i64("num_heads", tn_contributed_integer(node, "num_heads", 0)),
                          tn_emit_i64("rotary_embedding_dim",
                                      tn_contributed_integer(node, "rotary_embedding_dim", 0)));
}

/* Without a number of heads these have twice as many elements as a row of cosines. */
void tn_contributed_rotary(tn_contributed *node) {
    tn_import_tensor x = tn_contributed_input(node, 0);
    const tn_import_tensor cosines = tn_contributed_input(node, 2);
    const tn_import_tensor_info of_x = tn_import_tensor_at(node->emit.graph, x);
    const tn_import_tensor_info table = tn_import_tensor_at(node->emit.graph, cosines);
    const bool has_heads = (of_x.type != TN_NONE && of_x.rank == 4) ||
                           tn_contributed_integer(node, "num_heads", 0) > 0;
    const int64_t half = table.type != TN_NONE && table.rank == 2 ? table.extents[1] : 0;
    tn_contributed_only(node, "scale", 1);
    tn_contributed_only(node, "is_packed_batching", 0);
    if (!has_heads && (half < 1 || half > INT32_MAX))
        tn_contributed_refuse(node, "without a number of heads, or cosines of a known extent");
    if (node->emit.status != TN_OK) return;
    const tn_import_tensor positions = positions_of(node);
    if (!has_heads)
        x = tn_contributed_swapped(node, TN_CONTRIBUTED_RESHAPED(node, x, 0, 0, -1, 2 * half));
    tn_import_tensor y =
        rotated(node, x, cosines, tn_contributed_input(node, 3), positions, "interleaved");
    if (!has_heads) y = TN_CONTRIBUTED_RESHAPED(node, tn_contributed_swapped(node, y), 0, 0, -1);
    tn_contributed_output(node, 0, y);
}

/* ----------------------------------------------------------------------------------------------
 * GroupQueryAttention */

enum { BIAS = 10, SINKS = 11 }; /* inputs */

typedef struct group_query {
    tn_import_tensor q, k, v;   /* batch, heads, positions, elements */
    tn_import_tensor start;     /* batch: the keys that each sample's cache holds */
    tn_import_tensor positions; /* batch, positions of the queries */
    tn_import_tensor extent;    /* of the caches, as a list of one */
} group_query;

/* Q, K and V of heads, which come apart or side by side in input 0. */
static void read_parts(tn_contributed *node, group_query *of) {
    const int64_t heads = tn_contributed_integer(node, "num_heads", 0);
    const int64_t kv_heads = tn_contributed_integer(node, "kv_num_heads", 0);
    const int64_t sizes[3] = {heads, kv_heads, kv_heads};
    const tn_attribute axis = tn_emit_i64("axis", 2);
    tn_import_tensor parts[3] = {tn_contributed_input(node, 0), tn_contributed_input(node, 1),
                                 tn_contributed_input(node, 2)};
    if (heads < 1 || kv_heads < 1 || heads > INT32_MAX || kv_heads > INT32_MAX) {
        tn_contributed_refuse(node, "without numbers of heads");
        return;
    }
    if (parts[1] == TN_IMPORT_NO_TENSOR) {
        const tn_import_tensor all =
            TN_CONTRIBUTED_RESHAPED(node, parts[0], 0, 0, heads + 2 * kv_heads, -1);
        const tn_import_tensor list = tn_contributed_list(node, 3, sizes);
        tn_contributed_emit_many(node, "Split", 18, TN_TENSORS(all, list), 1, &axis, 3, parts);
    } else {
        for (uint32_t i = 0; i < 3; i++)
            parts[i] = TN_CONTRIBUTED_RESHAPED(node, parts[i], 0, 0, sizes[i], -1);
    }
    of->q = tn_contributed_swapped(node, parts[0]);
    of->k = tn_contributed_swapped(node, parts[1]);
    of->v = tn_contributed_swapped(node, parts[2]);
}

/* Input 5 has one less than the keys of each sample, the new ones among them. A first run may have
 * padding behind them: its keys begin at 0. */
static void read_positions(tn_contributed *node, group_query *of) {
    const tn_import_tensor extent = tn_contributed_extent(node, of->q, 2);
    const tn_import_tensor counts = TN_CONTRIBUTED(
        node, "Cast", 13, TN_TENSORS(tn_contributed_input(node, 5)), tn_emit_text("to", "i64"));
    const tn_import_tensor last = TN_CONTRIBUTED_RESHAPED(node, counts, -1);
    const tn_import_tensor one = TN_CONTRIBUTED_LIST(node, 1), zero = TN_CONTRIBUTED_LIST(node, 0);
    const tn_import_tensor ends = TN_CONTRIBUTED_PLAIN(node, "Add", 14, last, one);
    const tn_import_tensor starts = TN_CONTRIBUTED_PLAIN(node, "Sub", 14, ends, extent);
    of->start = TN_CONTRIBUTED_PLAIN(node, "Max", 13, starts, zero);
    const tn_import_tensor column = TN_CONTRIBUTED_UNSQUEEZED(node, of->start, 1);
    const tn_import_tensor row = tn_contributed_range(node, extent);
    of->positions = TN_CONTRIBUTED_PLAIN(node, "Add", 14, column, row);
    /* the caches have room for all keys of the longest sample */
    const tn_import_tensor total = TN_CONTRIBUTED(
        node, "Cast", 13, TN_TENSORS(tn_contributed_input(node, 6)), tn_emit_text("to", "i64"));
    of->extent = TN_CONTRIBUTED_RESHAPED(node, total, 1);
    if (tn_contributed_has(node, 3))
        of->extent =
            TN_CONTRIBUTED_PLAIN(node, "Max", 13, of->extent,
                                 tn_contributed_extent(node, tn_contributed_input(node, 3), 2));
}

/* The past of an input, longer where it needs to be, with what is new at each sample's start. */
static tn_import_tensor present_of(tn_contributed *node, const group_query *of, uint32_t past,
                                   tn_import_tensor added) {
    const tn_import_tensor old =
        tn_contributed_has(node, past) ? tn_contributed_input(node, past) : added;
    const tn_import_tensor zeros = TN_CONTRIBUTED_LIST(node, 0, 0, 0, 0, 0, 0);
    const tn_import_tensor zero = TN_CONTRIBUTED_LIST(node, 0);
    const tn_import_tensor more =
        TN_CONTRIBUTED_PLAIN(node, "Sub", 14, of->extent, tn_contributed_extent(node, old, 2));
    const tn_import_tensor pads =
        TN_CONTRIBUTED(node, "Concat", 13, TN_TENSORS(zeros, more, zero), tn_emit_i64("axis", 0));
    const tn_import_tensor cache = TN_CONTRIBUTED_PLAIN(node, "Pad", 13, old, pads);
    return TN_CONTRIBUTED(node, "TensorScatter", 24, TN_TENSORS(cache, added, of->start),
                          tn_emit_i64("axis", 2));
}

/* One more key, whose score is a head's sink: what it gets of a query's weights goes nowhere. */
static bool has_sinks(const tn_contributed *node) {
    return tn_contributed_has(node, SINKS) || tn_contributed_integer(node, "smooth_softmax", 0) > 0;
}

static tn_import_tensor with_one_more(tn_contributed *node, tn_import_tensor x, int64_t axis) {
    int64_t pads[8] = {0};
    pads[4 + axis] = 1;
    const tn_import_tensor list = tn_contributed_list(node, 8, pads);
    return TN_CONTRIBUTED_PLAIN(node, "Pad", 13, x, list);
}

/* Key j is seen by a query at position p where j <= p, and p - j < window: batch, 1, queries, keys.
 */
static tn_import_tensor seen_keys(tn_contributed *node, const group_query *of,
                                  tn_import_tensor keys) {
    const int64_t window = tn_contributed_integer(node, "local_window_size", -1);
    const tn_import_tensor queries = TN_CONTRIBUTED_UNSQUEEZED(node, of->positions, 1, 3);
    const tn_import_tensor seen = TN_CONTRIBUTED_PLAIN(node, "LessOrEqual", 16, keys, queries);
    if (window <= 0) return seen;
    const tn_import_tensor size = TN_CONTRIBUTED_LIST(node, window);
    const tn_import_tensor first = TN_CONTRIBUTED_PLAIN(node, "Sub", 14, queries, size);
    const tn_import_tensor near = TN_CONTRIBUTED_PLAIN(node, "Less", 13, first, keys);
    return TN_CONTRIBUTED_PLAIN(node, "And", 7, seen, near);
}

/* Of heads: what is added to the scores of keys and, behind them, of sinks. */
static tn_import_tensor mask_with_sinks(tn_contributed *node, const group_query *of) {
    const tn_import_tensor one = TN_CONTRIBUTED_LIST(node, 1);
    const tn_import_tensor keys =
        tn_contributed_range(node, TN_CONTRIBUTED_PLAIN(node, "Add", 14, of->extent, one));
    const tn_import_tensor seen = seen_keys(node, of, keys);
    const tn_import_tensor none = tn_contributed_like(node, -(double)INFINITY, of->q);
    const tn_import_tensor zero = tn_contributed_like(node, 0, of->q);
    const tn_import_tensor bias = tn_contributed_has(node, BIAS)
                                      ? with_one_more(node, tn_contributed_input(node, BIAS), 3)
                                      : zero;
    const tn_import_tensor of_keys = TN_CONTRIBUTED_PLAIN(node, "Where", 9, seen, bias, none);
    const tn_import_tensor is_sink = TN_CONTRIBUTED_PLAIN(node, "Equal", 13, keys, of->extent);
    const tn_import_tensor sinks =
        tn_contributed_has(node, SINKS)
            ? TN_CONTRIBUTED_RESHAPED(node, tn_contributed_input(node, SINKS), -1, 1, 1)
            : zero;
    return TN_CONTRIBUTED_PLAIN(node, "Where", 9, is_sink, sinks, of_keys);
}

/* Of keys that a query sees, or a bias that minus infinity excludes keys from. */
static tn_import_tensor mask_of(tn_contributed *node, const group_query *of) {
    if (has_sinks(node)) return mask_with_sinks(node, of);
    const tn_import_tensor seen = seen_keys(node, of, tn_contributed_range(node, of->extent));
    const tn_import_tensor bias = tn_contributed_input(node, BIAS);
    if (bias == TN_IMPORT_NO_TENSOR) return seen;
    const tn_import_tensor none = tn_contributed_like(node, -(double)INFINITY, bias);
    return TN_CONTRIBUTED_PLAIN(node, "Where", 9, seen, bias, none);
}

static void rotate(tn_contributed *node, group_query *of) {
    const tn_import_tensor cosines = tn_contributed_input(node, 7);
    const tn_import_tensor sines = tn_contributed_input(node, 8);
    const tn_import_tensor positions =
        tn_contributed_has(node, 9) ? tn_contributed_input(node, 9) : of->positions;
    const tn_attribute field =
        tn_emit_i64("interleaved", tn_contributed_integer(node, "rotary_interleaved", 0));
    const tn_import_tensor_info table = tn_import_tensor_at(node->emit.graph, cosines);
    if (tn_contributed_integer(node, "do_rotary", 0) == 0) return;
    if (table.type == TN_NONE || table.rank != 2 || table.extents[1] < 1 ||
        table.extents[1] > INT32_MAX) {
        tn_contributed_refuse(node, "with cosines of no known extent");
        return;
    }
    const tn_attribute fields[2] = {field,
                                    tn_emit_i64("rotary_embedding_dim", 2 * table.extents[1])};
    of->q = tn_contributed_emit(node, "RotaryEmbedding", 23,
                                TN_TENSORS(of->q, cosines, sines, positions), 2, fields);
    of->k = tn_contributed_emit(node, "RotaryEmbedding", 23,
                                TN_TENSORS(of->k, cosines, sines, positions), 2, fields);
}

void tn_contributed_group_query_attention(tn_contributed *node) {
    const double scale = tn_contributed_number(node, "scale", 0);
    const double softcap = tn_contributed_number(node, "softcap", 0);
    group_query of = {0};
    if (softcap != 0 && has_sinks(node)) tn_contributed_refuse(node, "with softcap and sinks");
    tn_contributed_without(node, 12, 3);
    read_parts(node, &of);
    read_positions(node, &of);
    rotate(node, &of);
    const tn_import_tensor key = present_of(node, &of, 3, of.k);
    const tn_import_tensor value = present_of(node, &of, 4, of.v);
    const tn_import_tensor mask = mask_of(node, &of);
    const tn_attribute fields[2] = {scale != 0 ? tn_emit_f64("scale", scale) : tn_emit_no_field(),
                                    softcap != 0 ? tn_emit_f64("softcap", softcap)
                                                 : tn_emit_no_field()};
    const tn_import_tensor all_keys = has_sinks(node) ? with_one_more(node, key, 2) : key;
    const tn_import_tensor all_values = has_sinks(node) ? with_one_more(node, value, 2) : value;
    const tn_import_tensor y = tn_contributed_emit(
        node, "Attention", 24, TN_TENSORS(of.q, all_keys, all_values, mask), 2, fields);
    tn_contributed_output(node, 0,
                          TN_CONTRIBUTED_RESHAPED(node, tn_contributed_swapped(node, y), 0, 0, -1));
    tn_contributed_output(node, 1, key);
    tn_contributed_output(node, 2, value);
}
