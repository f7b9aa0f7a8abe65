/* SPDX-License-Identifier: Apache-2.0 */
/* Operators for nodes without domain and version, and their fields; see custom.h. */
#include "importers/common/custom.h"
#include "base/status.h"
#include "graph/infer.h"

#include <math.h>
#include <string.h>

/* The fields of an operator that a message may show. */
static const tn_field *find_field(const tn_operator *op, const char *name) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_import_field(op, i);
        if (field && strcmp(field->name, name) == 0) return field;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------
 * fields */

static bool is_whole(double value) {
    return value == floor(value) && fabs(value) <= 9007199254740992.0;
}

/* Files that know but one kind of number, or promote a list to it, have whole numbers as floats. */
static tn_status floats_to_integers(tn_arena *arena, tn_attribute *attribute) {
    const double *from = attribute->items;
    int64_t *to = tn_arena_allocate(arena, (size_t)attribute->count, sizeof(*to));
    if (!to) return tn_fail_memory("a field");
    for (uint64_t i = 0; i < attribute->count; i++) {
        if (!is_whole(from[i])) return TN_OK; /* as it is: the field's table says why not */
        to[i] = (int64_t)from[i];
    }
    attribute->type = TN_FIELD_I64S;
    attribute->items = to;
    return TN_OK;
}

static bool takes_integers(const tn_field *field) {
    return field->type == TN_FIELD_BOOL || field->type == TN_FIELD_I32 ||
           field->type == TN_FIELD_I64 || field->type == TN_FIELD_I64S ||
           field->type == TN_FIELD_ENUM;
}

/* Element types go by name. */
static tn_status name_type(tn_attribute *attribute) {
    if (attribute->i == TN_NONE)
        return tn_fail(TN_ERROR_UNSUPPORTED, "field '%s' is an element type that is not supported",
                       attribute->name);
    attribute->type = TN_FIELD_STRING;
    attribute->s = tn_type_name((tn_type)attribute->i);
    return TN_OK;
}

static tn_status fit_value(tn_arena *arena, const tn_field *field, tn_attribute *attribute) {
    if (attribute->type == TN_FIELD_TYPE) return name_type(attribute);
    if (!field || !takes_integers(field)) return TN_OK;
    if (attribute->type == TN_FIELD_F64 && is_whole(attribute->f)) {
        attribute->type = TN_FIELD_I64;
        attribute->i = (int64_t)attribute->f;
    }
    /* a list of one where one is asked for */
    if (attribute->type == TN_FIELD_I64S && attribute->count == 1 && field->type != TN_FIELD_I64S) {
        attribute->type = TN_FIELD_I64;
        attribute->i = *(const int64_t *)attribute->items;
    }
    return attribute->type == TN_FIELD_F64S ? floats_to_integers(arena, attribute) : TN_OK;
}

static tn_status fit_fields(tn_arena *arena, const tn_operator *op, size_t count,
                            const tn_custom_field *fields, uint64_t *out_count,
                            const tn_attribute *const **out_attributes) {
    const tn_attribute **list = tn_arena_allocate(arena, count, sizeof(*list));
    tn_attribute *values = tn_arena_allocate(arena, count, sizeof(*values));
    if (!list || !values) return tn_fail_memory("a node's fields");
    uint64_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const tn_field *field = find_field(op, fields[i].value.name);
        if (!field && fields[i].may_be_dropped) continue;
        values[kept] = fields[i].value;
        TN_TRY(fit_value(arena, field, &values[kept]));
        list[kept] = &values[kept];
        kept++;
    }
    *out_count = kept;
    *out_attributes = list;
    return TN_OK;
}

/* The fields as they came, for the message. */
static tn_status describe(tn_runtime *runtime, tn_arena *arena, const char *name, tn_status status,
                          size_t count, const tn_custom_field *fields) {
    const tn_attribute **list = tn_arena_allocate(arena, count, sizeof(*list));
    if (!list) return tn_fail_memory("a message");
    for (size_t i = 0; i < count; i++)
        list[i] = &fields[i].value;
    return tn_missing_describe(runtime, name, status, count, list);
}

/* ONNX's own operator of that name does something else unless it takes the node's fields. */
static tn_status check_builtin(tn_arena *arena, const tn_operator *op, uint64_t count,
                               const tn_attribute *const *attributes) {
    void *params;
    if (op->domain[0] || tn_fields_parse(arena, op, count, attributes, &params) == TN_OK)
        return TN_OK;
    const char *reason = tn_arena_text(arena, tn_last_error()->message);
    if (!reason) return tn_fail_memory("a message");
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "no library has an operator '%s' for this node, and ONNX's own takes other "
                   "fields (%s)",
                   op->name, reason);
}

