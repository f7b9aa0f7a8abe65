/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that work on each element alone. Semantics: Caffe's layers of these names; what ONNX has
 * no operator for is an operator of the domain Caffe, or a row of simple ones.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <math.h>
#include <string.h>

/* The layer's one node of an operator with the bottom's shape. */
static tn_status emit(tn_caffe_reader *reader, tn_caffe_layer *layer, const char *domain,
                      const char *op, const tn_caffe_attributes *attributes) {
    const tn_caffe_value *x = &layer->bottoms[0];
    return tn_caffe_top(reader, layer, 0, domain, op, attributes, 1, &x->tensor, x);
}

static tn_status add_scalar(tn_caffe_reader *reader, tn_caffe_layer *layer, tn_caffe_chain *chain,
                            const char *op, const char *part, double value) {
    tn_import_tensor operand;
    TN_TRY(tn_caffe_scalar(reader, layer, part, value, &operand));
    tn_caffe_chain_add(chain, op, part, operand);
    return TN_OK;
}

/* scale * x + shift, without what does nothing. */
static tn_status add_line(tn_caffe_reader *reader, tn_caffe_layer *layer, tn_caffe_chain *chain,
                          double scale, double shift) {
    if (scale != 1) TN_TRY(add_scalar(reader, layer, chain, "Mul", "scale", scale));
    if (shift != 0) TN_TRY(add_scalar(reader, layer, chain, "Add", "shift", shift));
    return TN_OK;
}

static tn_status emit_chain(tn_caffe_reader *reader, tn_caffe_layer *layer,
                            const tn_caffe_chain *chain) {
    const tn_caffe_value *x = &layer->bottoms[0];
    return tn_caffe_chain_emit(reader, layer, chain, x->tensor, x);
}

tn_status tn_caffe_read_relu(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    double slope = tn_prototext_number(layer->params, "negative_slope", 0);
    tn_caffe_attributes attributes = {0};
    if (slope == 0) return emit(reader, layer, "", "Relu", NULL);
    tn_caffe_add_float(&attributes, "alpha", slope);
    return emit(reader, layer, "", "LeakyRelu", &attributes);
}

static tn_status emit_clip(tn_caffe_reader *reader, tn_caffe_layer *layer, double low,
                           double high) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_import_tensor inputs[3] = {x->tensor, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR};
    TN_TRY(tn_caffe_scalar(reader, layer, "min", low, &inputs[1]));
    TN_TRY(tn_caffe_scalar(reader, layer, "max", high, &inputs[2]));
    return tn_caffe_top(reader, layer, 0, "", "Clip", NULL, 3, inputs, x);
}

tn_status tn_caffe_read_relu6(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    return emit_clip(reader, layer, 0, 6);
}

tn_status tn_caffe_read_clip(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    if (!tn_prototext_has(layer->params, "min") || !tn_prototext_has(layer->params, "max"))
        return tn_fail(TN_ERROR_FORMAT, "clip_param needs both min and max");
    return emit_clip(reader, layer, tn_prototext_number(layer->params, "min", 0),
                     tn_prototext_number(layer->params, "max", 0));
}

/* A slope for each channel, or one for all. */
tn_status tn_caffe_read_prelu(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    bool is_shared = tn_prototext_bool(layer->params, "channel_shared", false);
    tn_import_tensor inputs[2] = {x->tensor, TN_IMPORT_NO_TENSOR};
    int64_t one = 1, shape[TN_MAX_RANK];
    TN_TRY(tn_caffe_require_rank(x));
    if (x->rank < 2)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %u; at least 2 is expected", x->rank);
    int64_t channels = is_shared ? 1 : x->extents[1];
    const float *data;
    TN_TRY(tn_caffe_blob_read(reader, layer, 0, 1, &channels, &data));
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i == 0 ? channels : 1;
    TN_TRY(tn_caffe_blob_constant(reader, layer, 0, 1, &channels, is_shared ? 1 : x->rank - 1,
                                  is_shared ? &one : shape, &inputs[1]));
    return tn_caffe_top(reader, layer, 0, "", "PRelu", NULL, 2, inputs, x);
}

tn_status tn_caffe_read_elu(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    tn_caffe_attributes attributes = {0};
    tn_caffe_add_float(&attributes, "alpha", tn_prototext_number(layer->params, "alpha", 1));
    return emit(reader, layer, "", "Elu", &attributes);
}

/* Operators that have no parameters. */
tn_status tn_caffe_read_unary(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    static const char *const names[][2] = {
        {"AbsVal", "Abs"}, {"Sigmoid", "Sigmoid"}, {"TanH", "Tanh"}};
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (strcmp(names[i][0], layer->type_name) == 0)
            return emit(reader, layer, "", names[i][1], NULL);
    return tn_fail(TN_ERROR_INTERNAL, "type %s has no operator", layer->type_name);
}

