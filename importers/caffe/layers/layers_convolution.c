/* SPDX-License-Identifier: Apache-2.0 */
/* Windows (window.h), and Convolution and Deconvolution. Semantics: Caffe's base_conv_layer. */
#include "base/status.h"
#include "importers/caffe/layers/window.h"

#include <inttypes.h>
#include <string.h>

/* One of a window's numbers: a list of none, one or one each, or two named fields for two axes. */
static tn_status read_numbers(const tn_prototext_message *params, const char *list,
                              const char *height, const char *width, uint32_t rank,
                              int64_t fallback, int64_t lowest, int64_t *out_values) {
    int64_t given[TN_CAFFE_WINDOW_AXES] = {0};
    size_t count = tn_prototext_integers(params, list, TN_CAFFE_WINDOW_AXES, given);
    bool has_pair = height && (tn_prototext_has(params, height) || tn_prototext_has(params, width));
    if (has_pair && count > 0)
        return tn_fail(TN_ERROR_FORMAT, "%s stands beside %s and %s: one or the other is expected",
                       list, height, width);
    if (has_pair && rank != 2)
        return tn_fail(TN_ERROR_FORMAT, "%s and %s are for two spatial axes, not %" PRIu32, height,
                       width, rank);
    if (count > 1 && count != rank)
        return tn_fail(TN_ERROR_FORMAT, "%s has %zu numbers for %" PRIu32 " spatial axes", list,
                       count, rank);
    for (uint32_t i = 0; i < rank; i++) {
        out_values[i] = count == 0 ? fallback : given[count > 1 ? i : 0];
        if (has_pair)
            out_values[i] = tn_prototext_integer(params, i == 0 ? height : width, fallback);
        if (out_values[i] < lowest)
            return tn_fail(TN_ERROR_RANGE, "%s is %" PRId64 "; at least %" PRId64 " is expected",
                           list, out_values[i], lowest);
    }
    return TN_OK;
}

tn_status tn_caffe_window_read(const tn_prototext_message *params, tn_caffe_window *w) {
    const uint32_t rank = w->rank;
    TN_TRY(read_numbers(params, "kernel_size", "kernel_h", "kernel_w", rank, 0, 1, w->kernel));
    TN_TRY(read_numbers(params, "stride", "stride_h", "stride_w", rank, 1, 1, w->stride));
    TN_TRY(read_numbers(params, "pad", "pad_h", "pad_w", rank, 0, 0, w->pads));
    memcpy(w->pads + rank, w->pads, rank * sizeof(*w->pads));
    if (!w->has_dilation) return TN_OK;
    return read_numbers(params, "dilation", NULL, NULL, rank, 1, 1, w->dilation);
}

tn_emit_fields tn_caffe_window_fields(const tn_caffe_window *w) {
    tn_emit_fields fields = {.items = {tn_emit_i64s("kernel_shape", w->rank, w->kernel),
                                       tn_emit_i64s("strides", w->rank, w->stride),
                                       tn_emit_i64s("pads", 2 * (size_t)w->rank, w->pads)}};
    if (w->has_dilation) fields.items[3] = tn_emit_i64s("dilations", w->rank, w->dilation);
    return fields;
}

/* ----------------------------------------------------------------------------------------------
 * Convolution and Deconvolution */

typedef struct convolution {
    tn_caffe_window window;
    int64_t outputs, group;
    bool has_bias, is_transposed;
} convolution;

