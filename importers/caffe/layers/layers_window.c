/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution, Deconvolution, Pooling and SPP. Caffe's pooling rounds extents up and clips the last
 * window as ONNX's ceil_mode does where there is padding or the window is not shorter than its
 * step; the divisor of its average is ONNX's with count_include_pad. Semantics: Caffe's
 * base_conv_layer and pooling_layer.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>
#include <string.h>

#define MOST_AXES (TN_MAX_RANK - 2)

typedef struct window {
    uint32_t rank; /* spatial axes */
    int64_t kernel[MOST_AXES], stride[MOST_AXES], pad[MOST_AXES], dilation[MOST_AXES];
} window;

/* One of a window's numbers: a list of none, one or one each, or two named fields for two axes. */
static tn_status read_numbers(const tn_prototext_message *params, const char *list,
                              const char *height, const char *width, uint32_t rank,
                              int64_t fallback, int64_t lowest, int64_t *out_values) {
    int64_t given[MOST_AXES] = {0};
    size_t count = tn_prototext_integers(params, list, MOST_AXES, given);
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

static tn_status read_window(const tn_prototext_message *params, bool with_dilation, window *out) {
    TN_TRY(
        read_numbers(params, "kernel_size", "kernel_h", "kernel_w", out->rank, 0, 1, out->kernel));
    TN_TRY(read_numbers(params, "stride", "stride_h", "stride_w", out->rank, 1, 1, out->stride));
    TN_TRY(read_numbers(params, "pad", "pad_h", "pad_w", out->rank, 0, 0, out->pad));
    if (!with_dilation) return TN_OK;
    return read_numbers(params, "dilation", NULL, NULL, out->rank, 1, 1, out->dilation);
}

static void add_window(tn_caffe_attributes *attributes, const window *w, const int64_t *pad_end,
                       bool with_dilation) {
    int64_t pads[2 * MOST_AXES];
    memcpy(pads, w->pad, w->rank * sizeof(*pads));
    memcpy(pads + w->rank, pad_end, w->rank * sizeof(*pads));
    tn_caffe_add_integers(attributes, "kernel_shape", w->rank, w->kernel);
    tn_caffe_add_integers(attributes, "strides", w->rank, w->stride);
    tn_caffe_add_integers(attributes, "pads", 2 * (size_t)w->rank, pads);
    if (with_dilation) tn_caffe_add_integers(attributes, "dilations", w->rank, w->dilation);
}

/* ----------------------------------------------------------------------------------------------
 * Convolution and Deconvolution */

typedef struct convolution {
    window window;
    int64_t outputs, group;
    bool has_bias, is_transposed;
} convolution;

/* The spatial axes are those of the bottom, or, where its rank is not known, of the lists: two. */
static tn_status read_convolution(const tn_caffe_layer *layer, convolution *out) {
    const tn_prototext_message *params = layer->params;
    uint32_t rank = layer->bottoms[0].rank;
    if (rank == UINT32_MAX) rank = 4;
    if (rank < 3)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 "; at least 3 is expected",
                       rank);
    uint32_t axis = 1;
    TN_TRY(
        tn_caffe_axis(&layer->bottoms[0], "axis", tn_prototext_integer(params, "axis", 1), &axis));
    if (axis != 1)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "axis %" PRIu32 " is not supported; channels are axis 1", axis);
    out->window.rank = rank - 2;
    out->outputs = tn_prototext_integer(params, "num_output", 0);
    out->group = tn_prototext_integer(params, "group", 1);
    out->has_bias = tn_prototext_bool(params, "bias_term", true);
    if (strcmp(layer->type_name, "ConvolutionDepthwise") == 0 ||
        strcmp(layer->type_name, "DepthwiseConvolution") == 0)
        out->group = layer->bottoms[0].rank != UINT32_MAX && layer->bottoms[0].extents[1] > 0
                         ? layer->bottoms[0].extents[1]
                         : out->outputs;
    if (out->outputs < 1)
        return tn_fail(TN_ERROR_RANGE, "num_output is %" PRId64 "; at least 1 is expected",
                       out->outputs);
    if (out->group < 1 || out->outputs % out->group != 0)
        return tn_fail(TN_ERROR_RANGE, "num_output %" PRId64 " is no multiple of group %" PRId64,
                       out->outputs, out->group);
    return read_window(params, true, &out->window);
}

