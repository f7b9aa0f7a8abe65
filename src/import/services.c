/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host does for a reader: errors, and the parts of a graph but for its nodes (nodes.c).
 * Operators are in operators.c, memory and files in memory.c. Arguments come from libraries: each
 * is checked.
 */
#include "base/status.h"
#include "base/text.h"
#include "import/reading.h"
#include "graph/body.h"

#include <tenon/border.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * errors */

enum { MOST_TEXT = 2047 };

static tn_status reading_fail(tn_import *import, tn_status status, const char *format, ...) {
    char text[MOST_TEXT + 1] = "";
    va_list arguments;
    (void)import;
    va_start(arguments, format);
    if (!format || vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    if (status <= TN_OK || status > TN_ERROR_INTERNAL) status = TN_ERROR_PLUGIN;
    return tn_fail(status, "%s", text[0] ? text : "no reason given");
}

static tn_status reading_at(tn_import *import, tn_status status, const char *format, ...) {
    char text[MOST_TEXT + 1] = "";
    va_list arguments;
    (void)import;
    if (status == TN_OK || !format) return status;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = 0;
    va_end(arguments);
    return text[0] ? tn_error_at(status, "%s", text) : status;
}

static tn_status reading_add_position(tn_import *import, tn_status status,
                                      const tn_import_place *place) {
    (void)import;
    if (status == TN_OK || !place || place->size < sizeof(*place)) return status;
    if (place->offset != UINT64_MAX) tn_error_at_byte(status, place->offset);
    if (!place->file && !place->node && !place->op && !place->mend && place->line == 0)
        return status;
    return tn_error_in(status, .file = place->file, .node = place->node,
                       .node_kind = place->node_kind, .op = place->op, .op_kind = place->op_kind,
                       .line = place->line, .column = place->column, .mend = place->mend,
                       .is_in_message = place->is_in_message != 0);
}

static tn_status reading_mend(tn_import *import, tn_status status, const char *joint,
                              const char *text) {
    (void)import;
    if (status == TN_OK || !text) return status;
    return tn_error_mend(status, joint ? joint : "; ", "%s", text);
}

static void reading_set_position(tn_import *import, uint64_t offset, const char *node) {
    tn_reading_position *position = tn_reading_of(import)->position;
    position->offset = offset;
    const size_t length = node ? strnlen(node, sizeof(position->node) - 1) : 0;
    memcpy(position->node, node ? node : "", length);
    position->node[length] = '\0';
}

static tn_status reading_last(tn_import *import, const char **out_message, const char **out_where) {
    const tn_error *error = tn_last_error();
    (void)import;
    if (out_message) *out_message = error->message;
    if (out_where) *out_where = error->where;
    return error->status;
}

static void reading_forget(tn_import *import) {
    (void)import;
    tn_error_clear();
}

static void reading_log(tn_import *import, uint32_t level, const char *text) {
    if (level < TN_LOG_ERROR || level > TN_LOG_DEBUG) level = TN_LOG_WARNING;
    tn_runtime_log(tn_reading_of(import)->runtime, level, "%s", text ? text : "");
}

/* ----------------------------------------------------------------------------------------------
 * the graph */

static tn_status reading_set_name(tn_import_graph *graph, const char *name) {
    tn_graph *own = tn_reading_graph_of(graph)->graph;
    const char *copy = tn_arena_text(own->arena, name ? name : "");
    if (!copy) return tn_fail_memory("a graph's name");
    own->name = copy;
    return TN_OK;
}

static tn_status reading_set_opset(tn_import_graph *graph, const char *domain, uint32_t version) {
    return tn_graph_set_opset(tn_reading_graph_of(graph)->graph, domain, version);
}

static tn_status reading_set_model(tn_import_graph *graph, const tn_import_model *model) {
    tn_graph *own = tn_reading_graph_of(graph)->graph;
    if (!model || model->size < sizeof(*model) || (model->metadata_count > 0 && !model->metadata))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "set_model needs a description with its size, and its entries");
    if (model->metadata_count > UINT32_MAX)
        return tn_fail(TN_ERROR_RANGE, "a model has %" PRIu64 " entries of metadata",
                       model->metadata_count);
    tn_metadata *entries =
        tn_allocate_zero(own->allocator, (size_t)model->metadata_count + 1, sizeof(*entries));
    if (!entries) return tn_fail_memory("a model's metadata");
    for (uint64_t i = 0; i < model->metadata_count; i++)
        entries[i] = (tn_metadata){model->metadata[i].key, model->metadata[i].value};
    const tn_model_info info = {.size = sizeof(info),
                                .producer_name = model->producer_name,
                                .producer_version = model->producer_version,
                                .domain = model->domain,
                                .doc = model->doc,
                                .model_version = model->model_version,
                                .metadata_count = model->metadata_count,
                                .metadata = entries};
    const tn_status status = tn_graph_import_model_info(own, &info);
    tn_deallocate(own->allocator, entries);
    return status;
}

