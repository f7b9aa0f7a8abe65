/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of weights, and weights inside the description: blobs by the name of their layer, the
 * file's first. Each is compared with the shape that its layer takes before it is used. Layers of
 * the file that the network does not have (those of training) are left alone.
 */
#include "base/status.h"
#include "base/wire.h"
#include "importers/caffe/blob.h"
#include "importers/caffe/layer.h"

#include <inttypes.h>
#include <string.h>

typedef struct weight_blob {
    tn_caffe_blob *message;
    tn_shape shape;
    const float *data;
    bool is_read;
} weight_blob;

typedef struct weight_layer {
    const char *name;
    size_t blob_count;
    weight_blob *blobs;
} weight_layer;

struct tn_caffe_weights {
    ProtobufCMessage *message;
    tn_map *names; /* index in `layers` */
    weight_layer *layers;
    size_t layer_count;
};

static tn_status add_layer(tn_caffe_reader *reader, tn_caffe_weights *weights, const char *name,
                           size_t blob_count, tn_caffe_blob **blobs) {
    if (!name || blob_count == 0) return TN_OK;
    weight_layer *layer = &weights->layers[weights->layer_count];
    layer->name = name;
    layer->blob_count = blob_count;
    layer->blobs = tn_arena_allocate(reader->arena, blob_count, sizeof(*layer->blobs));
    if (!layer->blobs) return tn_fail_memory("the weights");
    for (size_t i = 0; i < blob_count; i++)
        layer->blobs[i].message = blobs[i];
    return tn_map_set(weights->names, name, weights->layer_count++);
}

static tn_status index_layers(tn_caffe_reader *reader, tn_caffe_weights *weights) {
    const Tenon__Caffe__Weights__Model *model =
        (const Tenon__Caffe__Weights__Model *)weights->message;
    TN_TRY(tn_map_create(reader->allocator, &weights->names));
    weights->layers = tn_arena_allocate(reader->arena, model->n_layers + model->n_layer,
                                        sizeof(*weights->layers));
    if (!weights->layers) return tn_fail_memory("the weights");
    for (size_t i = 0; i < model->n_layers; i++) {
        const Tenon__Caffe__Weights__OldLayer *layer = model->layers[i];
        if (layer->has_layer)
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "the weights are in Caffe's oldest form; upgrade the file with "
                           "Caffe's upgrade_net_proto_binary");
        TN_TRY(add_layer(reader, weights, layer->name, layer->n_blobs, layer->blobs));
    }
    for (size_t i = 0; i < model->n_layer; i++) {
        const Tenon__Caffe__Weights__Layer *layer = model->layer[i];
        TN_TRY(add_layer(reader, weights, layer->name, layer->n_blobs, layer->blobs));
    }
    return TN_OK;
}

tn_status tn_caffe_weights_create(tn_caffe_reader *reader, const void *data, size_t bytes,
                                  tn_caffe_weights **out_weights) {
    tn_caffe_weights *weights = tn_arena_allocate(reader->arena, 1, sizeof(*weights));
    if (!weights) return tn_fail_memory("the weights");
    *out_weights = weights; /* the reader's, also when the rest fails */
    TN_TRY(tn_wire_unpack(reader->allocator, &tenon__caffe__weights__model__descriptor, data, bytes,
                          &weights->message));
    return index_layers(reader, weights);
}

tn_status tn_caffe_weights_check(const tn_caffe_weights *weights) {
    if (weights->layer_count > 0) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT, "the file holds no weights: is it a Caffe model?");
}

static bool has_blobs(const tn_prototext_message *network, const char *layers) {
    const tn_prototext_field *layer = NULL;
    while ((layer = tn_prototext_message_next(network, layers, layer)))
        if (layer->message && tn_prototext_has(layer->message, "blobs")) return true;
    return false;
}

tn_status tn_caffe_weights_from_text(tn_caffe_reader *reader, tn_prototext_message *network,
                                     tn_caffe_weights **out_weights) {
    const ProtobufCMessageDescriptor *schema = &tenon__caffe__weights__model__descriptor;
    void *data;
    size_t bytes;
    if (!has_blobs(network, "layer") && !has_blobs(network, "layers")) return TN_OK;
    TN_TRY(tn_prototext_schema_check(network, schema, TN_PROTOTEXT_KNOWN_ONLY));
    TN_TRY(tn_prototext_encode(reader->allocator, network, schema, &data, &bytes));
    const tn_status status = tn_caffe_weights_create(reader, data, bytes, out_weights);
    tn_deallocate(reader->allocator, data);
    return status;
}

void tn_caffe_weights_destroy(const tn_caffe_reader *reader, tn_caffe_weights *weights) {
    if (!weights) return;
    tn_map_destroy(weights->names);
    tn_wire_free(reader->allocator, weights->message);
}

/* ----------------------------------------------------------------------------------------------
 * finding */

static weight_layer *find_layer(const tn_caffe_reader *reader, const char *name) {
    const tn_caffe_weights *const both[] = {reader->weights, reader->own_weights};
    uint64_t found_index;
    for (size_t i = 0; i < TN_COUNT(both); i++)
        if (both[i] && tn_map_get(both[i]->names, name, &found_index))
            return &both[i]->layers[found_index];
    return NULL;
}

uint32_t tn_caffe_blob_count(const tn_caffe_layer *layer) {
    const weight_layer *found = find_layer(layer->reader, layer->name);
    return !found ? 0 : found->blob_count > UINT32_MAX ? UINT32_MAX : (uint32_t)found->blob_count;
}

