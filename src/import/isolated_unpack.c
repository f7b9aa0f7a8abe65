/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph that a helper process handed over, built again: a reader like any other, whose file are
 * the records of isolated_pack.c, and whose calls the services check. Nothing in them is trusted.
 */
#include "base/status.h"
#include "graph/body.h"
#include "import/isolated.h"

#include <inttypes.h>
#include <string.h>

/* One reading of records. */
typedef struct unpacking {
    tn_import *import;
    const tn_import_services *services;
    tn_arena *arena; /* the reading's */
    tn_isolated_cursor cursor;
    tn_isolated_parcel *parcel;
    const char *data; /* of the file in memory; the graph's */
    size_t data_bytes;
    uint64_t file_count;
    tn_import_file *files;
} unpacking;

/* ----------------------------------------------------------------------------------------------
 * data */

static tn_status take_file(unpacking *u, tn_import_file *file) {
    const char *name;
    uint64_t bytes, identity;
    TN_TRY(tn_isolated_take_text(&u->cursor, &name));
    TN_TRY(tn_isolated_take_u64(&u->cursor, &bytes));
    TN_TRY(tn_isolated_take_u64(&u->cursor, &identity));
    if (!name) return TN_OK;
    TN_TRY(u->services->open(u->import, name, TN_IMPORT_KEEP, file));
    const tn_reading *reading = tn_reading_of(u->import);
    for (size_t i = 0; i < reading->file_count; i++)
        if (reading->files[i].data == file->data &&
            (reading->files[i].identity != identity || reading->files[i].bytes != bytes))
            return tn_fail(TN_ERROR_IO, "'%s' was changed while it was read", name);
    return TN_OK;
}

static tn_status take_files(unpacking *u) {
    TN_TRY(tn_isolated_take_count(&u->cursor, 3 * sizeof(uint64_t), &u->file_count));
    u->files = tn_arena_allocate(u->arena, (size_t)u->file_count, sizeof(*u->files));
    if (!u->files) return tn_fail_memory("files");
    for (uint64_t i = 0; i < u->file_count; i++) {
        u->files[i].size = sizeof(u->files[i]);
        TN_TRY(take_file(u, &u->files[i]));
    }
    return TN_OK;
}

static tn_status take_data(unpacking *u, const void **out_data, size_t *out_bytes) {
    uint32_t file;
    uint64_t offset, bytes;
    TN_TRY(tn_isolated_take_u32(&u->cursor, &file));
    TN_TRY(tn_isolated_take_u64(&u->cursor, &offset));
    TN_TRY(tn_isolated_take_u64(&u->cursor, &bytes));
    if (file > u->file_count) return tn_fail(TN_ERROR_FORMAT, "there is no file %" PRIu32, file);
    const char *from = file > 0 ? u->files[file - 1].data : u->data;
    const uint64_t all = file > 0 ? u->files[file - 1].bytes : u->data_bytes;
    if (bytes > 0 && (!from || offset > all || bytes > all - offset))
        return tn_fail(TN_ERROR_FORMAT, "%" PRIu64 " bytes of data at %" PRIu64 " are not there",
                       bytes, offset);
    *out_data = bytes > 0 ? from + offset : NULL;
    *out_bytes = (size_t)bytes;
    return TN_OK;
}

/* UINT32_MAX: there is none. */
static tn_status take_shape(unpacking *u, uint32_t *out_rank, int64_t *extents) {
    TN_TRY(tn_isolated_take_u32(&u->cursor, out_rank));
    if (*out_rank == UINT32_MAX) return TN_OK;
    if (*out_rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_FORMAT, "rank %" PRIu32 " is more than %d", *out_rank, TN_MAX_RANK);
    return tn_isolated_take(&u->cursor, extents, *out_rank * sizeof(*extents));
}

/* ----------------------------------------------------------------------------------------------
 * parts of a graph */

static tn_status take_graph(unpacking *u, tn_import_graph *graph);

static tn_status take_input(unpacking *u, tn_import_graph *graph, const char *name, tn_type type,
                            uint32_t rank, const int64_t *extents) {
    const char *names[TN_MAX_RANK] = {NULL};
    for (uint32_t i = 0; rank != UINT32_MAX && i < rank; i++)
        TN_TRY(tn_isolated_take_text(&u->cursor, &names[i]));
    return u->services->add_input(graph, name, type, rank, extents, names, NULL);
}

static tn_status take_constant(unpacking *u, tn_import_graph *graph, const char *name, tn_type type,
                               uint32_t rank, const int64_t *extents) {
    const void *data;
    size_t bytes;
    TN_TRY(take_data(u, &data, &bytes));
    return u->services->add_constant(graph, name, type, rank, extents, data, bytes, NULL);
}

