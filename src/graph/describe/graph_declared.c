/* SPDX-License-Identifier: Apache-2.0 */
/* What a model declares of the tensors that its nodes compute; it is compared when shapes are known
 * (src/builder/declared.c). Declared in graph.h. */
#include "base/status.h"
#include "graph/graph_private.h"

tn_status tn_graph_declare(tn_graph *graph, const tn_graph_declaration *declaration) {
    struct tn_graph_private *own = graph->private_part;
    const char *name = tn_arena_text(graph->arena, declaration->name);
    if (!name) return tn_fail_memory("a declaration");
    TN_TRY(tn_grow(graph->allocator, (void **)&own->declarations, &own->declaration_capacity,
                   own->declaration_count + 1, sizeof(*own->declarations)));
    own->declarations[own->declaration_count] = *declaration;
    own->declarations[own->declaration_count++].name = name;
    tn_graph_tensor *tensor = &graph->tensors[declaration->tensor];
    if (tensor->declaration == 0) tensor->declaration = (uint32_t)own->declaration_count;
    return TN_OK;
}

const tn_graph_declaration *tn_graph_declarations(const tn_graph *graph, size_t *out_count) {
    const struct tn_graph_private *own = graph->private_part;
    *out_count = own->is_declaration_forgotten ? 0 : own->declaration_count;
    return own->declarations;
}

void tn_graph_forget_declarations(tn_graph *graph) {
    graph->private_part->is_declaration_forgotten = true;
}

const tn_graph_declaration *tn_graph_declaration_of(const tn_graph *graph, tn_tensor_id tensor) {
    const struct tn_graph_private *own = graph->private_part;
    const uint32_t number = graph->tensors[tensor].declaration;
    if (number == 0 || number > own->declaration_count) return NULL;
    return &own->declarations[number - 1];
}

tn_status tn_graph_copy_declarations(tn_graph *to, const tn_graph *from) {
    const struct tn_graph_private *own = from->private_part;
    for (size_t i = 0; i < own->declaration_count; i++)
        TN_TRY(tn_graph_declare(to, &own->declarations[i]));
    to->private_part->is_declaration_forgotten = own->is_declaration_forgotten;
    return TN_OK;
}