/* The name by which a layer shares its blob `index`, or "". */
static const char *shared_name(const tn_caffe_layer *layer, uint32_t index) {
    const tn_prototext_field *field = NULL;
    for (uint32_t i = 0; i <= index; i++) {
        field = tn_prototext_message_next(layer->message, "param", field);
        if (!field) return "";
    }
    return field->message ? tn_prototext_text(field->message, "name", "") : field->text;
}

/* The blob of the layer that owns a shared one, or null. */
static weight_blob *find_shared(const tn_caffe_layer *layer, uint32_t index) {
    const tn_caffe_reader *reader = layer->reader;
    const char *name = shared_name(layer, index);
    uint64_t owner;
    if (!*name || !tn_map_get(reader->param_owners, name, &owner)) return NULL;
    const weight_layer *found = find_layer(reader, reader->layers[owner / TN_CAFFE_BLOBS].name);
    size_t found_index = (size_t)(owner % TN_CAFFE_BLOBS);
    return found && found_index < found->blob_count ? &found->blobs[found_index] : NULL;
}

static tn_status fail_missing(const tn_caffe_layer *layer, uint32_t index) {
    const tn_caffe_reader *reader = layer->reader;
    const weight_layer *found = find_layer(reader, layer->name);
    tn_nearest nearest;
    if (!reader->weights && !found)
        return tn_fail(TN_ERROR_NOT_FOUND,
                       "it has weights, but no file of weights (.caffemodel) is given");
    if (found)
        return tn_fail(TN_ERROR_FORMAT,
                       "the weights' file has %zu blobs for it; blob %" PRIu32 " is missing",
                       found->blob_count, index);
    tn_nearest_init(&nearest, layer->name);
    for (size_t i = 0; i < reader->weights->layer_count; i++)
        tn_nearest_offer(&nearest, reader->weights->layers[i].name);
    return tn_error_mend_nearest(
        tn_fail(TN_ERROR_NOT_FOUND, "the weights' file has no layer of its name"), "; ",
        nearest.best);
}

static tn_status read_blob(tn_caffe_layer *layer, uint32_t index, weight_blob **out_blob) {
    const weight_layer *found = find_layer(layer->reader, layer->name);
    weight_blob *blob =
        found && index < found->blob_count ? &found->blobs[index] : find_shared(layer, index);
    if (!blob) return fail_missing(layer, index);
    if (layer->used_blobs <= index) layer->used_blobs = index + 1;
    if (!blob->is_read) {
        TN_TRY(tn_caffe_blob_shape(blob->message, &blob->shape));
        TN_TRY(tn_caffe_blob_data(layer->reader->graph, blob->message, &blob->shape, &blob->data));
        blob->is_read = true;
    }
    *out_blob = blob;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * comparing */

/* Whether extents are the same from the right; those that are more are 1. Fills in unknown ones. */
static bool match(uint32_t rank, int64_t *extents, const tn_shape *found) {
    uint32_t most = rank > found->rank ? rank : found->rank;
    for (uint32_t i = 0; i < most; i++) {
        int64_t *wanted = i < rank ? &extents[rank - 1 - i] : NULL;
        int64_t has = i < found->rank ? found->extents[found->rank - 1 - i] : 1;
        if (wanted && *wanted < 0) *wanted = has;
        if ((wanted ? *wanted : 1) != has) return false;
    }
    return true;
}

static tn_status blob_read(tn_caffe_layer *layer, uint32_t index, uint32_t rank, int64_t *extents,
                           const float **out_data) {
    char expected[TN_SHAPE_TEXT_BYTES], has[TN_SHAPE_TEXT_BYTES];
    weight_blob *blob = NULL;
    TN_TRY(read_blob(layer, index, &blob));
    tn_shape_print(rank, extents, expected, sizeof(expected));
    if (!match(rank, extents, &blob->shape))
        return tn_fail(TN_ERROR_SHAPE, "its shape is %s; %s is expected",
                       tn_shape_print(blob->shape.rank, blob->shape.extents, has, sizeof(has)),
                       expected);
    *out_data = blob->data;
    return TN_OK;
}

tn_status tn_caffe_blob_read(tn_caffe_layer *layer, uint32_t index, uint32_t rank, int64_t *extents,
                             const float **out_data) {
    return tn_error_at(blob_read(layer, index, rank, extents, out_data), "blob %" PRIu32, index);
}

tn_status tn_caffe_blob_constant(tn_caffe_layer *layer, uint32_t index, uint32_t rank,
                                 int64_t *extents, uint32_t ones, tn_import_tensor *out_tensor) {
    const float *data = NULL;
    int64_t shape[TN_MAX_RANK];
    const char *part = tn_arena_format(layer->reader->arena, "blobs[%" PRIu32 "]", index);
    if (!part) return tn_fail_memory("a constant");
    TN_TRY(tn_caffe_blob_read(layer, index, rank, extents, &data));
    for (uint32_t i = 0; i < rank + ones; i++)
        shape[i] = i < rank ? extents[i] : 1;
    *out_tensor = tn_emit_lent(layer->emit, part, TN_F32, rank + ones, shape, data);
    return layer->emit->status;
}

tn_status tn_caffe_blob_any(tn_caffe_layer *layer, uint32_t index, tn_shape *out_shape,
                            const float **out_data) {
    weight_blob *blob = NULL;
    TN_TRY(tn_error_at(read_blob(layer, index, &blob), "blob %" PRIu32, index));
    *out_shape = blob->shape;
    *out_data = blob->data;
    return TN_OK;
}