static tn_status take_tensor(unpacking *u, tn_import_graph *graph) {
    uint32_t kind, type, rank;
    int64_t extents[TN_MAX_RANK] = {0};
    const char *name;
    tn_import_tensor made;
    TN_TRY(tn_isolated_take_u32(&u->cursor, &kind));
    TN_TRY(tn_isolated_take_name(&u->cursor, &name));
    if (kind == 0) return u->services->add_tensor(graph, name, &made);
    TN_TRY(tn_isolated_take_u32(&u->cursor, &type));
    TN_TRY(take_shape(u, &rank, extents));
    if (kind == 1) return take_input(u, graph, name, type, rank, extents);
    if (kind == 2) return take_constant(u, graph, name, type, rank, extents);
    return tn_fail(TN_ERROR_FORMAT, "a tensor of kind %" PRIu32, kind);
}

static tn_status take_numbers(unpacking *u, uint32_t *out_count, const void **out_numbers) {
    uint64_t count;
    TN_TRY(tn_isolated_take_count(&u->cursor, sizeof(uint32_t), &count));
    if (count > UINT16_MAX * 2u) return tn_fail(TN_ERROR_FORMAT, "%" PRIu64 " tensors", count);
    *out_count = (uint32_t)count;
    return tn_isolated_take_items(&u->cursor, u->arena, count, sizeof(uint32_t), out_numbers);
}

static tn_status take_value(unpacking *u, tn_attribute *attribute) {
    tn_tensor *tensor = tn_arena_allocate(u->arena, 1, sizeof(*tensor));
    int64_t *extents = tn_arena_allocate(u->arena, TN_MAX_RANK, sizeof(*extents));
    const void *data;
    size_t bytes, expected;
    tn_shape shape;
    if (!tensor || !extents) return tn_fail_memory("an attribute's tensor");
    tensor->size = sizeof(*tensor);
    TN_TRY(tn_isolated_take_u32(&u->cursor, &tensor->type));
    TN_TRY(take_shape(u, &tensor->rank, extents));
    TN_TRY(take_data(u, &data, &bytes));
    if (tensor->rank == UINT32_MAX || !tn_type_is_valid(tensor->type))
        return tn_fail(TN_ERROR_FORMAT, "an attribute's tensor has no shape or type");
    TN_TRY(tn_shape_set(&shape, tensor->rank, extents));
    TN_TRY(tn_format_bytes(TN_LINEAR, tensor->type, &shape, &expected));
    if (expected != bytes)
        return tn_fail(TN_ERROR_FORMAT, "an attribute's tensor has %zu bytes instead of %zu", bytes,
                       expected);
    tensor->shape = extents;
    tensor->data = (void *)(uintptr_t)data;
    tensor->bytes = bytes;
    attribute->tensor = tensor;
    return TN_OK;
}

static tn_status take_body(unpacking *u, tn_import_graph *outer, tn_attribute *attribute) {
    uint32_t count;
    const void *captured;
    tn_import_graph *body;
    TN_TRY(take_numbers(u, &count, &captured));
    TN_TRY(u->services->begin_body(outer, "", &body));
    TN_TRY(take_graph(u, body));
    return u->services->end_body(body, count, captured, &attribute->graph);
}

static tn_status take_attributes(unpacking *u, tn_import_graph *graph, tn_import_node *node) {
    TN_TRY(tn_isolated_take_count(&u->cursor, sizeof(uint64_t), &node->attribute_count));
    tn_attribute *items =
        tn_arena_allocate(u->arena, (size_t)node->attribute_count, sizeof(*items));
    const tn_attribute **list =
        tn_arena_allocate(u->arena, (size_t)node->attribute_count, sizeof(*list));
    if (!items || !list) return tn_fail_memory("a node's attributes");
    for (uint64_t i = 0; i < node->attribute_count; i++) {
        TN_TRY(tn_isolated_take_attribute(&u->cursor, u->arena, &items[i]));
        if (items[i].type == TN_FIELD_TENSOR) TN_TRY(take_value(u, &items[i]));
        if (items[i].type == TN_FIELD_GRAPH) TN_TRY(take_body(u, graph, &items[i]));
        list[i] = &items[i];
    }
    node->attributes = list;
    return TN_OK;
}

static tn_status take_node(unpacking *u, tn_import_graph *graph) {
    tn_import_node node = {.size = sizeof(node)};
    const void *numbers;
    const char *domain, *name;
    uint32_t version;
    TN_TRY(tn_isolated_take_name(&u->cursor, &domain));
    TN_TRY(tn_isolated_take_name(&u->cursor, &name));
    TN_TRY(tn_isolated_take_u32(&u->cursor, &version));
    TN_TRY(tn_isolated_take_name(&u->cursor, &node.name));
    TN_TRY(u->services->find_operator(u->import, domain, name, version, &node.op));
    TN_TRY(take_numbers(u, &node.input_count, &numbers));
    node.inputs = numbers;
    TN_TRY(take_numbers(u, &node.output_count, &numbers));
    node.outputs = numbers;
    TN_TRY(take_attributes(u, graph, &node));
    return u->services->add_node(graph, &node);
}

