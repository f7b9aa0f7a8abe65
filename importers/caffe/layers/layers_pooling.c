/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling and SPP. Caffe's pooling rounds extents up and clips the last window as ONNX's ceil_mode
 * does where there is padding or the window is not shorter than its step; the divisor of its
 * average is ONNX's with count_include_pad. Semantics: Caffe's pooling_layer.
 */
#include "base/status.h"
#include "importers/caffe/layers/window.h"

#include <inttypes.h>
#include <string.h>

typedef struct pooling {
    tn_caffe_window window; /* of two axes */
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
    tn_caffe_window *w = &p->window;
    bool is_padded = w->pads[0] > 0 || w->pads[1] > 0;
    bool is_sparse = w->stride[0] > w->kernel[0] || w->stride[1] > w->kernel[1];
    if (!p->is_ceil || is_padded || !is_sparse) return;
    for (uint32_t i = 0; i < 2; i++)
        w->pads[2 + i] = w->stride[i] - 1;
    p->is_ceil = false;
}

static int64_t pooled_extent(const pooling *p, uint32_t axis, int64_t input) {
    const tn_caffe_window *w = &p->window;
    int64_t range = input + w->pads[axis] + w->pads[2 + axis] - w->kernel[axis];
    if (input < 0 || input > INT32_MAX || range < 0) return -1;
    int64_t steps = range / w->stride[axis];
    if (p->is_ceil && range % w->stride[axis] != 0 &&
        (steps + 1) * w->stride[axis] < input + w->pads[axis])
        steps++;
    return steps + 1;
}

static tn_emit_fields pooling_fields(const pooling *p) {
    const int64_t *pads = p->window.pads;
    const bool counts_padding = pads[0] == pads[2] && pads[1] == pads[3];
    tn_emit_fields fields = tn_caffe_window_fields(&p->window);
    fields.items[4] = tn_emit_i64("ceil_mode", p->is_ceil);
    if (p->is_average) fields.items[5] = tn_emit_i64("count_include_pad", counts_padding);
    return fields;
}

/* The parameter `pool`. */
static tn_status read_method(const tn_caffe_layer *layer, pooling *out) {
    const char *method = tn_prototext_text(layer->params, "pool", "MAX");
    out->window.rank = 2;
    out->is_average = strcmp(method, "AVE") == 0;
    if (strcmp(method, "STOCHASTIC") != 0) return TN_OK;
    return tn_fail(TN_ERROR_UNSUPPORTED, "pool: STOCHASTIC is not supported");
}

static tn_status emit_global(const tn_caffe_layer *layer, const pooling *p) {
    static const int64_t axes[] = {2, 3};
    const tn_caffe_value *x = &layer->bottoms[0];
    const tn_caffe_value shape = {.rank = 4,
                                  .extents = {tn_caffe_extent(x, 0), tn_caffe_extent(x, 1), 1, 1}};
    if (layer->top_count > 1)
        return tn_fail(TN_ERROR_UNSUPPORTED, "global_pooling with a second top is not supported");
    if (p->is_average)
        return tn_caffe_top(layer, 0, "GlobalAveragePool", NULL, TN_TENSORS(x->tensor), &shape);
    return tn_caffe_top(layer, 0, "ReduceMax",
                        TN_EMIT(tn_emit_i64s("axes", 2, axes), tn_emit_i64("keepdims", 1)),
                        TN_TENSORS(x->tensor), &shape);
}

/* Caffe's second top is h * W + w as a float; ONNX's indices count over all axes: their rest by the
 * plane's extent. */
static tn_status emit_with_indices(const tn_caffe_layer *layer, const tn_emit_fields *fields,
                                   const tn_caffe_value *shape) {
    static const char *const part = "indices";
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_import_tensor indices;
    if (tn_caffe_extent(x, 2) < 0 || tn_caffe_extent(x, 3) < 0)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a second top is supported where height and width of its bottom are known");
    const int64_t plane = tn_caffe_multiply(x->extents[2], x->extents[3]);
    TN_TRY(tn_caffe_tops(layer, 1, "MaxPool", fields, TN_TENSORS(x->tensor), shape, 1, &part,
                         &indices));
    const tn_import_tensor divisor = tn_emit_list(layer->emit, "plane", 1, &plane);
    const tn_import_tensor rest = tn_emit_binary(layer->emit, "in_plane", "Mod", indices, divisor);
    return tn_caffe_top(layer, 1, "Cast", TN_EMIT(tn_emit_text("to", "f32")), TN_TENSORS(rest),
                        shape);
}

