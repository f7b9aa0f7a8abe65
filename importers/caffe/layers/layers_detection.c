/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SSD branch's Normalize, PriorBox and DetectionOutput: operators of the domain Caffe, whose
 * fields have the names of the layers' own. And DeepLab's Interp, which is a resize.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>
#include <string.h>

/* Parameters that are fields of the operator by the same name: none where it is not given. */
static tn_attribute copy_integer(const tn_prototext_message *params, const char *name) {
    if (!tn_prototext_has(params, name)) return tn_emit_no_field();
    return tn_emit_i64(name, tn_prototext_integer(params, name, 0));
}

static tn_attribute copy_bool(const tn_prototext_message *params, const char *name) {
    if (!tn_prototext_has(params, name)) return tn_emit_no_field();
    return tn_emit_i64(name, tn_prototext_bool(params, name, false));
}

static tn_attribute copy_number(const tn_prototext_message *params, const char *name) {
    if (!tn_prototext_has(params, name)) return tn_emit_no_field();
    return tn_emit_f64(name, tn_prototext_number(params, name, 0));
}

static tn_attribute copy_text(const tn_prototext_message *params, const char *name) {
    if (!tn_prototext_has(params, name)) return tn_emit_no_field();
    return tn_emit_text(name, tn_prototext_text(params, name, ""));
}

/* The numbers of a repeated field, in the arena. */
static tn_attribute copy_numbers(const tn_caffe_layer *layer, const char *name) {
    const size_t count = tn_prototext_count(layer->params, name);
    const tn_prototext_field *field = NULL;
    float *values = tn_arena_allocate(layer->reader->arena, count, sizeof(*values));
    if (!values) tn_emit_keep(layer->emit, tn_fail_memory("a layer"));
    if (!values || count == 0) return tn_emit_no_field();
    for (size_t i = 0; i < count; i++) {
        double value = 0;
        field = tn_prototext_message_next(layer->params, name, field);
        (void)tn_prototext_field_number(field, &value);
        values[i] = (float)value;
    }
    return TN_EMIT_FIELD(TN_FIELD_F32S, name, .count = count, .items = values);
}

tn_status tn_caffe_read_normalize(tn_caffe_layer *layer) {
    const tn_prototext_message *params = layer->params;
    const tn_caffe_value *x = &layer->bottoms[0];
    const bool is_shared = tn_prototext_bool(params, "channel_shared", true);
    int64_t scale_count = is_shared ? 1 : tn_caffe_extent(x, 1);
    tn_import_tensor scales;
    TN_TRY(tn_caffe_blob_constant(layer, 0, 1, &scale_count, 0, &scales));
    const tn_emit_fields fields = {.domain = "Caffe",
                                   .items = {copy_bool(params, "across_spatial"),
                                             copy_bool(params, "channel_shared"),
                                             copy_number(params, "eps")}};
    return tn_caffe_top(layer, 0, "Normalize", &fields, TN_TENSORS(x->tensor, scales), x);
}

tn_status tn_caffe_read_prior_box(tn_caffe_layer *layer) {
    const tn_prototext_message *params = layer->params;
    const tn_caffe_value shape = {.rank = 3, .extents = {1, 2, -1}};
    const tn_emit_fields fields = {
        .domain = "Caffe",
        .items = {copy_numbers(layer, "min_size"), copy_numbers(layer, "max_size"),
                  copy_numbers(layer, "aspect_ratio"), copy_numbers(layer, "variance"),
                  copy_bool(params, "flip"), copy_bool(params, "clip"),
                  copy_integer(params, "img_size"), copy_integer(params, "img_h"),
                  copy_integer(params, "img_w"), copy_number(params, "step"),
                  copy_number(params, "step_h"), copy_number(params, "step_w"),
                  copy_number(params, "offset")}};
    return tn_caffe_top(layer, 0, "PriorBox", &fields, layer->bottom_tensors, &shape);
}

