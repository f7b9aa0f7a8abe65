/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SSD branch's Normalize, PriorBox and DetectionOutput: operators of the domain Caffe, whose
 * fields have the names of the layers' own. And DeepLab's Interp, which is a resize.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"

#include <inttypes.h>
#include <string.h>

/* The numbers of a repeated field; *out_values in the arena. */
static tn_status read_floats(tn_caffe_reader *reader, const tn_prototext_message *message,
                             const char *name, size_t *out_count, float **out_values) {
    size_t count = tn_prototext_count(message, name);
    const tn_prototext_field *field = NULL;
    float *values = tn_arena_allocate(reader->arena, count, sizeof(*values));
    if (!values) return tn_fail_memory("a layer");
    for (size_t i = 0; i < count; i++) {
        double value = 0;
        field = tn_prototext_message_next(message, name, field);
        (void)tn_prototext_field_number(field, &value);
        values[i] = (float)value;
    }
    *out_count = count;
    *out_values = values;
    return TN_OK;
}

static tn_status add_float_list(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                                const char *name, tn_caffe_attributes *attributes) {
    size_t count;
    float *values;
    TN_TRY(read_floats(reader, layer->params, name, &count, &values));
    if (count > 0) tn_caffe_add_floats(attributes, name, count, values);
    return TN_OK;
}

static void copy_bool(const tn_prototext_message *params, const char *name,
                      tn_caffe_attributes *attributes) {
    if (tn_prototext_has(params, name))
        tn_caffe_add_integer(attributes, name, tn_prototext_bool(params, name, false));
}

static void copy_integer(const tn_prototext_message *params, const char *name,
                         tn_caffe_attributes *attributes) {
    if (tn_prototext_has(params, name))
        tn_caffe_add_integer(attributes, name, tn_prototext_integer(params, name, 0));
}

static void copy_float(const tn_prototext_message *params, const char *name,
                       tn_caffe_attributes *attributes) {
    if (tn_prototext_has(params, name))
        tn_caffe_add_float(attributes, name, tn_prototext_number(params, name, 0));
}

tn_status tn_caffe_read_normalize(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    bool is_shared = tn_prototext_bool(layer->params, "channel_shared", true);
    int64_t scales =
        is_shared || x->rank == UINT32_MAX || x->rank < 2 ? is_shared ? 1 : -1 : x->extents[1];
    tn_import_tensor inputs[2] = {x->tensor, TN_IMPORT_NO_TENSOR};
    tn_caffe_attributes attributes = {0};
    TN_TRY(tn_caffe_blob_constant(reader, layer, 0, 1, &scales, 0, NULL, &inputs[1]));
    copy_bool(layer->params, "across_spatial", &attributes);
    copy_bool(layer->params, "channel_shared", &attributes);
    copy_float(layer->params, "eps", &attributes);
    return tn_caffe_top(reader, layer, 0, "Caffe", "Normalize", &attributes, 2, inputs, x);
}

tn_status tn_caffe_read_prior_box(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    static const char *const lists[] = {"min_size", "max_size", "aspect_ratio", "variance"};
    static const char *const integers[] = {"img_size", "img_h", "img_w"};
    static const char *const floats[] = {"step", "step_h", "step_w", "offset"};
    tn_import_tensor inputs[2] = {layer->bottoms[0].tensor, layer->bottoms[1].tensor};
    tn_caffe_value shape = {.rank = 3, .extents = {1, 2, -1}};
    tn_caffe_attributes attributes = {0};
    for (size_t i = 0; i < TN_COUNT(lists); i++)
        TN_TRY(add_float_list(reader, layer, lists[i], &attributes));
    copy_bool(layer->params, "flip", &attributes);
    copy_bool(layer->params, "clip", &attributes);
    for (size_t i = 0; i < TN_COUNT(integers); i++)
        copy_integer(layer->params, integers[i], &attributes);
    for (size_t i = 0; i < TN_COUNT(floats); i++)
        copy_float(layer->params, floats[i], &attributes);
    return tn_caffe_top(reader, layer, 0, "Caffe", "PriorBox", &attributes, 2, inputs, &shape);
}

