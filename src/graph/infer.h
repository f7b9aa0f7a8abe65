/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inference: from the inputs' shapes (and values, where shapes depend on them) to the type and
 * shape of every tensor of a sorted graph. Concrete numbers only: who needs a profile infers three
 * times. Used by the builder and at every reshape.
 *
 * Values: a node whose output feeds, directly or through others, a port with TN_PORT_VALUE_NEEDED
 * is a *host node*: it is computed here, by its operator's reference, on the host.
 * tn_inference_plan_create finds them once a graph.
 */
#ifndef TN_GRAPH_INFER_H
#define TN_GRAPH_INFER_H

#include "graph/graph.h"

typedef struct tn_inference_plan {
    const bool *is_host_node;   /* by node: its value is needed */
    const bool *is_host_tensor; /* by tensor: its value is needed */
    const bool *is_value_input; /* by graph input: its value is needed */
    bool is_sized_by_run; /* some live node has an output sized by run: shapes after it are bounds
                             only */
    const bool
        *is_after_run; /* by node: some input's shape is known only after a sized-by-run output */
} tn_inference_plan;
/* Arrays in `arena`. The graph must be sorted. */
tn_status tn_inference_plan_create(const tn_graph *graph, tn_arena *arena,
                                   tn_inference_plan *out_plan);

/* The state of one inference: an entry a tensor. `value` is host memory (linear) or null:
 * constants' data, values given for inputs, and what host nodes computed. */
typedef struct tn_inferred_tensor {
    tn_tensor_storage storage; /* linear; storage.tensor.data is the value */
    bool is_known;
} tn_inferred_tensor;

typedef struct tn_inference {
    const tn_graph *graph;
    const tn_inference_plan *plan;
    tn_inferred_tensor *tensors; /* graph->tensor_count */
    tn_arena *arena;             /* of the values; reset with each tn_inference_run */
    const tn_allocator *allocator;
} tn_inference;

tn_status tn_inference_init(tn_inference *inference, const tn_graph *graph,
                            const tn_inference_plan *plan);
void tn_inference_deinit(tn_inference *inference);
/* One shape an input (graph order); `values[i]` null where it is not needed. Checks declared
 * extents and that extents of the same name agree. Errors name the node (tn_error_at). */
tn_status tn_inference_run(tn_inference *inference, const tn_shape *shapes,
                           const void *const *values);
/* Infers (and, for host nodes, computes) one node whose inputs are known; for the executor of
 * sized-by-run networks. */
tn_status tn_inference_node(tn_inference *inference, uint32_t node);

/* Computes a node by its operator's reference on linear host tensors: for folding and host nodes.
 * Inputs' and outputs' data must be there. */
tn_status tn_evaluate_node(const tn_graph *graph, uint32_t node, const tn_tensor *const *inputs,
                           tn_tensor *const *outputs);

#endif
