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
    return TN_OK;
}

const tn_graph_declaration *tn_graph_declarations(const tn_graph *graph, size_t *out_count) {
    *out_count = graph->private_part->declaration_count;
    return graph->private_part->declarations;
}

void tn_graph_forget_declarations(tn_graph *graph) {
    graph->private_part->declaration_count = 0;
}
