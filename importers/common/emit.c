/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and constants one after the other; see emit.h. */
#include "importers/common/emit.h"
#include "base/status.h"

void tn_emit_keep(tn_emitter *emitter, tn_status status) {
    if (emitter->status == TN_OK) emitter->status = status;
}

const char *tn_emit_enter(tn_emitter *emitter, const char *name) {
    const char *outer = emitter->name;
    if (name) emitter->name = name;
    return outer;
}

const char *tn_emit_free_name(tn_emitter *emitter, const char *base) {
    const char *name = base;
    bool is_taken = name && tn_import_has_tensor(emitter->graph, name);
    /* the graph counts, so that many names of one base take no time */
    while (name && (is_taken ||
                    (emitter->reserved && tn_map_get(emitter->reserved, name, &(uint64_t){0})))) {
        name = tn_import_make_name(emitter->graph, base);
        is_taken = false;
    }
    if (!name) tn_emit_keep(emitter, tn_fail_memory("a name"));
    return name;
}

const char *tn_emit_name(tn_emitter *emitter, const char *part) {
    return tn_emit_free_name(emitter,
                             tn_arena_format(emitter->arena, "%s/%s", emitter->name, part));
}

/* ----------------------------------------------------------------------------------------------
 * nodes */

/* NOLINTBEGIN(readability-non-const-parameter): out_outputs is written through the node */
tn_status tn_emit_node(tn_emitter *emitter, const char *name, const char *op,
                       const tn_emit_fields *fields, tn_emit_tensors inputs, uint32_t output_count,
                       const char *const *output_names, tn_import_tensor *out_outputs) {
    /* NOLINTEND(readability-non-const-parameter) */
    const tn_attribute *list[TN_EMIT_FIELDS];
    const uint32_t version = fields ? fields->version : 0;
    tn_import_node node = {.size = sizeof(node),
                           .version = version ? version : emitter->version,
                           .domain = fields && fields->domain ? fields->domain : "",
                           .op_name = op,
                           .name = name,
                           .input_count = inputs.count,
                           .inputs = inputs.items,
                           .output_count = output_count,
                           .output_names = output_names,
                           .out_outputs = out_outputs,
                           .attributes = list};
    bool has_names = name != NULL;
    for (uint32_t i = 0; i < output_count; i++)
        has_names &= output_names[i] != NULL;
    if (!has_names) tn_emit_keep(emitter, tn_fail_memory("a name"));
    for (uint32_t i = 0; fields && i < TN_EMIT_FIELDS; i++)
        if (fields->items[i].name) list[node.attribute_count++] = &fields->items[i];
    if (emitter->status == TN_OK)
        emitter->status = emitter->graph->import->services->add_node(emitter->graph, &node);
    return emitter->status;
}

tn_import_tensor tn_emit(tn_emitter *emitter, const char *part, const char *op,
                         const tn_emit_fields *fields, tn_emit_tensors inputs) {
    tn_import_tensor output = TN_IMPORT_NO_TENSOR;
    if (emitter->status != TN_OK) return output;
    const char *name = tn_arena_format(emitter->arena, "%s/%s", emitter->name, part);
    const char *tensor = tn_emit_free_name(emitter, name);
    (void)tn_emit_node(emitter, name, op, fields, inputs, 1, &tensor, &output);
    return output;
}

tn_import_tensor tn_emit_unary(tn_emitter *emitter, const char *part, const char *op,
                               tn_import_tensor x) {
    return tn_emit(emitter, part, op, NULL, TN_TENSORS(x));
}

tn_import_tensor tn_emit_binary(tn_emitter *emitter, const char *part, const char *op,
                                tn_import_tensor x, tn_import_tensor y) {
    return tn_emit(emitter, part, op, NULL, TN_TENSORS(x, y));
}

tn_import_tensor tn_emit_cast(tn_emitter *emitter, const char *part, const char *type,
                              tn_import_tensor x) {
    return tn_emit(emitter, part, "Cast", TN_EMIT(tn_emit_text("to", type)), TN_TENSORS(x));
}

/* ----------------------------------------------------------------------------------------------
 * constants */

static tn_status add_constant(tn_emitter *emitter, const char *part, bool is_lent, tn_type type,
                              uint32_t rank, const int64_t *extents, const void *data,
                              tn_import_tensor *out_tensor) {
    const char *name = tn_emit_name(emitter, part);
    tn_shape shape;
    size_t bytes;
    TN_TRY(emitter->status);
    TN_TRY(tn_shape_set(&shape, rank, extents));
    TN_TRY(tn_format_bytes(TN_LINEAR, type, &shape, &bytes));
    if (!is_lent) TN_TRY(tn_import_copy(emitter->graph, data, bytes, "a constant", &data));
    return tn_import_add_constant(emitter->graph, name, type, &shape, bytes > 0 ? data : NULL,
                                  bytes, out_tensor);
}

tn_import_tensor tn_emit_lent(tn_emitter *emitter, const char *part, tn_type type, uint32_t rank,
                              const int64_t *extents, const void *data) {
    tn_import_tensor output = TN_IMPORT_NO_TENSOR;
    if (emitter->status == TN_OK)
        emitter->status = add_constant(emitter, part, true, type, rank, extents, data, &output);
    return output;
}

tn_import_tensor tn_emit_constant(tn_emitter *emitter, const char *part, tn_type type,
                                  uint32_t rank, const int64_t *extents, const void *data) {
    tn_import_tensor output = TN_IMPORT_NO_TENSOR;
    if (emitter->status == TN_OK)
        emitter->status = add_constant(emitter, part, false, type, rank, extents, data, &output);
    return output;
}

tn_import_tensor tn_emit_scalar(tn_emitter *emitter, const char *part, double value) {
    const float element = (float)value;
    return tn_emit_constant(emitter, part, TN_F32, 0, NULL, &element);
}

tn_import_tensor tn_emit_list(tn_emitter *emitter, const char *part, size_t count,
                              const int64_t *items) {
    const int64_t extent = (int64_t)count;
    return tn_emit_constant(emitter, part, TN_I64, 1, &extent, items);
}
