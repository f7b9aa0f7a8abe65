/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph: a network as nodes and tensors, read from a file (tenon/import.h) or built by hand. It
 * is not tied to shapes: the builder has those.
 */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include <tenon/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_graph tn_graph;

/* A tensor of a graph, by number. */
typedef uint32_t tn_tensor_id;
#define TN_NO_TENSOR UINT32_MAX /* an absent optional input, an output that nobody wants */
/* A node of a graph, by number (tenon/describe.h). */
#define TN_NO_NODE UINT32_MAX /* of a tensor that no node computes */

/* Makes an empty graph, which holds its runtime; the caller destroys it. `name` may be null.
 * TN_ERROR_ARGUMENT, TN_ERROR_MEMORY. [thread: one at a time for one graph, in all calls here] */
TN_EXPORT tn_status tn_graph_create(tn_runtime *runtime, const char *name, tn_graph **out_graph);
TN_EXPORT void tn_graph_destroy(tn_graph *graph); /* null is fine */

/* Says which opset of a domain nodes added by hand without a version mean. Default: the newest
 * registered. */
TN_EXPORT tn_status tn_graph_set_opset(tn_graph *graph, const char *domain, uint32_t version);

/* Adds an input. `extents` holds `rank` numbers, -1 for one that is known only at run time; `names`
 * (may be null, as may each of them) names unknown extents: the same name means the same extent
 * everywhere. TN_ERROR_ARGUMENT (no name, or one that is taken; no extents), TN_ERROR_TYPE,
 * TN_ERROR_SHAPE (a rank above TN_MAX_RANK, an extent below -1), TN_ERROR_MEMORY: the graph is as
 * it was. */
TN_EXPORT tn_status tn_graph_add_input(tn_graph *graph, const char *name, tn_type type,
                                       uint32_t rank, const int64_t *extents,
                                       const char *const *names, tn_tensor_id *out_tensor);
/* Adds a constant; `data` holds the elements in linear order and is copied. Strings: their
 * elements, and behind them their heap, which is all the rest of `bytes` (tenon/plugin/string.h).
 * TN_ERROR_RANGE names the first element that is not within the heap. Otherwise as
 * tn_graph_add_input; TN_ERROR_ARGUMENT, too: `bytes` is not what type and shape take. */
TN_EXPORT tn_status tn_graph_add_constant(tn_graph *graph, const char *name, tn_type type,
                                          uint32_t rank, const int64_t *extents, const void *data,
                                          uint64_t bytes, tn_tensor_id *out_tensor);

/* A node to add. Strings and arrays are copied. */
typedef struct tn_node_description {
    uint32_t size;
    uint32_t version; /* 0: what the opset says */
    const char *domain, *op;
    const char *name; /* null: one is made */
    uint32_t input_count, output_count;
    const tn_tensor_id *inputs; /* TN_NO_TENSOR for an absent one */
    const char *const
        *output_names; /* null, or each may be null: made; "" : the output is not wanted */
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
} tn_node_description;
/* Adds a node; its operator must be registered and its fields fit the operator's table.
 * `out_outputs` (room for output_count) gets its tensors. TN_ERROR_UNSUPPORTED with the nearest
 * name; TN_ERROR_ARGUMENT, TN_ERROR_RANGE, TN_ERROR_TYPE name the field. */
TN_EXPORT tn_status tn_graph_add_node(tn_graph *graph, const tn_node_description *node,
                                      tn_tensor_id *out_outputs);

/* Makes a graph one that a field of a node of `graph` may be (an attribute of type TN_FIELD_GRAPH,
 * whose `graph` is *out_body). The body's last `capture_count` inputs are what it captured; the
 * node has them as its last inputs, those of its bodies in the order of the operator's fields. On
 * success `graph` owns `body`. A body serves one field of one node. TN_ERROR_ARGUMENT,
 * TN_ERROR_UNSUPPORTED (too many inputs or outputs), TN_ERROR_MEMORY, and what a graph that has no
 * order fails with. See docs/bodies.md. */
struct tn_body_graph;
TN_EXPORT tn_status tn_graph_add_body(tn_graph *graph, tn_graph *body, uint32_t capture_count,
                                      const struct tn_body_graph **out_body);
/* Makes a tensor an output, after those before; `name` null keeps the tensor's own.
 * TN_ERROR_ARGUMENT: there is no such tensor; TN_ERROR_MEMORY. */
TN_EXPORT tn_status tn_graph_add_output(tn_graph *graph, tn_tensor_id tensor, const char *name);
/* Forgets the outputs, so that others can be chosen. */
TN_EXPORT void tn_graph_clear_outputs(tn_graph *graph);
/* Finds a tensor by name. TN_ERROR_NOT_FOUND. */
TN_EXPORT tn_status tn_graph_find(const tn_graph *graph, const char *name,
                                  tn_tensor_id *out_tensor);

/* What an input or output is. `extents` -1: known at run time; `names[i]` null or the extent's
 * name. Has the lifetime of the graph (or the engine that gave it). */
typedef struct tn_port_info {
    uint32_t size;
    tn_type type;
    const char *name;
    uint32_t rank;     /* UINT32_MAX: not known before shapes are */
    uint32_t is_value; /* 1: an input whose value decides shapes */
    const int64_t *extents;
    const char *const *names;
    uint32_t kind;    /* TN_KIND_... (tenon/plugin/sequence.h); 0: a dense tensor. `type` is that of
                         the items, of maps that of the values; of all but dense tensors `rank` is
                         UINT32_MAX */
    tn_type key_type; /* of maps: TN_I64 or TN_STRING; TN_NONE: known when shapes are */
} tn_port_info;
TN_EXPORT uint32_t tn_graph_input_count(const tn_graph *graph);
TN_EXPORT uint32_t tn_graph_output_count(const tn_graph *graph);
TN_EXPORT const tn_port_info *tn_graph_input(const tn_graph *graph,
                                             uint32_t index); /* null past the end */
TN_EXPORT const tn_port_info *tn_graph_output(const tn_graph *graph, uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
