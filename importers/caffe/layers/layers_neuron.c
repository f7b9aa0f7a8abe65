/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that work on each element alone. Semantics: Caffe's layers of these names; what ONNX has
 * no operator for is an operator of the domain Caffe, or a row of simple ones.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <math.h>
#include <string.h>

/* Types that are one operator, of one field at most, which has the parameter's name. */
static const struct {
    const char *type, *domain, *op, *field;
    double fallback;
} simple_types[] = {
    {"AbsVal", NULL, "Abs", NULL, 0}, {"BNLL", "Caffe", "BNLL", NULL, 0},
    {"ELU", NULL, "Elu", "alpha", 1}, {"Sigmoid", NULL, "Sigmoid", NULL, 0},
    {"TanH", NULL, "Tanh", NULL, 0},  {"Threshold", "Caffe", "Threshold", "threshold", 0},
};

tn_status tn_caffe_read_simple(tn_caffe_layer *layer) {
    size_t i = 0;
    while (strcmp(simple_types[i].type, layer->type_name) != 0)
        if (++i == TN_COUNT(simple_types))
            return tn_fail(TN_ERROR_INTERNAL, "type %s has no operator", layer->type_name);
    tn_emit_fields fields = {.domain = simple_types[i].domain};
    const char *field = simple_types[i].field;
    if (field)
        fields.items[0] =
            tn_emit_f64(field, tn_prototext_number(layer->params, field, simple_types[i].fallback));
    return tn_caffe_map(layer, simple_types[i].op, &fields);
}

/* scale * x + shift, without what does nothing. */
static void add_line(const tn_caffe_layer *layer, tn_caffe_chain *chain, double factor) {
    const double scale = factor * tn_prototext_number(layer->params, "scale", 1);
    const double shift = factor * tn_prototext_number(layer->params, "shift", 0);
    if (scale != 1) tn_caffe_chain_scalar(layer, chain, "Mul", "scale", scale);
    if (shift != 0) tn_caffe_chain_scalar(layer, chain, "Add", "shift", shift);
}

static tn_status emit_chain(const tn_caffe_layer *layer, const tn_caffe_chain *chain) {
    const tn_caffe_value *x = &layer->bottoms[0];
    return tn_caffe_chain_emit(layer, chain, x->tensor, x);
}

tn_status tn_caffe_read_relu(tn_caffe_layer *layer) {
    const double slope = tn_prototext_number(layer->params, "negative_slope", 0);
    if (slope == 0) return tn_caffe_map(layer, "Relu", NULL);
    return tn_caffe_map(layer, "LeakyRelu", TN_EMIT(tn_emit_f64("alpha", slope)));
}

static tn_status emit_clip(const tn_caffe_layer *layer, double low, double high) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const tn_import_tensor least = tn_emit_scalar(layer->emit, "min", low);
    const tn_import_tensor most = tn_emit_scalar(layer->emit, "max", high);
    return tn_caffe_top(layer, 0, "Clip", NULL, TN_TENSORS(x->tensor, least, most), x);
}

tn_status tn_caffe_read_relu6(tn_caffe_layer *layer) {
    return emit_clip(layer, 0, 6);
}

tn_status tn_caffe_read_clip(tn_caffe_layer *layer) {
    if (!tn_prototext_has(layer->params, "min") || !tn_prototext_has(layer->params, "max"))
        return tn_fail(TN_ERROR_FORMAT, "clip_param needs both min and max");
    return emit_clip(layer, tn_prototext_number(layer->params, "min", 0),
                     tn_prototext_number(layer->params, "max", 0));
}

/* A slope for each channel, or one for all. */
tn_status tn_caffe_read_prelu(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const bool is_shared = tn_prototext_bool(layer->params, "channel_shared", false);
    tn_import_tensor slopes;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_check_rank(layer, 2, true));
    int64_t channels = is_shared ? 1 : x->extents[1];
    const uint32_t ones = is_shared ? 0 : x->rank - 2;
    TN_TRY(tn_caffe_blob_constant(layer, 0, 1, &channels, ones, &slopes));
    return tn_caffe_top(layer, 0, "PRelu", NULL, TN_TENSORS(x->tensor, slopes), x);
}

