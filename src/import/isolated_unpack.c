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
    const char *name = tn_isolated_take_text(&u->cursor);
    const uint64_t bytes = tn_isolated_take_u64(&u->cursor);
    const uint64_t identity = tn_isolated_take_u64(&u->cursor);
    TN_TRY(u->cursor.status);
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
    u->file_count = tn_isolated_take_count(&u->cursor, 3 * sizeof(uint64_t));
    u->files = tn_arena_allocate(u->arena, (size_t)u->file_count, sizeof(*u->files));
    if (!u->files) return tn_fail_memory("files");
    for (uint64_t i = 0; i < u->file_count; i++) {
        u->files[i].size = sizeof(u->files[i]);
        TN_TRY(take_file(u, &u->files[i]));
    }
    return u->cursor.status;
}

static tn_status take_data(unpacking *u, const void **out_data, size_t *out_bytes) {
    const uint32_t file = tn_isolated_take_u32(&u->cursor);
    const uint64_t offset = tn_isolated_take_u64(&u->cursor);
    const uint64_t bytes = tn_isolated_take_u64(&u->cursor);
    TN_TRY(u->cursor.status);
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
    *out_rank = tn_isolated_take_u32(&u->cursor);
    if (*out_rank == UINT32_MAX) return TN_OK;
    if (*out_rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_FORMAT, "rank %" PRIu32 " is more than %d", *out_rank, TN_MAX_RANK);
    tn_isolated_take(&u->cursor, extents, *out_rank * sizeof(*extents));
    return u->cursor.status;
}

/* ----------------------------------------------------------------------------------------------
 * parts of a graph */

static tn_status take_graph(unpacking *u, tn_import_graph *graph);

static tn_status take_tensor(unpacking *u, tn_import_graph *graph) {
    uint32_t rank;
    int64_t extents[TN_MAX_RANK] = {0};
    const char *extent_names[TN_MAX_RANK] = {NULL};
    const void *data;
    size_t bytes;
    tn_import_tensor made;
    const uint32_t kind = tn_isolated_take_u32(&u->cursor);
    const char *name = tn_isolated_take_name(&u->cursor);
    TN_TRY(u->cursor.status);
    if (kind == 0) return u->services->add_tensor(graph, name, &made);
    const tn_type type = tn_isolated_take_u32(&u->cursor);
    if (kind == 3) {
        const uint32_t value_kind = tn_isolated_take_u32(&u->cursor);
        const tn_type key_type = tn_isolated_take_u32(&u->cursor);
        TN_TRY(u->cursor.status);
        return u->services->add_kind_input(graph, name, value_kind, key_type, type, NULL);
    }
    TN_TRY(take_shape(u, &rank, extents));
    if (kind == 2) {
        TN_TRY(take_data(u, &data, &bytes));
        return u->services->add_constant(graph, name, type, rank, extents, data, bytes, NULL);
    }
    if (kind != 1) return tn_fail(TN_ERROR_FORMAT, "a tensor of kind %" PRIu32, kind);
    for (uint32_t i = 0; rank != UINT32_MAX && i < rank; i++)
        extent_names[i] = tn_isolated_take_text(&u->cursor);
    TN_TRY(u->cursor.status);
    return u->services->add_input(graph, name, type, rank, extents, extent_names, NULL);
}

static tn_status take_numbers(unpacking *u, uint32_t *out_count, const uint32_t **out_numbers) {
    const uint64_t count = tn_isolated_take_count(&u->cursor, sizeof(uint32_t));
    if (count > UINT16_MAX * 2u) return tn_fail(TN_ERROR_FORMAT, "%" PRIu64 " tensors", count);
    *out_count = (uint32_t)count;
    *out_numbers = tn_isolated_take_items(&u->cursor, u->arena, count, sizeof(uint32_t));
    return u->cursor.status;
}

static tn_status take_value(unpacking *u, tn_attribute *attribute) {
    tn_tensor *tensor = tn_arena_allocate(u->arena, 1, sizeof(*tensor));
    int64_t *extents = tn_arena_allocate(u->arena, TN_MAX_RANK, sizeof(*extents));
    const void *data;
    size_t bytes, expected;
    tn_shape shape;
    if (!tensor || !extents) return tn_fail_memory("an attribute's tensor");
    tensor->size = sizeof(*tensor);
    tensor->type = tn_isolated_take_u32(&u->cursor);
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
    const uint32_t *captured;
    tn_import_graph *body;
    TN_TRY(take_numbers(u, &count, &captured));
    TN_TRY(u->services->begin_body(outer, "", &body));
    TN_TRY(take_graph(u, body));
    return u->services->end_body(body, count, captured, &attribute->graph);
}

static tn_status take_attributes(unpacking *u, tn_import_graph *graph, tn_import_node *node) {
    const uint64_t count = tn_isolated_take_count(&u->cursor, sizeof(uint64_t));
    tn_attribute *items = tn_arena_allocate(u->arena, (size_t)count, sizeof(*items));
    const tn_attribute **list = tn_arena_allocate(u->arena, (size_t)count, sizeof(*list));
    if (!items || !list) return tn_fail_memory("a node's attributes");
    for (uint64_t i = 0; i < count; i++) {
        items[i] = tn_isolated_take_attribute(&u->cursor, u->arena);
        TN_TRY(u->cursor.status);
        if (items[i].type == TN_FIELD_TENSOR) TN_TRY(take_value(u, &items[i]));
        if (items[i].type == TN_FIELD_GRAPH) TN_TRY(take_body(u, graph, &items[i]));
        list[i] = &items[i];
    }
    node->attribute_count = count;
    node->attributes = list;
    return u->cursor.status;
}