static tn_status read_convolution_weights(tn_caffe_reader *reader, tn_caffe_layer *layer,
                                          const convolution *c, tn_import_tensor *inputs) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t channels = x->rank == UINT32_MAX ? -1 : x->extents[1];
    int64_t extents[TN_MAX_RANK] = {c->outputs, channels < 0 ? -1 : channels / c->group};
    if (channels >= 0 && channels % c->group != 0)
        return tn_fail(TN_ERROR_RANGE,
                       "its bottom's %" PRId64 " channels are no multiple of group "
                       "%" PRId64,
                       channels, c->group);
    if (c->is_transposed) {
        extents[0] = channels;
        extents[1] = c->outputs / c->group;
    }
    memcpy(extents + 2, c->window.kernel, c->window.rank * sizeof(*extents));
    TN_TRY(
        tn_caffe_blob_constant(reader, layer, 0, 2 + c->window.rank, extents, 0, NULL, &inputs[1]));
    if (!c->has_bias) return TN_OK;
    int64_t outputs = c->outputs;
    return tn_caffe_blob_constant(reader, layer, 1, 1, &outputs, 0, NULL, &inputs[2]);
}

static int64_t window_output(const convolution *c, uint32_t axis, int64_t input) {
    const window *w = &c->window;
    int64_t covered = w->dilation[axis] * (w->kernel[axis] - 1) + 1;
    if (input < 0 || input > INT32_MAX) return -1;
    if (c->is_transposed) return w->stride[axis] * (input - 1) + covered - 2 * w->pad[axis];
    int64_t room = input + 2 * w->pad[axis] - covered;
    return room < 0 ? -1 : room / w->stride[axis] + 1;
}

static void convolution_shape(const convolution *c, const tn_caffe_value *x,
                              tn_caffe_value *out_shape) {
    *out_shape = (tn_caffe_value){.rank = 2 + c->window.rank};
    bool is_known = x->rank != UINT32_MAX;
    out_shape->extents[0] = is_known ? x->extents[0] : -1;
    out_shape->extents[1] = c->outputs;
    for (uint32_t i = 0; i < c->window.rank; i++)
        out_shape->extents[2 + i] = is_known ? window_output(c, i, x->extents[2 + i]) : -1;
}

/* Several bottoms share the weights, and each has its top. */
static tn_status emit_convolution(tn_caffe_reader *reader, tn_caffe_layer *layer, convolution *c) {
    tn_import_tensor inputs[3] = {TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR};
    tn_caffe_attributes attributes = {0};
    TN_TRY(read_convolution(layer, c));
    if (layer->bottom_count != layer->top_count)
        return tn_fail(TN_ERROR_FORMAT,
                       "it has %" PRIu32 " bottoms and %" PRIu32
                       " tops: one top for each bottom is expected",
                       layer->bottom_count, layer->top_count);
    TN_TRY(read_convolution_weights(reader, layer, c, inputs));
    add_window(&attributes, &c->window, c->window.pad, true);
    tn_caffe_add_integer(&attributes, "group", c->group);
    for (uint32_t i = 0; i < layer->bottom_count; i++) {
        tn_caffe_value shape;
        inputs[0] = layer->bottoms[i].tensor;
        convolution_shape(c, &layer->bottoms[i], &shape);
        if (layer->bottoms[i].rank != layer->bottoms[0].rank)
            return tn_fail(TN_ERROR_SHAPE, "its bottoms have different ranks");
        TN_TRY(tn_caffe_top(reader, layer, i, "", c->is_transposed ? "ConvTranspose" : "Conv",
                            &attributes, c->has_bias ? 3 : 2, inputs, &shape));
    }
    return TN_OK;
}

tn_status tn_caffe_read_convolution(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    return emit_convolution(reader, layer, &(convolution){.is_transposed = false});
}

tn_status tn_caffe_read_deconvolution(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    return emit_convolution(reader, layer, &(convolution){.is_transposed = true});
}

/* ----------------------------------------------------------------------------------------------
 * Pooling */

typedef struct pooling {
    window window;
    int64_t pad_end[2];
    bool is_average, is_ceil;
} pooling;

static bool rounds_up(const tn_prototext_message *params) {
    if (strcmp(tn_prototext_text(params, "round_mode", "CEIL"), "FLOOR") == 0) return false;
    return tn_prototext_bool(params, "ceil_mode", true) &&
           !tn_prototext_bool(params, "torch_pooling", false);
}

/* Without padding Caffe does not clip, so that a step longer than the window leaves a last window
 * outside of the input: then padding at the end and rounding down give its extents. */
static void choose_rounding(pooling *p) {
    const window *w = &p->window;
    bool is_padded = w->pad[0] > 0 || w->pad[1] > 0;
    bool is_sparse = w->stride[0] > w->kernel[0] || w->stride[1] > w->kernel[1];
    for (uint32_t i = 0; i < 2; i++)
        p->pad_end[i] = w->pad[i];
    if (!p->is_ceil || is_padded || !is_sparse) return;
    for (uint32_t i = 0; i < 2; i++)
        p->pad_end[i] = w->stride[i] - 1;
    p->is_ceil = false;
}