/* The spatial axes are those of the bottom, or, where its rank is not known, of the lists: two. */
static tn_status read_convolution(const tn_caffe_layer *layer, convolution *out) {
    const tn_prototext_message *params = layer->params;
    const tn_caffe_value *x = &layer->bottoms[0];
    uint32_t axis = 1;
    TN_TRY(tn_caffe_check_rank(layer, 3, true));
    TN_TRY(tn_caffe_axis_read(layer, 1, &axis));
    if (axis != 1)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "axis %" PRIu32 " is not supported; channels are axis 1", axis);
    out->is_transposed = strcmp(layer->type_name, "Deconvolution") == 0;
    out->window.rank = tn_caffe_has_rank(x) ? x->rank - 2 : 2;
    out->window.has_dilation = true;
    out->outputs = tn_prototext_integer(params, "num_output", 0);
    out->group = tn_prototext_integer(params, "group", 1);
    out->has_bias = tn_prototext_bool(params, "bias_term", true);
    if (strcmp(layer->type_name, "ConvolutionDepthwise") == 0 ||
        strcmp(layer->type_name, "DepthwiseConvolution") == 0)
        out->group = tn_caffe_extent(x, 1) > 0 ? x->extents[1] : out->outputs;
    TN_TRY(tn_caffe_output_count(layer, &out->outputs));
    if (out->group < 1 || out->outputs % out->group != 0)
        return tn_fail(TN_ERROR_RANGE, "num_output %" PRId64 " is no multiple of group %" PRId64,
                       out->outputs, out->group);
    return tn_caffe_window_read(params, &out->window);
}

static tn_status read_convolution_weights(tn_caffe_layer *layer, const convolution *c,
                                          tn_import_tensor *inputs) {
    const uint32_t rank = c->window.rank;
    const int64_t channels = tn_caffe_extent(&layer->bottoms[0], 1);
    int64_t extents[TN_MAX_RANK] = {c->outputs, channels < 0 ? -1 : channels / c->group};
    int64_t outputs = c->outputs;
    if (channels >= 0 && channels % c->group != 0)
        return tn_fail(TN_ERROR_RANGE,
                       "its bottom's %" PRId64 " channels are no multiple of group "
                       "%" PRId64,
                       channels, c->group);
    if (c->is_transposed) {
        extents[0] = channels;
        extents[1] = c->outputs / c->group;
    }
    memcpy(extents + 2, c->window.kernel, rank * sizeof(*extents));
    TN_TRY(tn_caffe_blob_constant(layer, 0, 2 + rank, extents, 0, &inputs[1]));
    return c->has_bias ? tn_caffe_blob_constant(layer, 1, 1, &outputs, 0, &inputs[2]) : TN_OK;
}

static int64_t window_output(const convolution *c, uint32_t axis, int64_t input) {
    const tn_caffe_window *w = &c->window;
    int64_t covered = w->dilation[axis] * (w->kernel[axis] - 1) + 1;
    if (input < 0 || input > INT32_MAX) return -1;
    if (c->is_transposed) return w->stride[axis] * (input - 1) + covered - 2 * w->pads[axis];
    int64_t range = input + 2 * w->pads[axis] - covered;
    return range < 0 ? -1 : range / w->stride[axis] + 1;
}

static tn_caffe_value convolution_shape(const convolution *c, const tn_caffe_value *x) {
    tn_caffe_value shape = {.rank = 2 + c->window.rank,
                            .extents = {tn_caffe_extent(x, 0), c->outputs}};
    for (uint32_t i = 0; i < c->window.rank; i++)
        shape.extents[2 + i] = window_output(c, i, tn_caffe_extent(x, 2 + i));
    return shape;
}

/* Several bottoms share the weights, and each has its top. */
tn_status tn_caffe_read_convolution(tn_caffe_layer *layer) {
    convolution c = {0};
    tn_import_tensor inputs[3];
    TN_TRY(read_convolution(layer, &c));
    if (layer->bottom_count != layer->top_count)
        return tn_fail(TN_ERROR_FORMAT,
                       "it has %" PRIu32 " bottoms and %" PRIu32
                       " tops: one top for each bottom is expected",
                       layer->bottom_count, layer->top_count);
    TN_TRY(read_convolution_weights(layer, &c, inputs));
    tn_emit_fields fields = tn_caffe_window_fields(&c.window);
    fields.items[4] = tn_emit_i64("group", c.group);
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        const tn_caffe_value shape = convolution_shape(&c, &layer->bottoms[i]);
        const tn_emit_tensors list = {c.has_bias ? 3 : 2, inputs};
        inputs[0] = layer->bottoms[i].tensor;
        if (layer->bottoms[i].rank != layer->bottoms[0].rank)
            return tn_fail(TN_ERROR_SHAPE, "its bottoms have different ranks");
        TN_TRY(tn_caffe_top(layer, i, c.is_transposed ? "ConvTranspose" : "Conv", &fields, list,
                            &shape));
    }
    return TN_OK;
}