tn_status tn_caffe_read_pooling(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    pooling p = {.is_ceil = rounds_up(layer->params)};
    TN_TRY(read_method(layer, &p));
    TN_TRY(tn_caffe_check_rank(layer, 4, false));
    if (layer->top_count > 1 && p.is_average)
        return tn_fail(TN_ERROR_FORMAT, "only pool: MAX has a second top");
    if (tn_prototext_bool(layer->params, "global_pooling", false)) return emit_global(layer, &p);
    TN_TRY(tn_caffe_window_read(layer->params, &p.window));
    for (uint32_t i = 0; i < 2; i++)
        if (p.window.pads[i] >= p.window.kernel[i])
            return tn_fail(TN_ERROR_RANGE, "pad %" PRId64 " is not below kernel_size %" PRId64,
                           p.window.pads[i], p.window.kernel[i]);
    choose_rounding(&p);
    tn_caffe_value shape = {.rank = 4};
    for (uint32_t i = 0; i < 4; i++) {
        const int64_t extent = tn_caffe_extent(x, i);
        shape.extents[i] = i < 2 ? extent : pooled_extent(&p, i - 2, extent);
    }
    const tn_emit_fields fields = pooling_fields(&p);
    if (layer->top_count > 1) return emit_with_indices(layer, &fields, &shape);
    return tn_caffe_top(layer, 0, p.is_average ? "AveragePool" : "MaxPool", &fields,
                        TN_TENSORS(x->tensor), &shape);
}

/* ----------------------------------------------------------------------------------------------
 * SPP */

/* Level `level` of the pyramid: 2^level windows along each axis, as wide as it takes. */
static tn_status read_level(const tn_caffe_layer *layer, uint32_t level, pooling *p) {
    const int64_t bins = INT64_C(1) << level;
    for (uint32_t i = 0; i < 2; i++) {
        const int64_t extent = layer->bottoms[0].extents[2 + i];
        p->window.kernel[i] = p->window.stride[i] = (extent + bins - 1) / bins;
        p->window.pads[i] = p->window.pads[2 + i] = (p->window.kernel[i] * bins - extent + 1) / 2;
        if (p->window.pads[i] >= p->window.kernel[i] || pooled_extent(p, i, extent) != bins)
            return tn_fail(TN_ERROR_SHAPE,
                           "an extent of %" PRId64 " does not divide into %" PRId64 " windows",
                           extent, bins);
    }
    return TN_OK;
}

/* Poolings with ever more windows, flattened and joined; of one level alone, the pooling itself. */
tn_status tn_caffe_read_spp(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    const int64_t height = tn_prototext_integer(layer->params, "pyramid_height", 0);
    const tn_emit_fields *axis = TN_EMIT(tn_emit_i64("axis", 1));
    int64_t cells = 0;
    pooling p = {.is_ceil = true};
    tn_import_tensor levels[10];
    if (height < 1 || height > (int64_t)TN_COUNT(levels))
        return tn_fail(TN_ERROR_RANGE, "pyramid_height is %" PRId64 "; from 1 to %u is expected",
                       height, TN_COUNT(levels));
    TN_TRY(read_method(layer, &p));
    TN_TRY(tn_caffe_require_rank(x));
    if (x->rank != 4 || x->extents[2] < 1 || x->extents[3] < 1 || x->extents[2] > INT32_MAX ||
        x->extents[3] > INT32_MAX)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "it is supported where height and width of its bottom are known");
    const char *op = p.is_average ? "AveragePool" : "MaxPool";
    tn_caffe_value shape = {.rank = 4, .extents = {x->extents[0], x->extents[1], 1, 1}};
    for (uint32_t i = 0; i < (uint32_t)height; i++) {
        TN_TRY(read_level(layer, i, &p));
        const tn_emit_fields fields = pooling_fields(&p);
        if (height == 1) return tn_caffe_top(layer, 0, op, &fields, TN_TENSORS(x->tensor), &shape);
        const tn_import_tensor pooled =
            tn_emit(layer->emit, "level", op, &fields, TN_TENSORS(x->tensor));
        levels[i] = tn_emit(layer->emit, "flat", "Flatten", axis, TN_TENSORS(pooled));
        cells += INT64_C(1) << (2 * i);
    }
    shape.rank = 2;
    shape.extents[1] = tn_caffe_multiply(x->extents[1], cells);
    return tn_caffe_top(layer, 0, "Concat", axis, (tn_emit_tensors){(uint32_t)height, levels},
                        &shape);
}
