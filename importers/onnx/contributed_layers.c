/* SPDX-License-Identifier: Apache-2.0 */
/* Contributed operators beside attention: activations, products and normalisations; see
 * contributed.h. */
#include "importers/onnx/contributed.h"

#define EPSILON 9.999999960041972e-13 /* of onnxruntime's normalisations: 1e-12 as a float */

void tn_contributed_gelu(tn_contributed *node) {
    tn_contributed_output(node, 0,
                          TN_CONTRIBUTED_PLAIN(node, "Gelu", 20, tn_contributed_input(node, 0)));
}

void tn_contributed_bias_gelu(tn_contributed *node) {
    const tn_import_tensor sum =
        tn_contributed_add(node, tn_contributed_input(node, 0), tn_contributed_input(node, 1));
    tn_contributed_output(node, 0, TN_CONTRIBUTED_PLAIN(node, "Gelu", 20, sum));
}

void tn_contributed_fast_gelu(tn_contributed *node) {
    const tn_import_tensor sum =
        tn_contributed_add(node, tn_contributed_input(node, 0), tn_contributed_input(node, 1));
    tn_contributed_output(
        node, 0,
        TN_CONTRIBUTED(node, "Gelu", 20, TN_TENSORS(sum), tn_emit_text("approximate", "tanh")));
}

void tn_contributed_quick_gelu(tn_contributed *node) {
    const double alpha = tn_contributed_number(node, "alpha", 1.7020000219345093);
    tn_contributed_output(node, 0,
                          TN_CONTRIBUTED(node, "Swish", 24,
                                         TN_TENSORS(tn_contributed_input(node, 0)),
                                         tn_emit_f64("alpha", alpha)));
}

/* The last two axes are swapped, by Einsum where the file does not say how many axes there are. */
static tn_import_tensor transposed(tn_contributed *node, uint32_t input, const char *flag) {
    int64_t order[TN_MAX_RANK];
    const tn_import_tensor x = tn_contributed_input(node, input);
    if (tn_contributed_integer(node, flag, 0) == 0) return x;
    const tn_import_tensor_info info = tn_import_tensor_at(node->emit.graph, x);
    if (info.type == TN_NONE || info.rank < 2 || info.rank > TN_MAX_RANK)
        return TN_CONTRIBUTED(node, "Einsum", 12, TN_TENSORS(x),
                              tn_emit_text("equation", "...ij->...ji"));
    for (uint32_t i = 0; i < info.rank; i++)
        order[i] = i;
    order[info.rank - 2] = info.rank - 1;
    order[info.rank - 1] = info.rank - 2;
    return TN_CONTRIBUTED(node, "Transpose", 13, TN_TENSORS(x),
                          tn_emit_i64s("perm", info.rank, order));
}

void tn_contributed_fused_mat_mul(tn_contributed *node) {
    const double alpha = tn_contributed_number(node, "alpha", 1);
    tn_contributed_only(node, "transBatchA", 0);
    tn_contributed_only(node, "transBatchB", 0);
    const tn_import_tensor a = transposed(node, 0, "transA"), b = transposed(node, 1, "transB");
    tn_import_tensor y = TN_CONTRIBUTED_PLAIN(node, "MatMul", 13, a, b);
    if (alpha != 1) {
        const tn_import_tensor factor = tn_contributed_like(node, alpha, y);
        y = TN_CONTRIBUTED_PLAIN(node, "Mul", 14, y, factor);
    }
    tn_contributed_output(node, 0, y);
}

/* ----------------------------------------------------------------------------------------------
 * normalisations */

static tn_import_tensor layer_norm(tn_contributed *node, tn_import_tensor x, tn_import_tensor scale,
                                   tn_import_tensor bias) {
    const double epsilon = tn_contributed_number(node, "epsilon", EPSILON);
    return TN_CONTRIBUTED(node, "LayerNormalization", 17, TN_TENSORS(x, scale, bias),
                          tn_emit_i64("axis", -1), tn_emit_f64("epsilon", epsilon));
}

static tn_import_tensor rms_norm(tn_contributed *node, tn_import_tensor x, tn_import_tensor scale,
                                 double epsilon) {
    return TN_CONTRIBUTED(node, "RMSNormalization", 23, TN_TENSORS(x, scale),
                          tn_emit_i64("axis", tn_contributed_integer(node, "axis", -1)),
                          tn_emit_f64("epsilon", tn_contributed_number(node, "epsilon", epsilon)));
}

