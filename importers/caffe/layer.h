/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of layers share: parameters, axes and extents, tops, rows of operators (layer.c),
 * weights (weights.c), and the functions of all types. Nodes inside of a layer are added by
 * layer->emit (importers/common/emit.h).
 */
#ifndef TN_IMPORTERS_CAFFE_LAYER_H
#define TN_IMPORTERS_CAFFE_LAYER_H

#include "importers/caffe/caffe.h"

/* --- extents and axes --- */
static inline bool tn_caffe_has_rank(const tn_caffe_value *value) {
    return value->rank != UINT32_MAX;
}
/* -1 where it is not known, or the axis is not there. */
static inline int64_t tn_caffe_extent(const tn_caffe_value *value, uint32_t axis) {
    return tn_caffe_has_rank(value) && axis < value->rank ? value->extents[axis] : -1;
}
/* a * b of tracked extents; -1 when one is not known or the product is too large. */
int64_t tn_caffe_multiply(int64_t a, int64_t b);
/* The product of the extents from `axis` on. */
int64_t tn_caffe_inner_extent(const tn_caffe_value *value, uint32_t axis);
/* TN_ERROR_UNSUPPORTED when the rank is not known. */
tn_status tn_caffe_require_rank(const tn_caffe_value *value);
/* TN_ERROR_SHAPE where the layer's bottom has another rank, or a smaller one; one that is not known
 * may be any. */
tn_status tn_caffe_check_rank(const tn_caffe_layer *layer, uint32_t rank, bool is_least);
/* An axis, maybe negative, of the layer's bottom: 0..rank - 1. TN_ERROR_UNSUPPORTED when a rank
 * that is needed is not known. */
tn_status tn_caffe_axis(const tn_caffe_layer *layer, const char *field, int64_t axis,
                        uint32_t *out_axis);
/* The same of the parameter "axis". */
tn_status tn_caffe_axis_read(const tn_caffe_layer *layer, int64_t fallback, uint32_t *out_axis);
/* The parameter "num_output": at least 1. */
tn_status tn_caffe_output_count(const tn_caffe_layer *layer, int64_t *out_count);

/* --- tops --- */
/* The name of a top's tensor; null: no memory, which the emitter keeps. */
const char *tn_caffe_top_name(const tn_caffe_layer *layer, uint32_t top);
/* The node that makes top `top`, called after the layer; `shape` is the value that the top gets,
 * but for its tensor. */
tn_status tn_caffe_top(const tn_caffe_layer *layer, uint32_t top, const char *op,
                       const tn_emit_fields *fields, tn_emit_tensors inputs,
                       const tn_caffe_value *shape);
/* The same for the first top of a layer whose top is as its bottom. */
tn_status tn_caffe_map(const tn_caffe_layer *layer, const char *op, const tn_emit_fields *fields);
/* A node that makes the first `count` tops at once, and after them `inner_count` tensors inside of
 * the layer. */
tn_status tn_caffe_tops(const tn_caffe_layer *layer, uint32_t count, const char *op,
                        const tn_emit_fields *fields, tn_emit_tensors inputs,
                        const tn_caffe_value *shapes, uint32_t inner_count,
                        const char *const *inner_parts, tn_import_tensor *out_inner);

/* Operations in a row from one tensor to a top: each a unary operator, or one with an operand after
 * the row's own. */
#define TN_CAFFE_CHAIN 8
typedef struct tn_caffe_chain {
    uint32_t count;
    struct {
        const char *op, *part;
        tn_import_tensor operand; /* TN_IMPORT_NO_TENSOR: unary */
    } links[TN_CAFFE_CHAIN];
} tn_caffe_chain;
void tn_caffe_chain_add(tn_caffe_chain *chain, const char *op, const char *part,
                        tn_import_tensor operand);
/* With a constant of one element, which has the operation's name. */
void tn_caffe_chain_scalar(const tn_caffe_layer *layer, tn_caffe_chain *chain, const char *op,
                           const char *part, double operand);
/* An empty chain is an Identity. */
tn_status tn_caffe_chain_emit(const tn_caffe_layer *layer, const tn_caffe_chain *chain,
                              tn_import_tensor from, const tn_caffe_value *shape);

/* --- weights (weights.c) --- */
/* How many blobs the file has for a layer; 0 also without a file or the layer. */
uint32_t tn_caffe_blob_count(const tn_caffe_layer *layer);
/* A blob of a layer with the extents that it must have; -1 matches any, and is replaced. Leading
 * extents of 1 do not matter. `out_data` has the lifetime of the graph. Errors name the layer, the
 * blob, and both shapes. */
tn_status tn_caffe_blob_read(tn_caffe_layer *layer, uint32_t index, uint32_t rank, int64_t *extents,
                             const float **out_data);
/* The same as a constant, with `ones` extents of 1 after the blob's own. */
tn_status tn_caffe_blob_constant(tn_caffe_layer *layer, uint32_t index, uint32_t rank,
                                 int64_t *extents, uint32_t ones, tn_import_tensor *out_tensor);
/* A blob as it is in the file. */
tn_status tn_caffe_blob_any(tn_caffe_layer *layer, uint32_t index, tn_shape *out_shape,
                            const float **out_data);

/* --- the types of layers --- */
/* inputs.c: layers of type Input and layers that read data, whose tops become inputs */
tn_caffe_layer_read tn_caffe_read_input, tn_caffe_read_data;
/* layers/layers_convolution.c, layers_pooling.c */
tn_caffe_layer_read tn_caffe_read_convolution, tn_caffe_read_pooling, tn_caffe_read_spp;
/* layers/layers_linear.c */
tn_caffe_layer_read tn_caffe_read_inner_product, tn_caffe_read_embed, tn_caffe_read_parameter;
/* layers/layers_recurrent.c */
tn_caffe_layer_read tn_caffe_read_recurrent;
/* layers/layers_neuron.c */
tn_caffe_layer_read tn_caffe_read_alias, tn_caffe_read_clip, tn_caffe_read_exp, tn_caffe_read_log;
tn_caffe_layer_read tn_caffe_read_power, tn_caffe_read_prelu, tn_caffe_read_relu;
tn_caffe_layer_read tn_caffe_read_relu6, tn_caffe_read_simple, tn_caffe_read_swish;
/* layers/layers_normal.c */
tn_caffe_layer_read tn_caffe_read_batch_norm, tn_caffe_read_bias, tn_caffe_read_lrn;
tn_caffe_layer_read tn_caffe_read_mvn, tn_caffe_read_scale, tn_caffe_read_softmax;
/* layers/layers_combine.c */
tn_caffe_layer_read tn_caffe_read_concat, tn_caffe_read_eltwise, tn_caffe_read_reduction;
tn_caffe_layer_read tn_caffe_read_slice;
/* layers/layers_argmax.c */
tn_caffe_layer_read tn_caffe_read_argmax;
/* layers/layers_shape.c */
tn_caffe_layer_read tn_caffe_read_crop, tn_caffe_read_flatten, tn_caffe_read_permute;
tn_caffe_layer_read tn_caffe_read_reshape, tn_caffe_read_tile;
/* layers/layers_detection.c */
tn_caffe_layer_read tn_caffe_read_detection_output, tn_caffe_read_interp, tn_caffe_read_normalize;
tn_caffe_layer_read tn_caffe_read_prior_box;

#endif