/* A constant of the bottom's shape, whatever is in it. */
static tn_status emit_constant(const tn_caffe_layer *layer, double value) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const tn_import_tensor shape = tn_emit_unary(layer->emit, "shape", "Shape", x->tensor);
    const tn_import_tensor element = tn_emit_scalar(layer->emit, "value", value);
    return tn_caffe_top(layer, 0, "Expand", NULL, TN_TENSORS(element, shape), x);
}

/* (shift + scale * x) ^ power; a constant where power * scale is 0. */
tn_status tn_caffe_read_power(tn_caffe_layer *layer) {
    const double power = tn_prototext_number(layer->params, "power", 1);
    const double shift = tn_prototext_number(layer->params, "shift", 0);
    tn_caffe_chain chain = {0};
    if (power == 0 || tn_prototext_number(layer->params, "scale", 1) == 0)
        return emit_constant(layer, power == 0 ? 1 : pow(shift, power));
    add_line(layer, &chain, 1);
    if (power != 1) tn_caffe_chain_scalar(layer, &chain, "Pow", "power", power);
    return emit_chain(layer, &chain);
}

static tn_status read_base(const tn_caffe_layer *layer, double *out_base) {
    *out_base = tn_prototext_number(layer->params, "base", -1);
    if (*out_base == -1 || *out_base > 0) return TN_OK;
    return tn_fail(TN_ERROR_RANGE, "base is %g; -1 (e) or a positive number is expected",
                   *out_base);
}

/* base ^ (shift + scale * x) */
tn_status tn_caffe_read_exp(tn_caffe_layer *layer) {
    double base;
    tn_caffe_chain chain = {0};
    TN_TRY(read_base(layer, &base));
    add_line(layer, &chain, base == -1 ? 1 : log(base));
    tn_caffe_chain_add(&chain, "Exp", "power", TN_IMPORT_NO_TENSOR);
    return emit_chain(layer, &chain);
}

/* log of shift + scale * x in the base */
tn_status tn_caffe_read_log(tn_caffe_layer *layer) {
    double base;
    tn_caffe_chain chain = {0};
    TN_TRY(read_base(layer, &base));
    if (base == 1) return tn_fail(TN_ERROR_RANGE, "base is 1, which has no logarithm");
    add_line(layer, &chain, 1);
    tn_caffe_chain_add(&chain, "Log", "logarithm", TN_IMPORT_NO_TENSOR);
    if (base != -1) tn_caffe_chain_scalar(layer, &chain, "Mul", "base", 1 / log(base));
    return emit_chain(layer, &chain);
}

/* x * sigmoid(beta * x) */
tn_status tn_caffe_read_swish(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const double beta = tn_prototext_number(layer->params, "beta", 1);
    tn_import_tensor gate = x->tensor;
    if (beta != 1) {
        const tn_import_tensor factor = tn_emit_scalar(layer->emit, "beta", beta);
        gate = tn_emit_binary(layer->emit, "scaled", "Mul", gate, factor);
    }
    gate = tn_emit_unary(layer->emit, "gate", "Sigmoid", gate);
    return tn_caffe_top(layer, 0, "Mul", NULL, TN_TENSORS(x->tensor, gate), x);
}

/* Dropout does nothing after training, Split gives its bottom other names. */
tn_status tn_caffe_read_alias(tn_caffe_layer *layer) {
    if (!tn_prototext_bool(layer->params, "scale_train", true))
        return tn_fail(TN_ERROR_UNSUPPORTED, "scale_train: false is not supported");
    for (uint32_t i = 0; i < layer->top_count; i++)
        TN_TRY(tn_caffe_set_value(layer->reader, layer->top_names[i], &layer->bottoms[0]));
    return TN_OK;
}