static tn_status take_output(unpacking *u, tn_import_graph *graph) {
    uint32_t tensor;
    const char *name;
    TN_TRY(tn_isolated_take_u32(&u->cursor, &tensor));
    TN_TRY(tn_isolated_take_name(&u->cursor, &name));
    return u->services->add_output(graph, tensor, name);
}

static tn_status take_declaration(unpacking *u, tn_import_graph *graph) {
    uint32_t tensor, is_output, type, rank;
    int64_t extents[TN_MAX_RANK];
    const char *name;
    TN_TRY(tn_isolated_take_u32(&u->cursor, &tensor));
    TN_TRY(tn_isolated_take_name(&u->cursor, &name));
    TN_TRY(tn_isolated_take_u32(&u->cursor, &is_output));
    TN_TRY(tn_isolated_take_u32(&u->cursor, &type));
    TN_TRY(take_shape(u, &rank, extents));
    return u->services->declare(graph, tensor, name, is_output != 0, type, rank, extents);
}

static tn_status take_opset(unpacking *u, tn_import_graph *graph) {
    const char *domain;
    uint32_t version;
    TN_TRY(tn_isolated_take_name(&u->cursor, &domain));
    TN_TRY(tn_isolated_take_u32(&u->cursor, &version));
    return u->services->set_opset(graph, domain, version);
}

static tn_status take_model(unpacking *u, tn_import_graph *graph) {
    tn_model_info info = {.size = sizeof(info)};
    const char **const texts[] = {&info.producer_name, &info.producer_version, &info.domain,
                                  &info.doc, &info.source_format};
    for (size_t i = 0; i < TN_COUNT(texts); i++)
        TN_TRY(tn_isolated_take_text(&u->cursor, texts[i]));
    TN_TRY(tn_isolated_take(&u->cursor, &info.model_version, sizeof(info.model_version)));
    TN_TRY(tn_isolated_take_count(&u->cursor, 2 * sizeof(uint64_t), &info.metadata_count));
    tn_metadata *entries =
        tn_arena_allocate(u->arena, (size_t)info.metadata_count, sizeof(*entries));
    if (!entries) return tn_fail_memory("a model's metadata");
    for (uint64_t i = 0; i < info.metadata_count; i++) {
        TN_TRY(tn_isolated_take_text(&u->cursor, &entries[i].key));
        TN_TRY(tn_isolated_take_text(&u->cursor, &entries[i].value));
    }
    info.metadata = entries;
    return tn_graph_import_model_info(tn_reading_graph_of(graph)->graph, &info);
}

/* A number of things one behind the other. */
static tn_status take_all(unpacking *u, tn_import_graph *graph,
                          tn_status (*take)(unpacking *u, tn_import_graph *graph)) {
    uint64_t count;
    TN_TRY(tn_isolated_take_count(&u->cursor, sizeof(uint64_t), &count));
    for (uint64_t i = 0; i < count; i++)
        TN_TRY(take(u, graph));
    return TN_OK;
}

static tn_status take_graph(unpacking *u, tn_import_graph *graph) {
    const char *name;
    uint64_t names_made;
    TN_TRY(tn_isolated_take_name(&u->cursor, &name));
    TN_TRY(u->services->set_name(graph, name));
    TN_TRY(take_model(u, graph));
    TN_TRY(take_all(u, graph, take_opset));
    TN_TRY(take_all(u, graph, take_tensor));
    TN_TRY(take_all(u, graph, take_node));
    TN_TRY(take_all(u, graph, take_output));
    TN_TRY(take_all(u, graph, take_declaration));
    TN_TRY(tn_isolated_take_u64(&u->cursor, &names_made));
    tn_graph_set_names_made(tn_reading_graph_of(graph)->graph, names_made);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the reader */

static tn_status take_everything(unpacking *u) {
    u->data = u->parcel->data.data;
    u->data_bytes = u->parcel->data.bytes;
    if (u->data_bytes > 0) TN_TRY(tn_reading_own_file(tn_reading_of(u->import), &u->parcel->data));
    TN_TRY(take_files(u));
    TN_TRY(take_graph(u, u->import->graph));
    return u->cursor.at == u->cursor.end ? TN_OK : tn_fail(TN_ERROR_FORMAT, "it goes on too far");
}

static tn_status read_parcel(tn_import *import) TN_NOEXCEPT {
    tn_isolated_parcel *parcel = import->user;
    unpacking u = {
        .import = import,
        .services = import->services,
        .arena = tn_reading_of(import)->arena,
        .cursor = {parcel->records, (const char *)parcel->records + parcel->record_bytes},
        .parcel = parcel};
    return tn_error_at(take_everything(&u), "what the helper process handed over");
}

tn_status tn_isolated_unpack(tn_runtime *runtime, const tn_reading_source *from,
                             tn_isolated_parcel *parcel, tn_graph **out_graph) {
    const tn_importer_entry entry = {
        .importer = {.size = sizeof(tn_importer), .name = "", .read = read_parcel, .user = parcel}};
    const tn_import_options none = {.size = sizeof(none)};
    return tn_reading_run(runtime, &entry, &none, from, NULL, out_graph);
}
