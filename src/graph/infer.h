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
#include "graph/run_state.h"

typedef struct tn_inference_plan {
    const bool *is_host_node;   /* by node: its value is needed */
    const bool *is_host_tensor; /* by tensor: its value is needed */
    const bool *is_value_input; /* by graph input: its value is needed */
    const bool *is_run_value;   /* by tensor: the same, but a run computes it (is_value_step) */
    bool is_sized_by_run; /* some live node has an output sized by run, or one that is a sequence or
                             an optional: shapes after it are bounds only. Not so for host nodes,
                             whose outputs have their true shape */
    const bool
        *is_after_run;  /* by node: some input's shape is known only after a sized-by-run output */
    bool is_whole;      /* every node is computed here, whatever the size of its value: a body */
    bool is_types_only; /* of the inputs types alone are known, and types alone are asked for */
    const bool *is_left_out; /* by node: nothing depends on it that is asked for; null: none is */
} tn_inference_plan;
/* Arrays in `arena`. The graph must be sorted. */
tn_status tn_inference_plan_create(const tn_graph *graph, tn_arena *arena,
                                   tn_inference_plan *out_plan);

/* By tensor: what inference finds of its extents are bounds, since a run sizes it, or what it
 * follows from. The array is in `arena`. */
tn_status tn_inference_find_bounds(const tn_graph *graph, const tn_inference_plan *plan,
                                   tn_arena *arena, const bool **out_bounds);

/* The state of one inference: an entry a tensor. The value (storage.tensor.data) is host memory
 * (linear) or null: constants' data, values given for inputs (copied), and what host nodes
 * computed. */
typedef struct tn_inferred_tensor {
    tn_tensor_storage storage; /* linear; storage.tensor.data is the value */
    bool is_known;             /* type and shape are there; never of a sequence or an optional */
    bool is_described; /* of these: what all items have in common is there, and, in a run, `data` */
    uint32_t unbounded;  /* bit i: nothing bounds the extent along axis i, the number there is a
                            guess (tenon/plugin/output.h); TN_UNBOUNDED_RANK: nor the rank */
    bool is_guess;       /* inferred from such a tensor before it had its size */
    bool is_rank_guess;  /* the same of its rank, or that rank itself */
    bool is_value_guess; /* its value is one that a run will find, or follows from such a value */
    void *buffer;        /* owned: where a computed or given value lies; kept for next time */
    size_t buffer_bytes;
} tn_inferred_tensor;

/* Whether the shape is more than a guess. */
static inline bool tn_inferred_has_shape(const tn_inferred_tensor *inferred) {
    return inferred->is_known && !inferred->unbounded && !inferred->is_guess;
}

/* A graph and its plan may be shared by threads; an inference belongs to one thread at a time. */
typedef struct tn_inference {
    const tn_graph *graph;
    const tn_inference_plan *plan;
    tn_inferred_tensor *tensors;
    size_t tensor_count;        /* the graph's when this was made: passes may add constants later */
    const tn_type *input_types; /* null: as the graph declares them; a body's are its caller's */
    const struct tn_heap *const *input_heaps; /* of values that are strings; null: there are none */
    const tn_allocator *allocator;
    uint32_t *questions;                  /* as tn_call_scope has them; null: each node its own */
    const tn_run_state *run;              /* asked before each node; null: it cannot be cancelled */
    struct tn_inference_scratch *scratch; /* private to infer.c */
} tn_inference;

/* Where the shapes of a graph with open extents are inferred before any run: the ends and the
 * optimum of a profile, and once with different extents apart (program/probe.h). What holds at all
 * of them is taken for a property of the graph. */
enum {
    TN_POINT_MINIMUM = 0,
    TN_POINT_OPTIMUM = 1,
    TN_POINT_MAXIMUM = 2,
    TN_POINT_APART = 3,
    TN_POINTS = 4
};

/* The largest value that may decide a shape. */
#define TN_INFERENCE_VALUE_BYTES ((size_t)64 << 20)

/* The graph and the plan must outlive it and must not change. */
tn_status tn_inference_init(tn_inference *inference, const tn_graph *graph,
                            const tn_inference_plan *plan);
/* The same in memory of an allocator, which must outlive it. */
tn_status tn_inference_init_in(tn_inference *inference, const tn_graph *graph,
                               const tn_inference_plan *plan, const tn_allocator *allocator);
void tn_inference_deinit(tn_inference *inference); /* a zeroed one is fine */
/* One shape an input (graph order); `values[i]` null where it is not needed, `values` null when
 * none is. Checks declared extents and that extents of the same name agree. Errors name the node
 * (tn_error_at). After the first run with the largest sizes it allocates nothing. Nodes after a
 * sized-by-run output are inferred from the bounds as if those were true; where that fails, their
 * outputs are left with is_known false. */
tn_status tn_inference_run(tn_inference *inference, const tn_shape *shapes,
                           const void *const *values);
/* Infers (and, for host nodes, computes) one node whose inputs are known; for the executor of
 * sized-by-run networks, which has set the true shapes (tn_tensor_init on the entry's storage) and
 * values of those inputs that a run sized. */
tn_status tn_inference_node(tn_inference *inference, uint32_t node);
/* Whether a run has found all values that the node's shape, or its value, follows from. */
bool tn_inference_has_values(const tn_inference *inference, uint32_t node);
/* Sets what a run found out: a tensor's true shape and, when it is a host tensor, its value
 * (copied; null: none). */
tn_status tn_inference_set(tn_inference *inference, tn_tensor_id tensor, const tn_shape *shape,
                           const void *value);

/* The same of a sequence or an optional: what its items have in common, and the list of them. */
void tn_inference_set_items(tn_inference *inference, tn_tensor_id tensor, const tn_tensor *items);

/* Computes a node by its operator's reference on linear host tensors: for folding and host nodes.
 * Inputs' and outputs' data must be there; what only its shape is read of is hidden from the
 * operator. Views are copied. Outputs sized by run come back with their true shape. */
tn_status tn_evaluate_node(const tn_graph *graph, uint32_t node, const tn_tensor *const *inputs,
                           tn_tensor *const *outputs);

#endif