static int64_t pooled_extent(const pooling *p, uint32_t axis, int64_t input) {
    const window *w = &p->window;
    int64_t room = input + w->pad[axis] + p->pad_end[axis] - w->kernel[axis];
    if (input < 0 || input > INT32_MAX || room < 0) return -1;
    int64_t steps = room / w->stride[axis];
    if (p->is_ceil && room % w->stride[axis] != 0 &&
        (steps + 1) * w->stride[axis] < input + w->pad[axis])
        steps++;
    return steps + 1;
}

static tn_status read_pooling(const tn_caffe_layer *layer, pooling *out) {
    const char *method = tn_prototext_text(layer->params, "pool", "MAX");
    if (strcmp(method, "STOCHASTIC") == 0)
        return tn_fail(TN_ERROR_UNSUPPORTED, "pool: STOCHASTIC is not supported");
    out->is_average = strcmp(method, "AVE") == 0;
    out->is_ceil = rounds_up(layer->params);
    out->window.rank = 2;
    if (layer->bottoms[0].rank != 4 && layer->bottoms[0].rank != UINT32_MAX)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 "; 4 is expected",
                       layer->bottoms[0].rank);
    if (layer->top_count > 1 && out->is_average)
        return tn_fail(TN_ERROR_FORMAT, "only pool: MAX has a second top");
    return TN_OK;
}

static tn_status emit_global(tn_caffe_reader *reader, tn_caffe_layer *layer, const pooling *p) {
    static const int64_t axes[] = {2, 3};
    const tn_caffe_value *x = &layer->bottoms[0];
    bool is_known = x->rank == 4;
    tn_caffe_value shape = {
        .rank = 4, .extents = {is_known ? x->extents[0] : -1, is_known ? x->extents[1] : -1, 1, 1}};
    tn_caffe_attributes attributes = {0};
    if (layer->top_count > 1)
        return tn_fail(TN_ERROR_UNSUPPORTED, "global_pooling with a second top is not supported");
    if (p->is_average)
        return tn_caffe_top(reader, layer, 0, "", "GlobalAveragePool", NULL, 1, &x->tensor, &shape);
    tn_caffe_add_integers(&attributes, "axes", 2, axes);
    tn_caffe_add_integer(&attributes, "keepdims", 1);
    return tn_caffe_top(reader, layer, 0, "", "ReduceMax", &attributes, 1, &x->tensor, &shape);
}

/* Caffe's second top is h * W + w as a float; ONNX's indices count over all axes: their rest by the
 * plane's extent. */
static tn_status emit_with_indices(tn_caffe_reader *reader, tn_caffe_layer *layer,
                                   const tn_caffe_attributes *attributes,
                                   const tn_caffe_value *shape) {
    const tn_caffe_value *x = &layer->bottoms[0];
    if (x->rank != 4 || x->extents[2] < 0 || x->extents[3] < 0)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a second top is supported where height and width of its bottom are known");
    int64_t plane = tn_caffe_multiply(x->extents[2], x->extents[3]);
    tn_caffe_value tops[2] = {*shape, *shape};
    tn_import_tensor divisor, operands[2], rest;
    tn_caffe_attributes cast = {0};
    const char *names[2] = {NULL, NULL};
    TN_TRY(tn_caffe_top_names(reader, layer, 1, names, "indices"));
    tn_import_tensor outputs[2];
    TN_TRY(tn_caffe_node(reader, layer->name, "", "MaxPool", attributes, 1, &x->tensor, 2, names,
                         outputs));
    tops[0].tensor = outputs[0];
    TN_TRY(tn_caffe_set_value(reader, layer->top_names[0], &tops[0]));
    TN_TRY(tn_caffe_index_list(reader, layer, "plane", 1, &plane, &divisor));
    operands[0] = outputs[1];
    operands[1] = divisor;
    TN_TRY(tn_caffe_inner(reader, layer, "in_plane", "", "Mod", NULL, 2, operands, &rest));
    tn_caffe_add_text(&cast, "to", "f32");
    return tn_caffe_top(reader, layer, 1, "", "Cast", &cast, 1, &rest, &tops[1]);
}

