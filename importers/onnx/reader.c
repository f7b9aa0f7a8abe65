/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading an ONNX model: the importer's table, and the steps from bytes to a sorted graph. The
 * bytes are checked and unpacked by base/wire.h; the model's parts are read by the other files
 * here.
 */
#include "base/status.h"
#include "importers/onnx/onnx.h"
#include "base/wire.h"
#include "importers/common/linked.h"

#include <string.h>

/* Functions may expand a model to this many nodes, and this many times its own. */
#define NODES_BASE   65536u
#define NODES_FACTOR 64u

static tn_status reader_init(tn_onnx_reader *reader) {
    TN_TRY(tn_arena_create(reader->allocator, &reader->arena));
    TN_TRY(tn_map_create(reader->allocator, &reader->functions));
    return tn_map_create(reader->allocator, &reader->tensors);
}

static void reader_deinit(tn_onnx_reader *reader) {
    tn_deallocate(reader->allocator, reader->shared);
    tn_map_destroy(reader->tensors);
    tn_map_destroy(reader->functions);
    tn_arena_destroy(reader->arena);
}

static void count_nodes(tn_onnx_reader *reader) {
    uint64_t count = reader->model->graph->n_node;
    for (size_t i = 0; i < reader->model->n_functions; i++)
        count += reader->model->functions[i]->n_node;
    reader->nodes_left = NODES_BASE + NODES_FACTOR * count;
}

/* What the model says of itself, for people and programs that read it from the graph or the plan.
 */
static tn_status keep_info(tn_onnx_reader *reader) {
    const tn_onnx_model *model = reader->model;
    tn_import_model info = {.size = sizeof(info),
                            .producer_name = model->producer_name,
                            .producer_version = model->producer_version,
                            .domain = model->domain,
                            .doc = model->doc_string && *model->doc_string
                                       ? model->doc_string
                                       : model->graph->doc_string,
                            .model_version = model->has_model_version ? model->model_version : 0,
                            .metadata_count = model->n_metadata_props};
    tn_import_metadata *entries =
        tn_arena_allocate(reader->arena, model->n_metadata_props, sizeof(*entries));
    if (!entries) return tn_fail_memory("a model's metadata");
    for (size_t i = 0; i < model->n_metadata_props; i++)
        entries[i] =
            (tn_import_metadata){model->metadata_props[i]->key, model->metadata_props[i]->value};
    info.metadata = entries;
    return reader->import->services->set_model(reader->graph, &info);
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
    TN_TRY(reader->import->services->set_name(reader->graph, name));
    TN_TRY(tn_onnx_opsets_keep(reader));
    TN_TRY(keep_info(reader));
    return tn_onnx_model_graph_read(reader);
}

static tn_status read_onnx(tn_import *import) {
    const tn_allocator allocator = tn_import_allocator(import);
    ProtobufCMessage *message;
    TN_TRY(tn_wire_unpack(&allocator, &tenon__onnx__model_proto__descriptor, import->data,
                          (size_t)import->bytes, &message));
    tn_onnx_reader reader = {.import = import,
                             .options = import->params,
                             .allocator = &allocator,
                             .model = (const tn_onnx_model *)message,
                             .graph = import->graph};
    const tn_status status = read_model(&reader);
    reader_deinit(&reader);
    tn_wire_free(&allocator, message);
    return status;
}

/* ModelProto begins with ir_version, a small number, and then has a text or an operator set. */
static uint32_t probe_onnx(void *user, const void *head, uint64_t bytes) {
    const unsigned char *at = head;
    (void)user;
    return bytes > 8 && at[0] == 0x08 && at[1] >= 1 && at[1] <= 64 &&
                   (at[2] == 0x12 || at[2] == 0x3a || at[2] == 0x42)
               ? 80
               : 0;
}

static const tn_field options[] = {
    TN_FIELD_CHOICE(tn_onnx_options, zipmap, TN_FIELD_ENUM, TN_OPTIONAL, "keep", "keep|drop",
                    "ZipMap, a classifier's maps from labels to scores; drop: the tensor of scores "
                    "instead")};

const tn_importer tn_onnx_importer = {
    .size = sizeof(tn_importer),
    .name = "onnx",
    .what = "an ONNX model",
    .doc = "ONNX's protobuf files; external data lies in the model's folder",
    .endings = ".onnx",
    .probe = probe_onnx,
    TN_FIELDS(tn_onnx_options, options),
    .read = read_onnx};
