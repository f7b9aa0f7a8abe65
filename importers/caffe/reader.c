/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a Caffe network: the importers' tables, and the steps from two files' bytes to a sorted
 * graph. The description becomes a tree (prototext/, binary.c), the weights are unpacked by
 * base/wire.h.
 */
#include "base/status.h"
#include "importers/caffe/caffe.h"
#include "importers/caffe/net.pb-c.h"

#include <string.h>

static tn_status reader_init(tn_caffe_reader *reader) {
    TN_TRY(tn_arena_create(reader->allocator, &reader->arena));
    TN_TRY(tn_map_create(reader->allocator, &reader->blobs));
    TN_TRY(tn_map_create(reader->allocator, &reader->last_writers));
    TN_TRY(tn_map_create(reader->allocator, &reader->param_owners));
    reader->emit = (tn_emitter){
        .graph = reader->graph, .arena = reader->arena, .reserved = reader->last_writers};
    return TN_OK;
}

static void reader_deinit(tn_caffe_reader *reader) {
    tn_caffe_weights_destroy(reader, reader->own_weights);
    tn_caffe_weights_destroy(reader, reader->weights);
    tn_deallocate(reader->allocator, reader->values);
    tn_map_destroy(reader->param_owners);
    tn_map_destroy(reader->last_writers);
    tn_map_destroy(reader->blobs);
    tn_arena_destroy(reader->arena);
}

static tn_status read_tree(tn_caffe_reader *reader, const void *data, size_t bytes) {
    tn_prototext_message *network = NULL;
    reader->is_binary = tn_caffe_is_binary(data, bytes);
    if (reader->is_binary)
        TN_TRY(tn_caffe_binary_read(reader->arena, &tenon__caffe__net__net_parameter__descriptor,
                                    data, bytes, &network));
    else
        TN_TRY(tn_prototext_read(reader->arena, reader->allocator, data, bytes, false, &network));
    reader->network = network;
    TN_TRY(tn_prototext_schema_check(network, &tenon__caffe__net__net_parameter__descriptor,
                                     TN_PROTOTEXT_LAYERS_LATER));
    if (reader->is_binary)
        return tn_caffe_weights_create(reader, data, bytes, &reader->own_weights);
    return tn_caffe_weights_from_text(reader, network, &reader->own_weights);
}

/* A file of weights. */
typedef struct network_file {
    const char *path; /* null: memory */
    const void *data;
    size_t bytes;
} network_file;

static tn_status read_weights(tn_caffe_reader *reader, const network_file *file) {
    TN_TRY(tn_caffe_weights_create(reader, file->data, file->bytes, &reader->weights));
    return tn_caffe_weights_check(reader->weights);
}

static tn_status read_network(tn_caffe_reader *reader, const network_file *weights) {
    const tn_import_services *services = reader->import->services;
    TN_TRY(reader_init(reader));
    if (weights->path || weights->data)
        TN_TRY(tn_error_in(read_weights(reader, weights), .file = weights->path));
    TN_TRY(read_tree(reader, reader->import->data, (size_t)reader->import->bytes));
    TN_TRY(services->set_name(reader->graph, tn_prototext_text(reader->network, "name", "")));
    TN_TRY(services->set_opset(reader->graph, "", TN_CAFFE_OPSET));
    return tn_caffe_network_read(reader);
}

/* The weights that the options name, or give; of neither there is no data. */
static tn_status open_weights(tn_import *import, network_file *out_file) {
    const tn_caffe_options *options = import->params;
    const tn_bytes *given = &options->weights_data;
    tn_import_file opened = {.size = sizeof(opened)};
    if (options->weights && given->items)
        return tn_fail(TN_ERROR_ARGUMENT, "the weights come from a file or from memory, not both");
    if (options->weights)
        TN_TRY(import->services->open(import, options->weights, TN_IMPORT_ANYWHERE, &opened));
    *out_file = options->weights
                    ? (network_file){options->weights, opened.data, (size_t)opened.bytes}
                    : (network_file){NULL, given->items, (size_t)given->count};
    return TN_OK;
}

static tn_status read_in(tn_import *import) {
    const tn_allocator allocator = tn_import_allocator(import);
    network_file weights;
    TN_TRY(open_weights(import, &weights));
    tn_caffe_reader reader = {.import = import,
                              .allocator = &allocator,
                              .options = import->params,
                              .graph = import->graph};
    const tn_status status = read_network(&reader, &weights);
    reader_deinit(&reader);
    return status;
}

static tn_status read_caffe(tn_import *import) {
    return tn_import_read(import, read_in);
}

/* ----------------------------------------------------------------------------------------------
 * the tables */

static const tn_field caffe_options[] = {
    TN_FIELD(tn_caffe_options, weights, TN_FIELD_STRING, TN_OPTIONAL, NULL,
             "the file with the network's weights (.caffemodel)"),
    TN_FIELD(tn_caffe_options, weights_data, TN_FIELD_BYTES, TN_OPTIONAL, NULL,
             "the same from memory"),
    TN_FIELD(tn_caffe_options, stages, TN_FIELD_STRINGS, TN_OPTIONAL, NULL,
             "stages of the network's state, beside its own"),
    TN_FIELD(tn_caffe_options, level, TN_FIELD_I32, TN_OPTIONAL, "0",
             "level of the network's state; 0: what the network says itself"),
    TN_FIELD(tn_caffe_options, open_inputs, TN_FIELD_STRINGS, TN_OPTIONAL, NULL,
             "inputs of which all extents come with the profile"),
};

static const tn_importer caffe = {.size = sizeof(tn_importer),
                                  .name = "caffe",
                                  .what = "a Caffe network",
                                  .doc = "Caffe's descriptions of networks, as text or in binary "
                                         "form, in the phase TEST",
                                  .endings = ".prototxt",
                                  TN_FIELDS(tn_caffe_options, caffe_options),
                                  .read = read_caffe};
static const tn_importer *const importers[] = {&caffe, &tn_caffe_mean_importer};
TN_IMPORTER_LIBRARY("tenon_caffe", "1.0", importers)
