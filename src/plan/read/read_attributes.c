/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a plan's nodes, as attributes; what they mean is the operator's table's business.
 * See reader.h. */
#include "plan/read/reader.h"

#include "base/status.h"
#include "graph/body.h"

#include <inttypes.h>

static tn_status read_tensor(tn_plan_reader *reader, const char *name,
                             const Tenon__Plan__Value *message, const tn_tensor **out_tensor) {
    tn_shape shape;
    const void *data;
    if (!message) return tn_plan_reader_fail("the tensor is not there");
    TN_TRY(tn_plan_reader_shape(message->n_shape, message->shape, &shape));
    const tn_constant_note part = {.kind = "the tensor in field",
                                   .name = name,
                                   .bytes = (size_t)message->bytes,
                                   .checksum = message->checksum};
    tn_constant_note *note = NULL;
    TN_TRY(
        tn_plan_reader_weight(reader, message->type, &shape, &part, message->offset, &data, &note));
    TN_TRY(tn_constant_note_verify(note));
    tn_tensor_storage *storage = tn_arena_allocate(reader->scratch, 1, sizeof(*storage));
    if (!storage) return tn_fail_memory("a field");
    TN_TRY(tn_tensor_init(storage, message->type, TN_LINEAR, &shape));
    storage->tensor.data = (void *)(uintptr_t)data;
    storage->tensor.name = "";
    *out_tensor = &storage->tensor;
    return TN_OK;
}

/* The graph of the plan within the plan; its programs are read when it is loaded. */
static tn_status read_body_graph(tn_plan_reader *reader, const void *data, size_t bytes,
                                 tn_graph **out_graph) {
    tn_plan_read_options options = *reader->options;
    tn_plan_contents contents;
    tn_file file = {.data = data, .bytes = bytes}; /* lent by the outer plan's */
    options.pieces = NULL;
    options.body_depth++;
    if (options.body_depth > TN_BODY_DEPTH)
        return tn_plan_reader_fail("bodies are nested more than %u levels deep", TN_BODY_DEPTH);
    TN_TRY(tn_plan_read(reader->runtime, &file, "a body", &options, &contents));
    *out_graph = contents.graph;
    contents.graph = NULL;
    tn_plan_contents_deinit(&contents);
    return TN_OK;
}

static tn_status read_body(tn_plan_reader *reader, const Tenon__Plan__Body *message,
                           tn_attribute *attribute) {
    const void *data;
    tn_graph *graph = NULL;
    tn_graph_body *body = NULL;
    if (!message || message->bytes == 0) return tn_plan_reader_fail("the body is not there");
    TN_TRY(tn_plan_reader_bytes(reader, "a body", message->offset, message->bytes, &data));
    TN_TRY(read_body_graph(reader, data, (size_t)message->bytes, &graph));
    const tn_status status =
        tn_graph_own_body(reader->contents.graph, graph, message->captures, &body);
    if (status != TN_OK) {
        tn_graph_destroy(graph);
        return status;
    }
    body->plan = data;
    body->plan_bytes = (size_t)message->bytes;
    attribute->graph = &body->view;
    return TN_OK;
}

static void set_list(tn_attribute *attribute, size_t count, const void *items) {
    attribute->count = count;
    attribute->items = items;
}

static tn_status read_value(tn_plan_reader *reader, const Tenon__Plan__Attribute *message,
                            tn_attribute *attribute) {
    switch (message->type) {
    case TN_FIELD_BOOL:
    case TN_FIELD_I32:
    case TN_FIELD_I64:
    case TN_FIELD_TYPE:
    case TN_FIELD_ENUM:
        attribute->i = message->i;
        return TN_OK;
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        attribute->f = message->f;
        return TN_OK;
    case TN_FIELD_STRING:
        attribute->s = message->s;
        return TN_OK;
    case 0:
    case TN_FIELD_BYTES:
        set_list(attribute, message->raw.len, message->raw.data);
        return TN_OK;
    case TN_FIELD_I64S:
        set_list(attribute, message->n_i64s, message->i64s);
        return TN_OK;
    case TN_FIELD_F32S:
        set_list(attribute, message->n_f32s, message->f32s);
        return TN_OK;
    case TN_FIELD_F64S:
        set_list(attribute, message->n_f64s, message->f64s);
        return TN_OK;
    case TN_FIELD_STRINGS:
        set_list(attribute, message->n_strings, message->strings);
        return TN_OK;
    case TN_FIELD_TENSOR:
        return read_tensor(reader, message->name, message->tensor, &attribute->tensor);
    case TN_FIELD_GRAPH:
        return read_body(reader, message->graph, attribute);
    default:
        return tn_plan_reader_fail("there is no type %" PRIu32 " of fields", message->type);
    }
}

tn_status tn_plan_read_attributes(tn_plan_reader *reader, const Tenon__Plan__Node *message,
                                  const tn_attribute *const **out_attributes) {
    size_t count = message->n_attributes;
    tn_attribute *items = tn_arena_allocate(reader->scratch, count, sizeof(*items));
    const tn_attribute **attributes =
        tn_arena_allocate(reader->scratch, count, sizeof(*attributes));
    if (!items || !attributes) return tn_fail_memory("the fields of a node");
    for (size_t i = 0; i < count; i++) {
        const Tenon__Plan__Attribute *from = message->attributes[i];
        items[i] = (tn_attribute){.size = sizeof(*items), .type = from->type, .name = from->name};
        attributes[i] = &items[i];
        TN_TRY(tn_error_at(read_value(reader, from, &items[i]), "field '%s'", from->name));
    }
    *out_attributes = attributes;
    return TN_OK;
}
