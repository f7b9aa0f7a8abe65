/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading an ONNX model: the public calls, and the steps from bytes to a sorted graph. The bytes
 * are checked and unpacked by base/wire.h; the model's parts are read by the other files here.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"
#include "base/wire.h"

#include <string.h>

/* Functions may expand a model to this many nodes, and this many times its own. */
#define NODES_BASE   65536u
#define NODES_FACTOR 64u

static tn_status reader_init(tn_onnx_reader *reader) {
    TN_TRY(tn_arena_create(reader->allocator, &reader->arena));
    TN_TRY(tn_map_create(reader->allocator, &reader->functions));
    TN_TRY(tn_map_create(reader->allocator, &reader->files));
    TN_TRY(tn_map_create(reader->allocator, &reader->tensors));
    return tn_missing_list_init(&reader->missing, reader->allocator, reader->arena);
}

static void reader_deinit(tn_onnx_reader *reader) {
    tn_deallocate(reader->allocator, reader->shared);
    tn_missing_list_deinit(&reader->missing);
    tn_map_destroy(reader->tensors);
    tn_map_destroy(reader->files);
    tn_map_destroy(reader->functions);
    tn_arena_destroy(reader->arena);
    tn_graph_destroy(reader->root);
}

static void count_nodes(tn_onnx_reader *reader) {
    uint64_t count = reader->model->graph->n_node;
    for (size_t i = 0; i < reader->model->n_functions; i++)
        count += reader->model->functions[i]->n_node;
    reader->nodes_left = NODES_BASE + NODES_FACTOR * count;
}

/* The graph remembers the model's opsets, for nodes that are added to it later. */
static tn_status keep_opsets(tn_onnx_reader *reader) {
    for (size_t i = 0; i < reader->model->n_opset_import; i++) {
        const tn_onnx_opset *opset = reader->model->opset_import[i];
        TN_TRY(tn_graph_set_opset(reader->graph, opset->domain, (uint32_t)opset->version));
    }
    return TN_OK;
}

/* What the model says of itself, for people and programs that read it from the graph or the plan.
 */
static tn_status keep_info(tn_onnx_reader *reader) {
    const tn_onnx_model *model = reader->model;
    tn_model_info info = {.size = sizeof(info),
                          .producer_name = model->producer_name,
                          .producer_version = model->producer_version,
                          .domain = model->domain,
                          .doc = model->doc_string && *model->doc_string ? model->doc_string
                                                                         : model->graph->doc_string,
                          .source_format = "onnx",
                          .model_version = model->has_model_version ? model->model_version : 0,
                          .metadata_count = model->n_metadata_props};
    tn_metadata *entries =
        tn_arena_allocate(reader->arena, model->n_metadata_props, sizeof(*entries));
    if (!entries) return tn_fail_memory("a model's metadata");
    for (size_t i = 0; i < model->n_metadata_props; i++)
        entries[i] = (tn_metadata){model->metadata_props[i]->key, model->metadata_props[i]->value};
    info.metadata = entries;
    return tn_graph_import_model_info(reader->graph, &info);
}

static tn_status read_model(tn_onnx_reader *reader) {
    const tn_onnx_model *model = reader->model;
    if (!model->graph)
        return tn_fail(TN_ERROR_FORMAT, "the file holds no graph: is it an ONNX model?");
    TN_TRY(reader_init(reader));
    TN_TRY(tn_onnx_opsets_check(model->n_opset_import, model->opset_import));
    TN_TRY(tn_onnx_functions_index(reader));
    count_nodes(reader);
    const char *name = model->graph->name ? model->graph->name : "";
    TN_TRY(tn_graph_create(reader->runtime, name, &reader->graph));
    reader->root = reader->graph;
    TN_TRY(keep_opsets(reader));
    TN_TRY(keep_info(reader));
    return tn_onnx_model_graph_read(reader);
}

tn_status tn_graph_parse_onnx(tn_runtime *runtime, const void *data, uint64_t bytes,
                              const char *folder, tn_graph **out_graph) {
    if (!runtime || !out_graph || (bytes > 0 && !data))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_parse_onnx needs a runtime, data and out_graph");
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    ProtobufCMessage *message;
    TN_TRY(tn_wire_unpack(allocator, &tenon__onnx__model_proto__descriptor, data, (size_t)bytes,
                          &message));
    tn_onnx_reader reader = {.runtime = runtime,
                             .allocator = allocator,
                             .model = (const tn_onnx_model *)message,
                             .folder = folder};
    tn_status status = read_model(&reader);
    if (status == TN_OK) {
        *out_graph = reader.root;
        reader.root = NULL;
    }
    reader_deinit(&reader);
    tn_wire_free(allocator, message);
    return status;
}

tn_status tn_graph_load_onnx(tn_runtime *runtime, const char *path, tn_graph **out_graph) {
    if (!runtime || !path || !out_graph)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_graph_load_onnx needs a runtime, a path and out_graph");
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_arena *arena;
    tn_file file = {0};
    TN_TRY(tn_arena_create(allocator, &arena));
    const char *folder = tn_path_folder(arena, path);
    tn_status status = folder ? TN_OK : tn_fail_memory("a path");
    if (status == TN_OK) status = tn_file_map(allocator, path, &file);
    if (status == TN_OK) {
        status = tn_graph_parse_onnx(runtime, file.data, file.bytes, folder, out_graph);
        tn_error_at(status, "%s", path);
    }
    tn_file_unmap(&file);
    tn_arena_destroy(arena);
    return status;
}
