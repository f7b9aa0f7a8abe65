/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that onnxruntime contributes, those of the domain com.microsoft that exporters and
 * optimizers of transformers write: each is a formula of ONNX's own operators, which replaces
 * the node. A registered operator of the same name goes before the formula.
 */
#ifndef TN_IMPORTERS_ONNX_CONTRIBUTED_H
#define TN_IMPORTERS_ONNX_CONTRIBUTED_H

#include "importers/common/emit.h"
#include "importers/onnx/onnx.h"

/* A node in the making of its formula. */
typedef struct tn_contributed {
    tn_emitter emit;
    const char *op;
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
    uint32_t input_count, output_count;
    const tn_import_tensor *inputs, *outputs;
} tn_contributed;

typedef void (*tn_contributed_formula)(tn_contributed *node);

/* --- contributed.c --- */
/* The formula of an operator; null: there is none. */
tn_contributed_formula tn_contributed_find(const char *domain, const char *op);

/* An input; TN_IMPORT_NO_TENSOR where it is absent. */
tn_import_tensor tn_contributed_input(const tn_contributed *node, uint32_t index);
static inline bool tn_contributed_has(const tn_contributed *node, uint32_t index) {
    return tn_contributed_input(node, index) != TN_IMPORT_NO_TENSOR;
}
/* Whether somebody wants an output. */
bool tn_contributed_wants(const tn_contributed *node, uint32_t index);
/* Makes a tensor the node's output, where somebody wants that. */
void tn_contributed_output(tn_contributed *node, uint32_t index, tn_import_tensor value);
/* Refuses the node for a reason: TN_ERROR_UNSUPPORTED. */
void tn_contributed_refuse(tn_contributed *node, const char *reason);
/* Refuses it where an attribute is given another value than `value`, or any input or output from
 * the given ones on is used. */
void tn_contributed_only(tn_contributed *node, const char *attribute, double value);
void tn_contributed_without(tn_contributed *node, uint32_t inputs, uint32_t outputs);

double tn_contributed_number(const tn_contributed *node, const char *name, double fallback);
int64_t tn_contributed_integer(const tn_contributed *node, const char *name, int64_t fallback);
const tn_attribute *tn_contributed_attribute(const tn_contributed *node, const char *name);

/* A node of ONNX's operator in this version, of one output or several. */
tn_import_tensor tn_contributed_emit(tn_contributed *node, const char *op, uint32_t version,
                                     tn_emit_tensors inputs, size_t count,
                                     const tn_attribute *fields);
void tn_contributed_emit_many(tn_contributed *node, const char *op, uint32_t version,
                              tn_emit_tensors inputs, size_t count, const tn_attribute *fields,
                              uint32_t output_count, tn_import_tensor *out_outputs);
#define TN_CONTRIBUTED(node, op, version, inputs, ...)                                             \
    tn_contributed_emit(node, op, version, inputs,                                                 \
                        sizeof((tn_attribute[]){__VA_ARGS__}) / sizeof(tn_attribute),              \
                        (const tn_attribute[]){__VA_ARGS__})
#define TN_CONTRIBUTED_PLAIN(node, op, version, ...)                                               \
    tn_contributed_emit(node, op, version, TN_TENSORS(__VA_ARGS__), 0, NULL)
/* A list of integers as a constant; and a number of the type of `like`. */
tn_import_tensor tn_contributed_list(tn_contributed *node, size_t count, const int64_t *items);
#define TN_CONTRIBUTED_LIST(node, ...)                                                             \
    tn_contributed_list(node, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                  \
                        (const int64_t[]){__VA_ARGS__})
tn_import_tensor tn_contributed_like(tn_contributed *node, double value, tn_import_tensor like);
/* x + y, or x where y is absent. */
tn_import_tensor tn_contributed_add(tn_contributed *node, tn_import_tensor x, tn_import_tensor y);

/* x with these extents; 0: as it is, -1: what is left. */
tn_import_tensor tn_contributed_reshaped(tn_contributed *node, tn_import_tensor x, size_t count,
                                         const int64_t *extents);
#define TN_CONTRIBUTED_RESHAPED(node, x, ...)                                                      \
    tn_contributed_reshaped(node, x, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),           \
                            (const int64_t[]){__VA_ARGS__})
/* An extent of a tensor, as a list of one; and 0, 1, .. up to a number or a list of one. */
tn_import_tensor tn_contributed_extent(tn_contributed *node, tn_import_tensor x, int64_t axis);
tn_import_tensor tn_contributed_range(tn_contributed *node, tn_import_tensor end);
/* x with axes of one element. */
tn_import_tensor tn_contributed_unsqueezed(tn_contributed *node, tn_import_tensor x, size_t count,
                                           const int64_t *axes);
#define TN_CONTRIBUTED_UNSQUEEZED(node, x, ...)                                                    \
    tn_contributed_unsqueezed(node, x, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),         \
                              (const int64_t[]){__VA_ARGS__})
/* Axes 1 and 2 of four are exchanged. */
tn_import_tensor tn_contributed_swapped(tn_contributed *node, tn_import_tensor x);

/* --- the formulas, in contributed_layers.c, contributed_fused.c, contributed_attention.c,
 * contributed_cache.c, contributed_quantized.c and contributed_blocks.c --- */
void tn_contributed_gelu(tn_contributed *node);
void tn_contributed_fast_gelu(tn_contributed *node);
void tn_contributed_bias_gelu(tn_contributed *node);
void tn_contributed_quick_gelu(tn_contributed *node);
void tn_contributed_fused_mat_mul(tn_contributed *node);
void tn_contributed_fused_conv(tn_contributed *node);
void tn_contributed_fused_gemm(tn_contributed *node);
void tn_contributed_skip_layer_norm(tn_contributed *node);
void tn_contributed_skip_rms_norm(tn_contributed *node);
void tn_contributed_rms_norm(tn_contributed *node);
void tn_contributed_embed_layer_norm(tn_contributed *node);
void tn_contributed_rotary(tn_contributed *node);
void tn_contributed_attention(tn_contributed *node);
void tn_contributed_multi_head_attention(tn_contributed *node);
void tn_contributed_group_query_attention(tn_contributed *node);
void tn_contributed_qlinear_binary(tn_contributed *node);
void tn_contributed_qlinear_unary(tn_contributed *node);
void tn_contributed_qlinear_concat(tn_contributed *node);
void tn_contributed_qlinear_pool(tn_contributed *node);
void tn_contributed_qlinear_softmax(tn_contributed *node);
void tn_contributed_qlinear_where(tn_contributed *node);
void tn_contributed_q_gemm(tn_contributed *node);
void tn_contributed_q_attention(tn_contributed *node);
void tn_contributed_quantize(tn_contributed *node);
void tn_contributed_dynamic_mat_mul(tn_contributed *node);
void tn_contributed_mat_mul_bits(tn_contributed *node);
void tn_contributed_gather_blocks(tn_contributed *node);

#endif