static tn_status take_node(unpacking *u, tn_import_graph *graph) {
    tn_import_node node = {.size = sizeof(node)};
    const char *domain = tn_isolated_take_name(&u->cursor);
    const char *name = tn_isolated_take_name(&u->cursor);
    const uint32_t version = tn_isolated_take_u32(&u->cursor);
    node.name = tn_isolated_take_name(&u->cursor);
    TN_TRY(u->cursor.status);
    TN_TRY(u->services->find_operator(u->import, domain, name, version, &node.op));
    TN_TRY(take_numbers(u, &node.input_count, &node.inputs));
    TN_TRY(take_numbers(u, &node.output_count, &node.outputs));
    TN_TRY(take_attributes(u, graph, &node));
    return u->services->add_node(graph, &node);
}

static tn_status take_output(unpacking *u, tn_import_graph *graph) {
    const uint32_t tensor = tn_isolated_take_u32(&u->cursor);
    const char *name = tn_isolated_take_name(&u->cursor);
    TN_TRY(u->cursor.status);
    return u->services->add_output(graph, tensor, name);
}

static tn_status take_declaration(unpacking *u, tn_import_graph *graph) {
    const uint32_t tensor = tn_isolated_take_u32(&u->cursor);
    const char *name = tn_isolated_take_name(&u->cursor);
    const bool is_output = tn_isolated_take_u32(&u->cursor) != 0;
    const tn_type type = tn_isolated_take_u32(&u->cursor);
    uint32_t rank;
    const char *names[TN_MAX_RANK] = {NULL};
    int64_t extents[TN_MAX_RANK];
    TN_TRY(take_shape(u, &rank, extents));
    for (uint32_t i = 0; rank != UINT32_MAX && i < rank; i++)
        names[i] = tn_isolated_take_text(&u->cursor);
    TN_TRY(u->cursor.status);
    if (is_output && rank != UINT32_MAX)
        TN_TRY(u->services->name_extents(graph, tensor, rank, names));
    return u->services->declare(graph, tensor, name, is_output, type, rank, extents);
}

static tn_status take_opset(unpacking *u, tn_import_graph *graph) {
    const char *domain = tn_isolated_take_name(&u->cursor);
    const uint32_t version = tn_isolated_take_u32(&u->cursor);
    TN_TRY(u->cursor.status);
    return u->services->set_opset(graph, domain, version);
}

static tn_status take_model(unpacking *u, tn_import_graph *graph) {
    tn_model_info info = {.size = sizeof(info)};
    const char **const texts[] = {&info.producer_name, &info.producer_version, &info.domain,
                                  &info.doc, &info.source_format};
    for (size_t i = 0; i < TN_COUNT(texts); i++)
        *texts[i] = tn_isolated_take_text(&u->cursor);
    tn_isolated_take(&u->cursor, &info.model_version, sizeof(info.model_version));
    info.metadata_count = tn_isolated_take_count(&u->cursor, 2 * sizeof(uint64_t));
    tn_metadata *entries =
        tn_arena_allocate(u->arena, (size_t)info.metadata_count, sizeof(*entries));
    if (!entries) return tn_fail_memory("a model's metadata");
    for (uint64_t i = 0; i < info.metadata_count; i++) {
        entries[i].key = tn_isolated_take_text(&u->cursor);
        entries[i].value = tn_isolated_take_text(&u->cursor);
    }
    info.metadata = entries;
    TN_TRY(u->cursor.status);
    return tn_graph_import_model_info(tn_reading_graph_of(graph)->graph, &info);
}

/* A number of things one behind the other. */
static tn_status take_all(unpacking *u, tn_import_graph *graph,
                          tn_status (*take)(unpacking *u, tn_import_graph *graph)) {
    const uint64_t count = tn_isolated_take_count(&u->cursor, sizeof(uint64_t));
    for (uint64_t i = 0; i < count; i++)
        TN_TRY(take(u, graph));
    return u->cursor.status;
}

static tn_status take_graph(unpacking *u, tn_import_graph *graph) {
    const char *name = tn_isolated_take_name(&u->cursor);
    TN_TRY(u->cursor.status);
    TN_TRY(u->services->set_name(graph, name));
    TN_TRY(take_model(u, graph));
    TN_TRY(take_all(u, graph, take_opset));
    TN_TRY(take_all(u, graph, take_tensor));
    TN_TRY(take_all(u, graph, take_node));
    TN_TRY(take_all(u, graph, take_output));
    TN_TRY(take_all(u, graph, take_declaration));
    const uint64_t names_made = tn_isolated_take_u64(&u->cursor);
    tn_graph_set_names_made(tn_reading_graph_of(graph)->graph, names_made);
    return u->cursor.status;
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
    unpacking u = {.import = import,
                   .services = import->services,
                   .arena = tn_reading_of(import)->arena,
                   .cursor = {.at = parcel->records,
                              .end = (const char *)parcel->records + parcel->record_bytes},
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
