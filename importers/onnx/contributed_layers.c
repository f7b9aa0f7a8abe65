/* SPDX-License-Identifier: Apache-2.0 */
/* Contributed activations and normalisations; see contributed.h. */
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
        tn_contributed_has(node, 8)
            ? tn_contributed_input(node, 8)
            : tn_contributed_range(node, tn_contributed_extent(node, ids, 1));
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
