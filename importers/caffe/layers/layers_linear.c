/* SPDX-License-Identifier: Apache-2.0 */
/* InnerProduct, Embed and Parameter. Semantics: Caffe's layers of these names. */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>

static tn_status read_output_count(const tn_caffe_layer *layer, int64_t *out_count) {
    *out_count = tn_prototext_integer(layer->params, "num_output", 0);
    if (*out_count >= 1) return TN_OK;
    return tn_fail(TN_ERROR_RANGE, "num_output is %" PRId64 "; at least 1 is expected", *out_count);
}

/* The product of the extents from `axis` on; -1: not known. */
static int64_t inner_extent(const tn_caffe_value *x, uint32_t axis) {
    int64_t product = x->rank == UINT32_MAX ? -1 : 1;
    for (uint32_t i = axis; x->rank != UINT32_MAX && i < x->rank; i++)
        product = tn_caffe_multiply(product, x->extents[i]);
    return product;
}

/* Axes from `axis` on become one, those before it stay. */
static tn_status flatten_from(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t axis,
                              tn_import_tensor *out_tensor) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_attributes attributes = {0};
    if (x->rank == axis + 1) {
        *out_tensor = x->tensor;
        return TN_OK;
    }
    if (axis == 1) {
        tn_caffe_add_integer(&attributes, "axis", 1);
        return tn_caffe_inner(reader, layer, "flatten", "", "Flatten", &attributes, 1, &x->tensor,
                              out_tensor);
    }
    int64_t shape[TN_MAX_RANK + 1] = {0};
    tn_import_tensor inputs[2] = {x->tensor, TN_IMPORT_NO_TENSOR};
    shape[axis] = -1;
    TN_TRY(tn_caffe_index_list(reader, layer, "shape", axis + 1, shape, &inputs[1]));
    return tn_caffe_inner(reader, layer, "flatten", "", "Reshape", NULL, 2, inputs, out_tensor);
}

/* Of any rank: a product with the matrix as it stands, then the bias. */
static tn_status emit_product(tn_caffe_reader *reader, tn_caffe_layer *layer, bool is_transposed,
                              uint32_t input_count, tn_import_tensor *inputs,
                              const tn_caffe_value *shape) {
    static const int64_t swap[] = {1, 0};
    tn_caffe_attributes attributes = {0};
    tn_caffe_chain chain = {0};
    if (!is_transposed) {
        tn_caffe_add_integers(&attributes, "perm", 2, swap);
        TN_TRY(tn_caffe_inner(reader, layer, "transposed", "", "Transpose", &attributes, 1,
                              &inputs[1], &inputs[1]));
    }
    tn_caffe_chain_add(&chain, "MatMul", "product", inputs[1]);
    if (input_count > 2) tn_caffe_chain_add(&chain, "Add", "biased", inputs[2]);
    return tn_caffe_chain_emit(reader, layer, &chain, inputs[0], shape);
}

tn_status tn_caffe_read_inner_product(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t outputs;
    uint32_t axis, input_count = tn_prototext_bool(layer->params, "bias_term", true) ? 3 : 2;
    bool is_transposed = tn_prototext_bool(layer->params, "transpose", false);
    tn_import_tensor inputs[3] = {TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR};
    TN_TRY(read_output_count(layer, &outputs));
    TN_TRY(tn_caffe_axis(x, "axis", tn_prototext_integer(layer->params, "axis", 1), &axis));
    int64_t inner = inner_extent(x, axis), bias_extent = outputs;
    int64_t extents[2] = {is_transposed ? inner : outputs, is_transposed ? outputs : inner};
    TN_TRY(tn_caffe_blob_constant(reader, layer, 0, 2, extents, 0, NULL, &inputs[1]));
    if (input_count > 2)
        TN_TRY(tn_caffe_blob_constant(reader, layer, 1, 1, &bias_extent, 0, NULL, &inputs[2]));
    tn_caffe_value shape = *x;
    shape.rank = axis + 1;
    if (x->rank == UINT32_MAX)
        for (uint32_t i = 0; i < axis; i++)
            shape.extents[i] = -1;
    shape.extents[axis] = outputs;
    TN_TRY(flatten_from(reader, layer, axis, &inputs[0]));
    if (axis != 1) return emit_product(reader, layer, is_transposed, input_count, inputs, &shape);
    tn_caffe_attributes attributes = {0};
    tn_caffe_add_integer(&attributes, "transB", !is_transposed);
    return tn_caffe_top(reader, layer, 0, "", "Gemm", &attributes, input_count, inputs, &shape);
}

/* Rows of a table by the bottom's numbers. */
tn_status tn_caffe_read_embed(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t outputs, rows = tn_prototext_integer(layer->params, "input_dim", 0);
    tn_import_tensor inputs[2], bias, taken;
    tn_caffe_attributes cast = {0};
    TN_TRY(read_output_count(layer, &outputs));
    TN_TRY(tn_caffe_require_rank(x));
    if (x->rank == TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 " already", x->rank);
    int64_t extents[2] = {rows, outputs}, bias_extent = outputs;
    TN_TRY(tn_caffe_blob_constant(reader, layer, 0, 2, extents, 0, NULL, &inputs[0]));
    tn_caffe_value shape = *x;
    shape.extents[shape.rank++] = outputs;
    tn_caffe_add_text(&cast, "to", "i64");
    TN_TRY(tn_caffe_inner(reader, layer, "indices", "", "Cast", &cast, 1, &x->tensor, &inputs[1]));
    if (!tn_prototext_bool(layer->params, "bias_term", true))
        return tn_caffe_top(reader, layer, 0, "", "Gather", NULL, 2, inputs, &shape);
    TN_TRY(tn_caffe_blob_constant(reader, layer, 1, 1, &bias_extent, 0, NULL, &bias));
    TN_TRY(tn_caffe_inner(reader, layer, "rows", "", "Gather", NULL, 2, inputs, &taken));
    tn_import_tensor operands[2] = {taken, bias};
    return tn_caffe_top(reader, layer, 0, "", "Add", NULL, 2, operands, &shape);
}

/* Its top is its blob. */
tn_status tn_caffe_read_parameter(tn_caffe_reader *reader, tn_caffe_layer *layer) {
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
    TN_TRY(tn_caffe_blob_constant(reader, layer, 0, shape.rank, shape.extents, 0, NULL, &blob));
    return tn_caffe_top(reader, layer, 0, "", "Identity", NULL, 1, &blob, &shape);
}
