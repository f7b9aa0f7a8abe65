/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies: graphs in the fields of a graph's nodes. The outer graph owns them; a node's attribute
 * and parameters point at their public half (tenon/plugin/body.h). A body's inputs are those that
 * the operator supplies, then what it captured; the node has what is captured as its last inputs.
 */
#ifndef TN_GRAPH_BODY_H
#define TN_GRAPH_BODY_H

#include "graph/graph.h"
#include "graph/run_state.h"
#include "plugin/bodies.h"

/* Bodies in bodies in bodies. */
#define TN_BODY_DEPTH 16u

/* What `infer` was asked for at an input, so far. */
typedef struct tn_body_input {
    tn_type type; /* TN_NONE: nothing yet */
    bool has_rank;
    tn_shape shape; /* -1 where the questions differed */
} tn_body_input;

typedef struct tn_graph_body {
    tn_body_graph view;        /* first: what operators see */
    tn_graph *graph;           /* owned */
    bool is_used;              /* by a node */
    const tn_tensor_id *outer; /* what it captured, while a parser adds the node; else null */
    bool is_recording;         /* while its graph is built: `inputs` are noted */
    tn_body_input *inputs;     /* by input of the graph */
    const bool *decides_shape; /* the same: its value decides shapes in there */
    const void *plan;          /* the network that was built of it, or null */
    size_t plan_bytes;
    void *own_plan; /* `plan`, where it is this graph's */
} tn_graph_body;

static inline tn_graph_body *tn_graph_body_of(const tn_body_graph *view) {
    return (tn_graph_body *)(uintptr_t)view;
}

/* The body's graph is the outer graph's on success. It is sorted; its last `capture_count` inputs
 * are captured. TN_ERROR_ARGUMENT: too many inputs or outputs. */
tn_status tn_graph_own_body(tn_graph *graph, tn_graph *body, uint32_t capture_count,
                            tn_graph_body **out_body);
bool tn_graph_has_body(const tn_graph *graph, const tn_body_graph *body);
/* Copies a body of another graph, which must outlive this one, into a graph. */
tn_status tn_graph_copy_body(tn_graph *graph, const tn_body_graph *from,
                             const tn_body_graph **out_body);
/* Puts copies of a body's nodes in place of a node, whose outputs are the body's first ones; the
 * body has no inputs but captured ones. The node is dead then. The graph is to be sorted, and its
 * new tensors have no shape yet. */
tn_status tn_graph_inline_body(tn_graph *graph, uint32_t node, const tn_graph_body *body);
/* The next body in a node's fields from number `inout_field` on; null: no more. */
tn_graph_body *tn_graph_next_body(const tn_graph_node *node, uint32_t *inout_field);
/* Whether the shape rule is shown the value of an input: at a port with TN_PORT_VALUE_NEEDED, or
 * where a body that captured it needs it for its shapes. */
bool tn_graph_needs_value(const tn_graph_node *node, uint32_t input);
bool tn_graph_node_has_bodies(const tn_graph_node *node);

/* --- constants that new data may come for when all is built (graph_refit.c) --- */
/* The name of one that the node reads, itself or in its bodies; null: none. */
const char *tn_graph_refit_of(const tn_graph *graph, const tn_graph_node *node);
/* Whether one is in the bodies of a node, or theirs. */
bool tn_graph_refit_in_bodies(const tn_graph_node *node);
/* Whether there is one at all, in bodies, too. */
bool tn_graph_has_refit(const tn_graph *graph);
/* Why a constant cannot be one: "its value decides shapes"; null: it can. `is_needed` by tensor, of
 * tn_graph_mark_values. */
const char *tn_graph_refuse_refit(const tn_graph_tensor *tensor, bool is_needed);
/* An input of a body: of any shape, of a type that may not be known yet. */
tn_status tn_graph_add_body_input(tn_graph *graph, const char *name, tn_type type,
                                  tn_tensor_id *out_tensor);

/* An executor that computes bodies by the references of their operators (body_run.c). Keeps its
 * memory from one run to the next. */
typedef struct tn_body_references {
    tn_body_executor executor;
    const tn_allocator *allocator;
    const tn_run_state *run;  /* as an inference has it; null after init */
    uint32_t *questions;      /* the same */
    struct tn_body_run *runs; /* one a body */
} tn_body_references;
void tn_body_references_init(tn_body_references *references, const tn_allocator *allocator);
void tn_body_references_deinit(tn_body_references *references); /* a zeroed one is fine */
/* The infer of every executor. */
tn_status tn_body_infer(tn_body_executor *executor, tn_call *call, const tn_body_graph *body,
                        const tn_tensor *const *inputs, tn_tensor *const *outputs);
/* The value of every executor. */
tn_status tn_body_value(tn_call *call, const tn_body_graph *body, const tn_tensor *const *inputs,
                        uint32_t output, uint64_t bytes, void *data, bool *out_is_known);
/* A body's result where the operator wants it: into an output's memory, or by its descriptor. */
tn_status tn_body_deliver(const tn_body_graph *body, uint32_t index, const tn_tensor *made,
                          tn_tensor *output);
/* Input `index` of the body's graph: one of the operator's, or a captured one of the call. */
const tn_tensor *tn_body_input_at(const tn_call *call, const tn_body_graph *body,
                                  const tn_tensor *const *inputs, uint32_t index);

#endif