void tn_contributed_rms_norm(tn_contributed *node) {
    tn_contributed_without(node, 2, 1);
    tn_contributed_output(node, 0,
                          rms_norm(node, tn_contributed_input(node, 0),
                                   tn_contributed_input(node, 1), 9.999999747378752e-6));
}

/* Outputs 1 and 2 are statistics, which onnxruntime computes in training alone. */
static void refuse_statistics(tn_contributed *node) {
    for (uint32_t i = 1; i <= 2; i++)
        if (tn_contributed_wants(node, i)) tn_contributed_refuse(node, "with its statistics");
}

void tn_contributed_skip_layer_norm(tn_contributed *node) {
    tn_import_tensor sum =
        tn_contributed_add(node, tn_contributed_input(node, 0), tn_contributed_input(node, 1));
    refuse_statistics(node);
    sum = tn_contributed_add(node, sum, tn_contributed_input(node, 4));
    const tn_import_tensor y =
        layer_norm(node, sum, tn_contributed_input(node, 2), tn_contributed_input(node, 3));
    tn_contributed_output(node, 0, y);
    tn_contributed_output(node, 3, sum);
}

void tn_contributed_skip_rms_norm(tn_contributed *node) {
    tn_import_tensor sum =
        tn_contributed_add(node, tn_contributed_input(node, 0), tn_contributed_input(node, 1));
    refuse_statistics(node);
    sum = tn_contributed_add(node, sum, tn_contributed_input(node, 3));
    tn_contributed_output(node, 0, rms_norm(node, sum, tn_contributed_input(node, 2), EPSILON));
    tn_contributed_output(node, 3, sum);
}

/* 0, 1, .. up to the extent of axis 1 of the ids. */
static tn_import_tensor positions_of(tn_contributed *node, tn_import_tensor ids) {
    const tn_import_tensor count = TN_CONTRIBUTED(node, "Shape", 15, TN_TENSORS(ids),
                                                  tn_emit_i64("start", 1), tn_emit_i64("end", 2));
    const tn_import_tensor end = TN_CONTRIBUTED_PLAIN(node, "Squeeze", 13, count);
    const int64_t numbers[2] = {0, 1};
    const tn_import_tensor zero =
        tn_emit_constant(&node->emit, "zero", TN_I64, 0, NULL, &numbers[0]);
    const tn_import_tensor one = tn_emit_constant(&node->emit, "one", TN_I64, 0, NULL, &numbers[1]);
    return TN_CONTRIBUTED_PLAIN(node, "Range", 11, zero, end, one);
}

/* The number of tokens of each sample: those that the mask counts, or 0 where there is no mask. */
static void embed_mask(tn_contributed *node) {
    const tn_import_tensor ids = tn_contributed_input(node, 0);
    if (!tn_contributed_wants(node, 1)) return;
    const tn_import_tensor counted = tn_contributed_has(node, 7)
                                         ? tn_contributed_input(node, 7)
                                         : TN_CONTRIBUTED_PLAIN(node, "Sub", 14, ids, ids);
    const tn_import_tensor axes = TN_CONTRIBUTED_LIST(node, 1);
    tn_contributed_output(node, 1,
                          TN_CONTRIBUTED(node, "ReduceSum", 13, TN_TENSORS(counted, axes),
                                         tn_emit_i64("keepdims", 0)));
}

void tn_contributed_embed_layer_norm(tn_contributed *node) {
    const tn_import_tensor ids = tn_contributed_input(node, 0);
    const tn_import_tensor positions =
        tn_contributed_has(node, 8) ? tn_contributed_input(node, 8) : positions_of(node, ids);
    tn_contributed_only(node, "mask_index_type", 0);
    const tn_import_tensor words =
        TN_CONTRIBUTED_PLAIN(node, "Gather", 13, tn_contributed_input(node, 2), ids);
    const tn_import_tensor position_rows =
        TN_CONTRIBUTED_PLAIN(node, "Gather", 13, tn_contributed_input(node, 3), positions);
    tn_import_tensor sum = tn_contributed_add(node, words, position_rows);
    if (tn_contributed_has(node, 1) && tn_contributed_has(node, 4))
        sum = tn_contributed_add(node, sum,
                                 TN_CONTRIBUTED_PLAIN(node, "Gather", 13,
                                                      tn_contributed_input(node, 4),
                                                      tn_contributed_input(node, 1)));
    const tn_import_tensor y =
        layer_norm(node, sum, tn_contributed_input(node, 5), tn_contributed_input(node, 6));
    tn_contributed_output(node, 0, y);
    embed_mask(node);
    tn_contributed_output(node, 2, sum);
}