static tn_status reading_add_input(tn_import_graph *graph, const char *name, tn_type type,
                                   uint32_t rank, const int64_t *extents, const char *const *names,
                                   tn_import_tensor *out_tensor) {
    const tn_reading_graph *own = tn_reading_graph_of(graph);
    tn_tensor_id id = TN_NO_TENSOR;
    if (own->outer && rank == UINT32_MAX) {
        if (!name || !*name || (type != TN_NONE && !tn_type_is_valid(type)))
            return tn_fail(TN_ERROR_ARGUMENT, "a body's input needs a name and a known type");
        TN_TRY(tn_graph_add_body_input(own->graph, name, type, &id));
    } else {
        TN_TRY(tn_graph_add_input(own->graph, name, type, rank, extents, names, &id));
    }
    if (out_tensor) *out_tensor = id;
    return TN_OK;
}

static tn_status reading_add_kind_input(tn_import_graph *graph, const char *name, uint32_t kind,
                                        tn_type key_type, tn_type type,
                                        tn_import_tensor *out_tensor) {
    const tn_reading_graph *own = tn_reading_graph_of(graph);
    const bool is_open = own->outer && type == TN_NONE; /* as the node supplies it */
    tn_tensor_id id = TN_NO_TENSOR;
    TN_TRY(tn_graph_add_kind_input(own->graph, name, kind, key_type, is_open ? TN_F32 : type, &id));
    if (is_open) own->graph->tensors[id].type = TN_NONE;
    if (out_tensor) *out_tensor = id;
    return TN_OK;
}

static tn_status reading_add_constant(tn_import_graph *graph, const char *name, tn_type type,
                                      uint32_t rank, const int64_t *extents, const void *data,
                                      uint64_t bytes, tn_import_tensor *out_tensor) {
    tn_reading_graph *own = tn_reading_graph_of(graph);
    tn_reading *reading = tn_reading_of(graph->import);
    tn_shape shape;
    tn_tensor_id id;
    if (rank > 0 && !extents) return tn_fail(TN_ERROR_ARGUMENT, "a constant needs its extents");
    TN_TRY(tn_shape_set(&shape, rank, extents));
    const size_t element = tn_type_is_valid(type) ? tn_type_bytes(type) : 0;
    const bool is_odd = element > 1 && (uintptr_t)data % element != 0;
    if (data && bytes > 0 && (is_odd || !tn_reading_owns(reading, data, bytes)))
        TN_TRY(tn_graph_add_constant(own->graph, name, type, rank, extents, data, bytes, &id));
    else
        TN_TRY(
            tn_graph_add_constant_lent(own->graph, name, type, &shape, data, (size_t)bytes, &id));
    if (out_tensor) *out_tensor = id;
    return TN_OK;
}

static tn_status reading_add_tensor(tn_import_graph *graph, const char *name,
                                    tn_import_tensor *out_tensor) {
    tn_tensor_id id;
    if (!out_tensor) return tn_fail(TN_ERROR_ARGUMENT, "a tensor needs room for its number");
    TN_TRY(tn_graph_add_tensor(tn_reading_graph_of(graph)->graph, name, TN_NONE, &id));
    *out_tensor = id;
    return TN_OK;
}

static tn_status reading_add_output(tn_import_graph *graph, tn_import_tensor tensor,
                                    const char *name) {
    tn_reading_graph_of(graph)->is_checked = false;
    return tn_graph_add_output(tn_reading_graph_of(graph)->graph, tensor, name);
}

static tn_status reading_declare(tn_import_graph *graph, tn_import_tensor tensor, const char *name,
                                 bool is_output, tn_type type, uint32_t rank,
                                 const int64_t *extents) {
    tn_graph *own = tn_reading_graph_of(graph)->graph;
    tn_graph_declaration declared = {
        .tensor = tensor, .name = name, .type = type, .is_output = is_output};
    if (tensor >= own->tensor_count || !name)
        return tn_fail(TN_ERROR_ARGUMENT, "the graph has no tensor number %" PRIu32, tensor);
    if (type != TN_NONE && !tn_type_is_valid(type))
        return tn_fail(TN_ERROR_TYPE, "element type %" PRIu32 " is not known", type);
    if (rank != UINT32_MAX) {
        if (rank > TN_MAX_RANK || (rank > 0 && !extents))
            return tn_fail(TN_ERROR_SHAPE, "rank %" PRIu32 "; at most %d is possible", rank,
                           TN_MAX_RANK);
        declared.has_shape = true;
        declared.shape.rank = rank;
        for (uint32_t i = 0; i < rank; i++)
            declared.shape.extents[i] = extents[i] < 0 ? -1 : extents[i];
    }
    return tn_graph_declare(own, &declared);
}