tn_status tn_custom_find(tn_runtime *runtime, tn_arena *arena, const char *name, size_t field_count,
                         const tn_custom_field *fields, const tn_operator **out_entry,
                         uint64_t *out_attribute_count,
                         const tn_attribute *const **out_attributes) {
    const tn_operator *entry;
    tn_status status = tn_registry_find_any(tn_runtime_registry(runtime), name, &entry);
    if (status != TN_OK) return describe(runtime, arena, name, status, field_count, fields);
    status = fit_fields(arena, op, field_count, fields, out_attribute_count, out_attributes);
    if (status == TN_OK) {
        status = check_builtin(arena, op, *out_attribute_count, *out_attributes);
        if (status != TN_OK) status = describe(runtime, arena, name, status, field_count, fields);
    }
    if (status != TN_OK) {
        tn_library_release(entry->library);
        return status;
    }
    *out_entry = entry;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * shapes */

static tn_status add_inputs(tn_import_graph *graph, uint32_t count, const tn_custom_input *inputs,
                            tn_import_tensor *out_ids) {
    for (uint32_t i = 0; i < count; i++) {
        const tn_custom_input *input = &inputs[i];
        size_t bytes;
        const char *name = tn_import_make_name(graph, input->name);
        if (!name) return tn_fail_memory("a tensor's name");
        TN_TRY(tn_format_bytes(TN_LINEAR, input->type, &input->shape, &bytes));
        if (input->data && bytes > 0)
            TN_TRY(tn_import_add_constant(graph, name, input->type, &input->shape, input->data,
                                              bytes, &out_ids[i]));
        else
            TN_TRY(tn_import_add_input(graph, name, input->type, input->shape.rank,
                                      input->shape.extents, NULL, &out_ids[i]));
    }
    return TN_OK;
}

/* The one node in a graph of its own. */
static tn_status add_node(tn_import_graph *graph, const char *name, const tn_operator *entry,
                          uint64_t attribute_count, const tn_attribute *const *attributes,
                          uint32_t input_count, const tn_import_tensor *inputs, uint32_t output_count,
                          tn_import_tensor *outputs) {
    for (uint32_t i = 0; i < output_count; i++)
        TN_TRY(tn_import_add_tensor(graph, NULL, &outputs[i]));
    tn_library_retain(entry->library);
    const tn_status status =
        tn_graph_add_node_raw(graph, name, entry, attribute_count, attributes, input_count, inputs,
                              output_count, outputs, NULL);
    if (status != TN_OK) tn_library_release(entry->library);
    for (uint32_t i = 0; i < output_count && status == TN_OK; i++)
        TN_TRY(tn_import_add_output(graph, outputs[i], NULL));
    return status == TN_OK ? tn_graph_sort(graph) : status;
}

/* Shapes of the graph's inputs, in their order; constants are none. */
static tn_status run_inference(const tn_import_graph *graph, tn_arena *arena, uint32_t output_count,
                               const tn_import_tensor *outputs, tn_type *out_types,
                               tn_shape *out_shapes) {
    tn_inference_plan plan;
    tn_inference inference = {0};
    tn_status status = TN_OK;
    tn_shape *shapes = tn_arena_allocate(arena, graph->input_count, sizeof(*shapes));
    if (!shapes) return tn_fail_memory("shapes");
    for (size_t i = 0; i < graph->input_count; i++)
        shapes[i] = graph->tensors[graph->inputs[i]].shape;
    TN_TRY(tn_inference_plan_create(graph, arena, &plan));
    TN_GO(tn_inference_init(&inference, graph, &plan));
    TN_GO(tn_inference_run(&inference, shapes, NULL));
    for (uint32_t i = 0; i < output_count; i++) {
        const tn_tensor_storage *storage = &inference.tensors[outputs[i]].storage;
        out_types[i] = storage->tensor.type;
        out_shapes[i] = storage->shape;
    }
done:
    tn_inference_deinit(&inference);
    return status;
}

tn_status tn_custom_infer(tn_runtime *runtime, const char *name, const tn_operator *entry,
                          uint64_t attribute_count, const tn_attribute *const *attributes,
                          uint32_t input_count, const tn_custom_input *inputs,
                          uint32_t output_count, tn_type *out_types, tn_shape *out_shapes) {
    tn_import_graph *graph = NULL;
    tn_arena *arena = NULL;
    tn_status status = TN_OK;
    TN_GO(tn_graph_create(runtime, name, &graph));
    TN_GO(tn_arena_create(tn_runtime_allocator(runtime), &arena));
    tn_import_tensor *ids = tn_arena_allocate(arena, (size_t)input_count + output_count, sizeof(*ids));
    if (!ids) TN_GO(tn_fail_memory("a node"));
    TN_GO(add_inputs(graph, input_count, inputs, ids));
    TN_GO(add_node(graph, name, entry, attribute_count, attributes, input_count, ids, output_count,
                   ids + input_count));
    TN_GO(run_inference(graph, arena, output_count, ids + input_count, out_types, out_shapes));
done:
    tn_arena_destroy(arena);
    tn_graph_destroy(graph);
    return status;
}
