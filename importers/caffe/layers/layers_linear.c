/* SPDX-License-Identifier: Apache-2.0 */
/* InnerProduct, Embed and Parameter. Semantics: Caffe's layers of these names. */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>

/* Axes from `axis` on become one, those before it stay. */
static tn_import_tensor flatten_from(const tn_caffe_layer *layer, uint32_t axis) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t shape[TN_MAX_RANK + 1] = {0};
    if (x->rank == axis + 1) return x->tensor;
    if (axis == 1)
        return tn_emit(layer->emit, "flatten", "Flatten", TN_EMIT(tn_emit_i64("axis", 1)),
                       TN_TENSORS(x->tensor));
    shape[axis] = -1;
    return tn_emit_binary(layer->emit, "flatten", "Reshape", x->tensor,
                          tn_emit_list(layer->emit, "shape", axis + 1, shape));
}

/* Of any rank: a product with the matrix as it stands, then the bias. */
static tn_status emit_product(const tn_caffe_layer *layer, bool is_transposed, bool has_bias,
                              const tn_import_tensor *inputs, const tn_caffe_value *shape) {
    static const int64_t swap[] = {1, 0};
    tn_caffe_chain chain = {0};
    tn_import_tensor matrix = inputs[1];
    if (!is_transposed)
        matrix = tn_emit(layer->emit, "transposed", "Transpose",
                         TN_EMIT(tn_emit_i64s("perm", 2, swap)), TN_TENSORS(matrix));
    tn_caffe_chain_add(&chain, "MatMul", "product", matrix);
    if (has_bias) tn_caffe_chain_add(&chain, "Add", "biased", inputs[2]);
    return tn_caffe_chain_emit(layer, &chain, inputs[0], shape);
}

tn_status tn_caffe_read_inner_product(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t outputs;
    uint32_t axis;
    const bool has_bias = tn_prototext_bool(layer->params, "bias_term", true);
    const bool is_transposed = tn_prototext_bool(layer->params, "transpose", false);
    tn_import_tensor inputs[3];
    TN_TRY(tn_caffe_output_count(layer, &outputs));
    TN_TRY(tn_caffe_axis_read(layer, 1, &axis));
    int64_t inner = tn_caffe_inner_extent(x, axis), bias_extent = outputs;
    int64_t extents[2] = {is_transposed ? inner : outputs, is_transposed ? outputs : inner};
    TN_TRY(tn_caffe_blob_constant(layer, 0, 2, extents, 0, &inputs[1]));
    if (has_bias) TN_TRY(tn_caffe_blob_constant(layer, 1, 1, &bias_extent, 0, &inputs[2]));
    tn_caffe_value shape = {.rank = axis + 1};
    for (uint32_t i = 0; i < axis; i++)
        shape.extents[i] = tn_caffe_extent(x, i);
    shape.extents[axis] = outputs;
    inputs[0] = flatten_from(layer, axis);
    if (axis != 1) return emit_product(layer, is_transposed, has_bias, inputs, &shape);
    return tn_caffe_top(layer, 0, "Gemm", TN_EMIT(tn_emit_i64("transB", !is_transposed)),
                        (tn_emit_tensors){has_bias ? 3 : 2, inputs}, &shape);
}

/* Rows of a table by the bottom's numbers. */
tn_status tn_caffe_read_embed(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t outputs, rows = tn_prototext_integer(layer->params, "input_dim", 0);
    tn_import_tensor table, bias;
    tn_caffe_chain chain = {0};
    TN_TRY(tn_caffe_output_count(layer, &outputs));
    TN_TRY(tn_caffe_require_rank(x));
    if (x->rank == TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 " already", x->rank);
    int64_t extents[2] = {rows, outputs}, bias_extent = outputs;
    TN_TRY(tn_caffe_blob_constant(layer, 0, 2, extents, 0, &table));
    tn_caffe_value shape = *x;
    shape.extents[shape.rank++] = outputs;
    const tn_import_tensor indices = tn_emit_cast(layer->emit, "indices", "i64", x->tensor);
    tn_caffe_chain_add(&chain, "Gather", "rows", indices);
    if (tn_prototext_bool(layer->params, "bias_term", true)) {
        TN_TRY(tn_caffe_blob_constant(layer, 1, 1, &bias_extent, 0, &bias));
        tn_caffe_chain_add(&chain, "Add", "biased", bias);
    }
    return tn_caffe_chain_emit(layer, &chain, table, &shape);
}

/* Its top is its blob. */
tn_status tn_caffe_read_parameter(tn_caffe_layer *layer) {
    tn_caffe_value shape = {0};
    tn_import_tensor blob;
    size_t rank = tn_prototext_integers(tn_prototext_child(layer->params, "shape"), "dim",
                                        TN_MAX_RANK, shape.extents);
    if (rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "its shape has rank %zu; at most %d is possible", rank,
                       TN_MAX_RANK);
    shape.rank = (uint32_t)rank;
    for (uint32_t i = 0; i < shape.rank; i++)
        if (shape.extents[i] < 0)
            return tn_fail(TN_ERROR_SHAPE, "extent %" PRIu32 " of its shape is %" PRId64, i,
                           shape.extents[i]);
    TN_TRY(tn_caffe_blob_constant(layer, 0, shape.rank, shape.extents, 0, &blob));
    return tn_caffe_top(layer, 0, "Identity", NULL, TN_TENSORS(blob), &shape);
}