tn_status tn_caffe_read_pooling(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    pooling p = {0};
    tn_caffe_attributes attributes = {0};
    TN_TRY(read_pooling(layer, &p));
    if (tn_prototext_bool(layer->params, "global_pooling", false))
        return emit_global(reader, layer, &p);
    TN_TRY(read_window(layer->params, false, &p.window));
    for (uint32_t i = 0; i < 2; i++)
        if (p.window.pad[i] >= p.window.kernel[i])
            return tn_fail(TN_ERROR_RANGE, "pad %" PRId64 " is not below kernel_size %" PRId64,
                           p.window.pad[i], p.window.kernel[i]);
    choose_rounding(&p);
    tn_caffe_value shape = {.rank = 4, .extents = {-1, -1, -1, -1}};
    for (uint32_t i = 0; i < 4 && x->rank == 4; i++)
        shape.extents[i] = i < 2 ? x->extents[i] : pooled_extent(&p, i - 2, x->extents[i]);
    bool has_end_padding = p.pad_end[0] == p.window.pad[0] && p.pad_end[1] == p.window.pad[1];
    add_window(&attributes, &p.window, p.pad_end, false);
    tn_caffe_add_integer(&attributes, "ceil_mode", p.is_ceil);
    if (p.is_average) tn_caffe_add_integer(&attributes, "count_include_pad", has_end_padding);
    if (layer->top_count > 1) return emit_with_indices(reader, layer, &attributes, &shape);
    return tn_caffe_top(reader, layer, 0, "", p.is_average ? "AveragePool" : "MaxPool", &attributes,
                        1, &x->tensor, &shape);
}

/* ----------------------------------------------------------------------------------------------
 * SPP */

/* Level `level` of the pyramid: 2^level windows along each axis, as wide as it takes. */
static tn_status emit_level(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t level,
                            bool is_last, tn_import_tensor *out_tensor) {
    const tn_caffe_value *x = &layer->bottoms[0];
    pooling p = {.is_ceil = true, .window.rank = 2};
    tn_caffe_attributes attributes = {0};
    int64_t bins = INT64_C(1) << level;
    p.is_average = strcmp(tn_prototext_text(layer->params, "pool", "MAX"), "AVE") == 0;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t extent = x->extents[2 + i];
        p.window.kernel[i] = p.window.stride[i] = (extent + bins - 1) / bins;
        p.window.pad[i] = (p.window.kernel[i] * bins - extent + 1) / 2;
        p.pad_end[i] = p.window.pad[i];
        if (p.window.pad[i] >= p.window.kernel[i] || pooled_extent(&p, i, extent) != bins)
            return tn_fail(TN_ERROR_SHAPE,
                           "an extent of %" PRId64 " does not divide into %" PRId64 " windows",
                           extent, bins);
    }
    add_window(&attributes, &p.window, p.pad_end, false);
    tn_caffe_add_integer(&attributes, "ceil_mode", 1);
    if (p.is_average) tn_caffe_add_integer(&attributes, "count_include_pad", 1);
    const char *op = p.is_average ? "AveragePool" : "MaxPool";
    tn_caffe_value shape = {.rank = 4, .extents = {x->extents[0], x->extents[1], bins, bins}};
    if (is_last) return tn_caffe_top(reader, layer, 0, "", op, &attributes, 1, &x->tensor, &shape);
    return tn_caffe_inner(reader, layer, "level", "", op, &attributes, 1, &x->tensor, out_tensor);
}

/* Poolings with ever more windows, flattened and joined; of one level alone, the pooling itself. */
tn_status tn_caffe_read_spp(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    int64_t height = tn_prototext_integer(layer->params, "pyramid_height", 0), cells = 0;
    tn_import_tensor levels[10];
    tn_caffe_attributes flat = {0}, join = {0};
    if (height < 1 || height > (int64_t)TN_COUNT(levels))
        return tn_fail(TN_ERROR_RANGE, "pyramid_height is %" PRId64 "; from 1 to %u is expected",
                       height, TN_COUNT(levels));
    if (strcmp(tn_prototext_text(layer->params, "pool", "MAX"), "STOCHASTIC") == 0)
        return tn_fail(TN_ERROR_UNSUPPORTED, "pool: STOCHASTIC is not supported");
    TN_TRY(tn_caffe_require_rank(x));
    if (x->rank != 4 || x->extents[2] < 1 || x->extents[3] < 1 || x->extents[2] > INT32_MAX ||
        x->extents[3] > INT32_MAX)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "it is supported where height and width of its bottom are known");
    if (height == 1) return emit_level(reader, layer, 0, true, NULL);
    tn_caffe_add_integer(&flat, "axis", 1);
    for (uint32_t i = 0; i < (uint32_t)height; i++) {
        TN_TRY(emit_level(reader, layer, i, false, &levels[i]));
        TN_TRY(
            tn_caffe_inner(reader, layer, "flat", "", "Flatten", &flat, 1, &levels[i], &levels[i]));
        cells += INT64_C(1) << (2 * i);
    }
    tn_caffe_value shape = {.rank = 2,
                            .extents = {x->extents[0], tn_caffe_multiply(x->extents[1], cells)}};
    tn_caffe_add_integer(&join, "axis", 1);
    return tn_caffe_top(reader, layer, 0, "", "Concat", &join, (uint32_t)height, levels, &shape);
}