tn_status tn_caffe_read_detection_output(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_prototext_message *params = layer->params,
                               *nms = tn_prototext_child(params, "nms_param");
    tn_import_tensor inputs[3];
    tn_caffe_value shape = {.rank = 4, .extents = {1, 1, -1, 7}};
    tn_caffe_attributes attributes = {0};
    for (uint32_t i = 0; i < 3; i++)
        inputs[i] = layer->bottoms[i].tensor;
    copy_integer(params, "num_classes", &attributes);
    copy_bool(params, "share_location", &attributes);
    copy_integer(params, "background_label_id", &attributes);
    copy_float(nms, "nms_threshold", &attributes);
    copy_integer(nms, "top_k", &attributes);
    copy_float(nms, "eta", &attributes);
    if (tn_prototext_has(params, "code_type"))
        tn_caffe_add_text(&attributes, "code_type", tn_prototext_text(params, "code_type", ""));
    copy_integer(params, "keep_top_k", &attributes);
    copy_bool(params, "variance_encoded_in_target", &attributes);
    copy_float(params, "confidence_threshold", &attributes);
    return tn_caffe_top(reader, layer, 0, "Caffe", "DetectionOutput", &attributes, 3, inputs,
                        &shape);
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
static tn_status emit_sizes(tn_caffe_reader *reader, tn_caffe_layer *layer, const int64_t *extents,
                            tn_import_tensor *out_sizes) {
    static const int64_t bounds[] = {0, 2};
    tn_import_tensor slice[3], parts[2];
    tn_caffe_attributes join = {0};
    TN_TRY(tn_caffe_inner(reader, layer, "shape", "", "Shape", NULL, 1, &layer->bottoms[0].tensor,
                          &slice[0]));
    TN_TRY(tn_caffe_index_list(reader, layer, "from", 1, &bounds[0], &slice[1]));
    TN_TRY(tn_caffe_index_list(reader, layer, "to", 1, &bounds[1], &slice[2]));
    TN_TRY(tn_caffe_inner(reader, layer, "kept", "", "Slice", NULL, 3, slice, &parts[0]));
    TN_TRY(tn_caffe_index_list(reader, layer, "extents", 2, extents, &parts[1]));
    tn_caffe_add_integer(&join, "axis", 0);
    return tn_caffe_inner(reader, layer, "sizes", "", "Concat", &join, 2, parts, out_sizes);
}

/* Bilinear, corners on corners. */
tn_status tn_caffe_read_interp(tn_caffe_reader *reader, tn_caffe_layer *layer) {
    const tn_caffe_value *x = &layer->bottoms[0];
    tn_caffe_value shape = *x;
    tn_caffe_attributes attributes = {0};
    tn_import_tensor inputs[4] = {x->tensor, TN_IMPORT_NO_TENSOR, TN_IMPORT_NO_TENSOR,
                                  TN_IMPORT_NO_TENSOR};
    TN_TRY(tn_caffe_require_rank(x));
    if (x->rank != 4)
        return tn_fail(TN_ERROR_SHAPE, "its bottom has rank %" PRIu32 "; 4 is expected", x->rank);
    if (tn_prototext_integer(layer->params, "pad_beg", 0) != 0 ||
        tn_prototext_integer(layer->params, "pad_end", 0) != 0)
        return tn_fail(TN_ERROR_UNSUPPORTED, "pad_beg and pad_end are not supported");
    TN_TRY(new_extent(layer->params, "height", x->extents[2], &shape.extents[2]));
    TN_TRY(new_extent(layer->params, "width", x->extents[3], &shape.extents[3]));
    TN_TRY(emit_sizes(reader, layer, &shape.extents[2], &inputs[3]));
    tn_caffe_add_text(&attributes, "mode", "linear");
    tn_caffe_add_text(&attributes, "coordinate_transformation_mode", "align_corners");
    return tn_caffe_top(reader, layer, 0, "", "Resize", &attributes, 4, inputs, &shape);
}
