/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network's inputs: layers of type Input, the older `input` with its shapes, and layers that read
 * data, which an engine gets from its caller instead. The first extent (the batch) is open, and all
 * extents of an input that the options list are.
 */
#include "base/status.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>
#include <string.h>

static bool is_open(const tn_caffe_reader *reader, const char *name) {
    for (uint64_t i = 0; i < reader->options->open_inputs.count; i++)
        if (strcmp(reader->options->open_inputs.items[i], name) == 0) return true;
    return false;
}

/* Inputs whose declared batch is that of the first input share one name for it. */
static const char *batch_name(tn_caffe_reader *reader, int64_t batch) {
    if (reader->import->services->input_count(reader->graph) == 0) reader->declared_batch = batch;
    return batch == reader->declared_batch ? "batch" : NULL;
}

static tn_status add_input(tn_caffe_reader *reader, const char *name, uint32_t rank,
                           const int64_t *extents) {
    tn_caffe_value value = {.rank = rank};
    const char *names[TN_MAX_RANK] = {NULL};
    uint64_t found_index;
    if (tn_map_get(reader->blobs, name, &found_index))
        return tn_fail(TN_ERROR_FORMAT, "input '%.200s' is there twice", name);
    for (uint32_t i = 0; i < rank; i++)
        value.extents[i] = i == 0 || is_open(reader, name) ? -1 : extents[i];
    if (rank > 0) names[0] = batch_name(reader, extents[0]);
    TN_TRY(tn_import_add_input(reader->graph, name, TN_F32, rank, value.extents, names,
                               &value.tensor));
    return tn_caffe_set_value(reader, name, &value);
}

static tn_status read_shape(const tn_prototext_message *shape, uint32_t *out_rank,
                            int64_t *extents) {
    size_t rank = tn_prototext_integers(shape, "dim", TN_MAX_RANK, extents);
    if (rank == 0 || rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "an input's shape has rank %zu; from 1 to %d is possible",
                       rank, TN_MAX_RANK);
    for (size_t i = 0; i < rank; i++)
        if (extents[i] < 1 && i > 0)
            return tn_fail(TN_ERROR_SHAPE, "extent %zu of an input's shape is %" PRId64, i,
                           extents[i]);
    *out_rank = (uint32_t)rank;
    return TN_OK;
}

tn_status tn_caffe_read_input(tn_caffe_layer *layer) {
    size_t count = tn_prototext_count(layer->params, "shape");
    const tn_prototext_field *shape = NULL;
    if (count != 1 && count != layer->top_count)
        return tn_fail(TN_ERROR_FORMAT,
                       "input_param has %zu shapes for %" PRIu32 " tops: one, or one each, is "
                       "expected",
                       count, layer->top_count);
    for (uint32_t i = 0; i < layer->top_count; i++) {
        uint32_t rank = 0;
        int64_t extents[TN_MAX_RANK];
        if (i == 0 || count > 1) shape = tn_prototext_message_next(layer->params, "shape", shape);
        TN_TRY(read_shape(shape->message, &rank, extents));
        TN_TRY(add_input(layer->reader, layer->top_names[i], rank, extents));
    }
    return TN_OK;
}

/* The shape of what a data layer gives, as far as the network says it. */
tn_status tn_caffe_read_data(tn_caffe_layer *layer) {
    const tn_prototext_message *transform = tn_prototext_child(layer->message, "transform_param");
    int64_t extents[4] = {-1, -1, -1, -1};
    if (strcmp(layer->type_name, "MemoryData") == 0) {
        extents[1] = tn_prototext_integer(layer->params, "channels", -1);
        extents[2] = tn_prototext_integer(layer->params, "height", -1);
        extents[3] = tn_prototext_integer(layer->params, "width", -1);
    }
    int64_t crop = tn_prototext_integer(transform, "crop_size", 0);
    if (crop > 0) extents[2] = extents[3] = crop;
    return add_input(layer->reader, layer->top_names[0], 4, extents);
}

/* `input_dim`: four an input. */
static tn_status read_old_shape(const tn_caffe_reader *reader, size_t index, int64_t *extents) {
    const tn_prototext_field *field = NULL;
    for (size_t i = 0; i < 4 * (index + 1); i++) {
        field = tn_prototext_message_next(reader->network, "input_dim", field);
        if (!field) return tn_fail(TN_ERROR_FORMAT, "input_dim has fewer than 4 numbers an input");
        if (i >= 4 * index) extents[i - 4 * index] = field->integer;
        if (field->integer < 1)
            return tn_fail(TN_ERROR_SHAPE, "an input_dim is %" PRId64, field->integer);
    }
    return TN_OK;
}

tn_status tn_caffe_inputs_read(tn_caffe_reader *reader) {
    const tn_prototext_field *input = NULL, *shape = NULL;
    size_t count = tn_prototext_count(reader->network, "input");
    size_t shapes = tn_prototext_count(reader->network, "input_shape");
    if (count > TN_CAFFE_PORTS)
        return tn_fail(TN_ERROR_FORMAT, "%zu inputs; at most %d are read", count, TN_CAFFE_PORTS);
    if (shapes > 0 && shapes != count)
        return tn_fail(TN_ERROR_FORMAT, "there are %zu fields 'input', but %zu 'input_shape'",
                       count, shapes);
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = 4;
        int64_t extents[TN_MAX_RANK];
        input = tn_prototext_message_next(reader->network, "input", input);
        if (shapes > 0) shape = tn_prototext_message_next(reader->network, "input_shape", shape);
        tn_status status =
            shape ? read_shape(shape->message, &rank, extents) : read_old_shape(reader, i, extents);
        if (status == TN_OK) status = add_input(reader, input->text, rank, extents);
        if (status != TN_OK) return tn_error_at(status, "input '%s'", input->text);
    }
    return TN_OK;
}
