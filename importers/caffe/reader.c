/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a Caffe network: the public calls, and the steps from two files' bytes to a sorted graph.
 * The description becomes a tree (prototext/, binary.c), the weights are unpacked by base/wire.h.
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
    return tn_missing_list_init(&reader->missing, reader->allocator, reader->arena);
}

static void reader_deinit(tn_caffe_reader *reader) {
    tn_missing_list_deinit(&reader->missing);
    tn_caffe_weights_destroy(reader, reader->own_weights);
    tn_caffe_weights_destroy(reader, reader->weights);
    tn_deallocate(reader->allocator, reader->values);
    tn_map_destroy(reader->param_owners);
    tn_map_destroy(reader->last_writers);
    tn_map_destroy(reader->blobs);
    tn_graph_destroy(reader->graph);
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
        return tn_caffe_weights_from_binary(reader, data, bytes, &reader->own_weights);
    return tn_caffe_weights_from_text(reader, network, &reader->own_weights);
}

/* The place of an error is the file that it is in, as far as that is known. */
typedef struct network_file {
    const char *path; /* null: memory */
    const void *data;
    size_t bytes;
} network_file;

static tn_status at_file(tn_status status, const network_file *file) {
    return file->path ? tn_error_at(status, "%s", file->path) : status;
}

static tn_status read_network(tn_caffe_reader *reader, const network_file *network,
                              const network_file *weights) {
    tn_status status = reader_init(reader);
    if (status == TN_OK && weights)
        status = at_file(
            tn_caffe_weights_create(reader, weights->data, weights->bytes, &reader->weights),
            weights);
    if (status != TN_OK) return status;
    status = read_tree(reader, network->data, network->bytes);
    if (status == TN_OK)
        status = tn_graph_create(reader->runtime, tn_prototext_text(reader->network, "name", ""),
                                 &reader->graph);
    if (status == TN_OK) status = tn_graph_set_opset(reader->graph, "", TN_CAFFE_OPSET);
    const tn_model_info info = {.size = sizeof(info), .source_format = "caffe"};
    if (status == TN_OK) status = tn_graph_import_model_info(reader->graph, &info);
    if (status == TN_OK) status = tn_caffe_network_read(reader);
    return at_file(status, network);
}

/* The part of a caller's options that he knows of. */
static tn_status copy_options(const tn_caffe_options *options, tn_caffe_options *out_options) {
    *out_options = (tn_caffe_options){.size = sizeof(*out_options)};
    if (!options) return TN_OK;
    if (options->size < sizeof(uint32_t) || options->size > UINT16_MAX)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_caffe_options: `size` is not set");
    memcpy(out_options, options,
           options->size < sizeof(*out_options) ? options->size : sizeof(*out_options));
    if ((out_options->stage_count > 0 && !out_options->stages) ||
        (out_options->open_input_count > 0 && !out_options->open_inputs))
        return tn_fail(TN_ERROR_ARGUMENT, "tn_caffe_options: a list of names is null");
    return TN_OK;
}

static tn_status parse(tn_runtime *runtime, const network_file *network,
                       const network_file *weights, const tn_caffe_options *options,
                       tn_graph **out_graph) {
    tn_caffe_options own;
    TN_TRY(copy_options(options, &own));
    tn_caffe_reader reader = {
        .runtime = runtime, .allocator = tn_runtime_allocator(runtime), .options = &own};
    tn_status status = read_network(&reader, network, weights);
    if (status == TN_OK) {
        *out_graph = reader.graph;
        reader.graph = NULL;
    }
    reader_deinit(&reader);
    return status;
}

tn_status tn_graph_parse_caffe(tn_runtime *runtime, const void *network, uint64_t network_bytes,
                               const void *weights, uint64_t weights_bytes,
                               const tn_caffe_options *options, tn_graph **out_graph) {
    if (!runtime || !out_graph || (network_bytes > 0 && !network))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_parse_caffe needs a runtime, a network and out_graph");
    network_file description = {.data = network, .bytes = (size_t)network_bytes};
    network_file model = {.data = weights, .bytes = (size_t)weights_bytes};
    return parse(runtime, &description, weights ? &model : NULL, options, out_graph);
}

tn_status tn_graph_load_caffe(tn_runtime *runtime, const char *network_path,
                              const char *weights_path, const tn_caffe_options *options,
                              tn_graph **out_graph) {
    if (!runtime || !network_path || !out_graph)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_load_caffe needs a runtime, a network's path and out_graph");
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_file network = {0}, weights = {0};
    tn_status status = tn_file_map(allocator, network_path, &network);
    if (status == TN_OK && weights_path) status = tn_file_map(allocator, weights_path, &weights);
    if (status == TN_OK) {
        network_file description = {network_path, network.data, network.bytes};
        network_file model = {weights_path, weights.data, weights.bytes};
        status = parse(runtime, &description, weights_path ? &model : NULL, options, out_graph);
    }
    tn_file_unmap(&weights);
    tn_file_unmap(&network);
    return status;
}