tn_status tn_caffe_read_detection_output(tn_caffe_layer *layer) {
    const tn_prototext_message *params = layer->params;
    const tn_prototext_message *nms = tn_prototext_child(params, "nms_param");
    const tn_caffe_value shape = {.rank = 4, .extents = {1, 1, -1, 7}};
    const tn_emit_fields fields = {
        .domain = "Caffe",
        .items = {copy_integer(params, "num_classes"), copy_bool(params, "share_location"),
                  copy_integer(params, "background_label_id"), copy_number(nms, "nms_threshold"),
                  copy_integer(nms, "top_k"), copy_number(nms, "eta"),
                  copy_text(params, "code_type"), copy_integer(params, "keep_top_k"),
                  copy_bool(params, "variance_encoded_in_target"),
                  copy_number(params, "confidence_threshold")}};
    return tn_caffe_top(layer, 0, "DetectionOutput", &fields, layer->bottom_tensors, &shape);
}

/* ----------------------------------------------------------------------------------------------
 * Interp */

/* Height or width after the layer: given, or shrunk and then enlarged. */
static tn_status new_extent(const tn_prototext_message *params, const char *name, int64_t extent,
                            int64_t *out_extent) {
    int64_t given = tn_prototext_integer(params, name, 0);
    int64_t shrink = tn_prototext_integer(params, "shrink_factor", 1);
    int64_t zoom = tn_prototext_integer(params, "zoom_factor", 1);
    if (shrink < 1 || zoom < 1)
        return tn_fail(TN_ERROR_RANGE, "zoom_factor and shrink_factor are at least 1");
    if (given > 0) {
        *out_extent = given;
        return TN_OK;
    }
    if (extent < 1 || extent > INT32_MAX)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "factors are supported where height and width of its bottom are known");
    *out_extent = (extent - 1) / shrink + 1;
    *out_extent += (*out_extent - 1) * (zoom - 1);
    return TN_OK;
}

/* The sizes of all axes: the bottom's first two, and these. */
static tn_import_tensor emit_sizes(const tn_caffe_layer *layer, const int64_t *extents) {
    static const int64_t bounds[] = {0, 2};
    tn_emitter *emit = layer->emit;
    const tn_import_tensor shape = tn_emit_unary(emit, "shape", "Shape", layer->bottoms[0].tensor);
    const tn_import_tensor from = tn_emit_list(emit, "from", 1, &bounds[0]);
    const tn_import_tensor to = tn_emit_list(emit, "to", 1, &bounds[1]);
    const tn_import_tensor kept = tn_emit(emit, "kept", "Slice", NULL, TN_TENSORS(shape, from, to));
    const tn_import_tensor given = tn_emit_list(emit, "extents", 2, extents);
    return tn_emit(emit, "sizes", "Concat", TN_EMIT(tn_emit_i64("axis", 0)),
                   TN_TENSORS(kept, given));
}

/* Bilinear, corners on corners. */
tn_status tn_caffe_read_interp(tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_value shape = *x;
    TN_TRY(tn_caffe_require_rank(x));
    TN_TRY(tn_caffe_check_rank(layer, 4, false));
    if (tn_prototext_integer(layer->params, "pad_beg", 0) != 0 ||
        tn_prototext_integer(layer->params, "pad_end", 0) != 0)
        return tn_fail(TN_ERROR_UNSUPPORTED, "pad_beg and pad_end are not supported");
    TN_TRY(new_extent(layer->params, "height", x->extents[2], &shape.extents[2]));
    TN_TRY(new_extent(layer->params, "width", x->extents[3], &shape.extents[3]));
    const tn_import_tensor sizes = emit_sizes(layer, &shape.extents[2]);
    return tn_caffe_top(layer, 0, "Resize",
                        TN_EMIT(tn_emit_text("mode", "linear"),
                                tn_emit_text("coordinate_transformation_mode", "align_corners")),
                        TN_TENSORS(x->tensor, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR, sizes),
                        &shape);
}