static tn_status reading_name_extents(tn_import_graph *graph, tn_import_tensor tensor,
                                      uint32_t rank, const char *const *names) {
    tn_graph *own = tn_reading_graph_of(graph)->graph;
    if (tensor >= own->tensor_count || own->tensors[tensor].is_input ||
        own->tensors[tensor].is_constant || (rank > 0 && !names))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tensor number %" PRIu32 " is none that a node computes, or has no names",
                       tensor);
    if (rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "rank %" PRIu32 "; at most %d is possible", rank,
                       TN_MAX_RANK);
    return tn_graph_name_extents(own, &own->tensors[tensor], rank, names);
}

static bool reading_find_tensor(const tn_import_graph *graph, const char *name,
                                tn_import_tensor *out_tensor) {
    uint64_t id;
    if (!name || !tn_map_get(tn_reading_graph_of(graph)->graph->names, name, &id)) return false;
    if (out_tensor) *out_tensor = (tn_import_tensor)id;
    return true;
}

static bool reading_get_tensor(const tn_import_graph *graph, tn_import_tensor tensor,
                               tn_import_tensor_info *out_info) {
    const tn_graph *own = tn_reading_graph_of(graph)->graph;
    if (tensor >= own->tensor_count || !out_info ||
        out_info->size < offsetof(tn_import_tensor_info, kind))
        return false;
    const tn_graph_tensor *from = &own->tensors[tensor];
    const tn_import_tensor_info info =
        (tn_import_tensor_info){.size = out_info->size,
                                .type = from->type,
                                .rank = from->has_shape ? from->shape.rank : UINT32_MAX,
                                .flags = (from->is_input ? (uint32_t)TN_IMPORT_IS_INPUT : 0) |
                                         (from->is_constant ? (uint32_t)TN_IMPORT_IS_CONSTANT : 0),
                                .use_count = from->use_count,
                                .name = from->name,
                                .extents = from->shape.extents,
                                .data = from->data,
                                .bytes = from->bytes,
                                .kind = tn_graph_kind(own, tensor)};
    memcpy(out_info, &info, info.size < sizeof(info) ? info.size : sizeof(info));
    return true;
}

static const char *reading_make_name(tn_import_graph *graph, const char *base) {
    return tn_graph_make_name(tn_reading_graph_of(graph)->graph, base ? base : "tensor");
}

static uint64_t reading_input_count(const tn_import_graph *graph) {
    return tn_reading_graph_of(graph)->graph->input_count;
}
static uint64_t reading_output_count(const tn_import_graph *graph) {
    return tn_reading_graph_of(graph)->graph->output_count;
}
static uint64_t reading_node_count(const tn_import_graph *graph) {
    return tn_reading_graph_of(graph)->graph->node_count;
}

const tn_import_services tn_reading_services = {.size = sizeof(tn_import_services),
                                                .fail = reading_fail,
                                                .place = reading_set_position,
                                                .at = reading_at,
                                                .last = reading_last,
                                                .forget = reading_forget,
                                                .log = reading_log,
                                                .room = tn_reading_allocate,
                                                .adopt = tn_reading_adopt,
                                                .open = tn_reading_open,
                                                .find_operator = tn_reading_find_operator,
                                                .is_given = tn_reading_is_given,
                                                .check_fields = tn_reading_check_fields,
                                                .ask = tn_reading_ask,
                                                .describe_missing = tn_reading_describe_missing,
                                                .add_missing = tn_reading_add_missing,
                                                .is_missing = tn_reading_is_missing,
                                                .report_missing = tn_reading_report_missing,
                                                .set_name = reading_set_name,
                                                .set_opset = reading_set_opset,
                                                .set_model = reading_set_model,
                                                .at_place = reading_add_position,
                                                .mend = reading_mend,
                                                .add_input = reading_add_input,
                                                .add_constant = reading_add_constant,
                                                .add_tensor = reading_add_tensor,
                                                .add_node = tn_reading_add_node,
                                                .add_output = reading_add_output,
                                                .declare = reading_declare,
                                                .find_tensor = reading_find_tensor,
                                                .get_tensor = reading_get_tensor,
                                                .make_name = reading_make_name,
                                                .input_count = reading_input_count,
                                                .output_count = reading_output_count,
                                                .node_count = reading_node_count,
                                                .begin_body = tn_reading_begin_body,
                                                .end_body = tn_reading_end_body,
                                                .check = tn_reading_check,
                                                .add_kind_input = reading_add_kind_input,
                                                .name_extents = reading_name_extents};
