/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that an operator's questions get at build time (is_identity, facet): linear
 * descriptors of a node's tensors, data of constants alone. Kernels' calls are candidate_call.c's.
 */
#ifndef TN_PROGRAM_NODE_CALL_H
#define TN_PROGRAM_NODE_CALL_H

#include "graph/graph.h"

typedef struct tn_node_call {
    tn_call call;
    tn_call_scope scope;
} tn_node_call;
/* `tensors`: by tensor id, null where nothing is known. Everything lies in `arena`; must not be
 * moved. */
tn_status tn_node_call_init(tn_node_call *node_call, tn_arena *arena, const tn_graph *graph,
                            uint32_t node, const tn_tensor *const *tensors);

#endif