tn_status tn_caffe_read_bnll(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    return emit(reader, layer, "Caffe", "BNLL", NULL);
}

tn_status tn_caffe_read_threshold(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    tn_caffe_attributes attributes = {0};
    tn_caffe_add_float(&attributes, "threshold",
                       tn_prototext_number(layer->params, "threshold", 0));
    return emit(reader, layer, "Caffe", "Threshold", &attributes);
}

/* A constant of the bottom's shape, whatever is in it. */
static tn_status emit_constant(tn_caffe_reader *reader, tn_caffe_layer *layer, double value) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_import_tensor shape, inputs[2];
    TN_TRY(tn_caffe_inner(reader, layer, "shape", "", "Shape", NULL, 1, &x->tensor, &shape));
    TN_TRY(tn_caffe_scalar(reader, layer, "value", value, &inputs[0]));
    inputs[1] = shape;
    return tn_caffe_top(reader, layer, 0, "", "Expand", NULL, 2, inputs, x);
}

/* (shift + scale * x) ^ power; a constant where power * scale is 0. */
tn_status tn_caffe_read_power(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    double power = tn_prototext_number(layer->params, "power", 1);
    double scale = tn_prototext_number(layer->params, "scale", 1);
    double shift = tn_prototext_number(layer->params, "shift", 0);
    tn_caffe_chain chain = {0};
    if (power == 0 || scale == 0)
        return emit_constant(reader, layer, power == 0 ? 1 : pow(shift, power));
    TN_TRY(add_line(reader, layer, &chain, scale, shift));
    if (power != 1) TN_TRY(add_scalar(reader, layer, &chain, "Pow", "power", power));
    return emit_chain(reader, layer, &chain);
}

static tn_status read_base(const tn_caffe_layer *layer, double *out_base) {
    *out_base = tn_prototext_number(layer->params, "base", -1);
    if (*out_base == -1 || *out_base > 0) return TN_OK;
    return tn_fail(TN_ERROR_RANGE, "base is %g; -1 (e) or a positive number is expected",
                   *out_base);
}

/* base ^ (shift + scale * x) */
tn_status tn_caffe_read_exp(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    double base;
    tn_caffe_chain chain = {0};
    TN_TRY(read_base(layer, &base));
    double factor = base == -1 ? 1 : log(base);
    TN_TRY(add_line(reader, layer, &chain, factor * tn_prototext_number(layer->params, "scale", 1),
                    factor * tn_prototext_number(layer->params, "shift", 0)));
    tn_caffe_chain_add(&chain, "Exp", "power", TN_IMPORT_NO_TENSOR);
    return emit_chain(reader, layer, &chain);
}

/* log of shift + scale * x in the base */
tn_status tn_caffe_read_log(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    double base;
    tn_caffe_chain chain = {0};
    TN_TRY(read_base(layer, &base));
    if (base == 1) return tn_fail(TN_ERROR_RANGE, "base is 1, which has no logarithm");
    TN_TRY(add_line(reader, layer, &chain, tn_prototext_number(layer->params, "scale", 1),
                    tn_prototext_number(layer->params, "shift", 0)));
    tn_caffe_chain_add(&chain, "Log", "logarithm", TN_IMPORT_NO_TENSOR);
    if (base != -1) TN_TRY(add_scalar(reader, layer, &chain, "Mul", "base", 1 / log(base)));
    return emit_chain(reader, layer, &chain);
}

/* x * sigmoid(beta * x) */
tn_status tn_caffe_read_swish(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_chain chain = {0};
    double beta = tn_prototext_number(layer->params, "beta", 1);
    tn_import_tensor gate = x->tensor, inputs[2];
    if (beta != 1) {
        inputs[0] = x->tensor;
        TN_TRY(tn_caffe_scalar(reader, layer, "beta", beta, &inputs[1]));
        TN_TRY(tn_caffe_inner(reader, layer, "scaled", "", "Mul", NULL, 2, inputs, &gate));
    }
    TN_TRY(tn_caffe_inner(reader, layer, "gate", "", "Sigmoid", NULL, 1, &gate, &gate));
    tn_caffe_chain_add(&chain, "Mul", "product", gate);
    return emit_chain(reader, layer, &chain);
}

/* Dropout does nothing after training, Split gives its bottom other names. */
tn_status tn_caffe_read_alias(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    if (!tn_prototext_bool(layer->params, "scale_train", true))
        return tn_fail(TN_ERROR_UNSUPPORTED, "scale_train: false is not supported");
    for (uint32_t i = 0; i < layer->top_count; i++)
        TN_TRY(tn_caffe_set_value(reader, layer->top_names[i], &layer->bottoms[0]));
    return TN_OK;
}
