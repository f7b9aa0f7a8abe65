/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Widening: on a processor, which computes 16-bit floats by converting them, the nodes of such a
 * network compute in 32-bit floats, and conversions are left at the border of those nodes. Which
 * ones: widen_nodes.c; the graph: widen.c.
 */
#ifndef TN_BUILDER_WIDEN_WIDEN_H
#define TN_BUILDER_WIDEN_WIDEN_H

#include "builder/passes/passes.h"

typedef struct tn_widener {
    tn_pass_context *context;
    tn_graph *graph;
    tn_arena *arena;       /* of this pass */
    size_t tensor_count;   /* of which types are known: those that passes add come after them */
    const tn_type *halves; /* by tensor: its type of 16-bit floats, or TN_NONE */
    const void **data;     /* by tensor, of constants of 16-bit floats that are read: widened */
    bool *is_wide;         /* by node: it computes in 32-bit floats */
} tn_widener;

static inline bool tn_widener_is_half(const tn_widener *widener, tn_tensor_id tensor) {
    return tensor < widener->tensor_count && widener->halves[tensor] != TN_NONE;
}

/* Sets is_wide: of nodes whose operators' rules answer the same for 32-bit floats, given those for
 * the 16-bit ones, and that lose no kernel so. */
tn_status tn_widener_find_nodes(tn_widener *widener);

#endif
