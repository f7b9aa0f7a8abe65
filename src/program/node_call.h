/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that an operator's questions get at build time (is_identity, epilogue): linear
 * descriptors of a node's tensors, data of constants alone. Kernels' calls are candidate_call.c's.
 */
#ifndef TN_PROGRAM_NODE_CALL_H
#define TN_PROGRAM_NODE_CALL_H

#include "graph/graph.h"

/* Epilogues that one kernel absorbs at most; of chains shorter than they could be, those up to
 * TN_CHAIN_SHORT are weighed, too. */
#define TN_CHAIN_LIMIT 8
#define TN_CHAIN_SHORT 4

typedef struct tn_node_call {
    tn_call call;
    tn_call_scope scope;
} tn_node_call;
/* `tensors`: by tensor id, null where nothing is known. Everything lies in `arena`; must not be
 * moved. */
tn_status tn_node_call_init(tn_node_call *node_call, tn_arena *arena, const tn_graph *graph,
                            uint32_t node, const tn_tensor *const *tensors);

/* A node as an epilogue on the tensor `chained`, one of its inputs: as its operator describes it,
 * or, for an elementwise operator of one tensor with a row function, as a ROW. Answers false when
 * it is none, and when it needs a value that is not a constant. The operand is still the node's own
 * input. TN_ERROR_MEMORY. */
tn_status tn_node_call_epilogue(const tn_graph *graph, uint32_t node, tn_tensor_id chained,
                                const tn_tensor *const *tensors, tn_arena *arena,
                                tn_epilogue *out_epilogue, bool *out_is_epilogue);
/* Whether a step makes this shape of that one: the same, or one element a window. */
bool tn_node_call_makes_shape(const tn_epilogue *epilogue, const tn_shape *from,
                              const tn_shape *to);
/* Whether the kind has an operand. */
bool tn_node_call_has_operand(uint32_t kind);

#endif
