/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of tn_graph: tensors and nodes by number, in arrays. Parsers and callers add, passes
 * change, everybody else reads. Knows nothing of kernels. Public side: tenon/graph.h.
 */
#ifndef TN_GRAPH_GRAPH_H
#define TN_GRAPH_GRAPH_H

#include "base/file.h"
#include "plugin/runtime.h"
#include <stdatomic.h>
#include <tenon/describe.h>
#include <tenon/graph.h>
#include <tenon/plugin/string.h>

typedef struct tn_graph_tensor {
    const char *name; /* never null */
    tn_type type;     /* TN_NONE until inferred */
    bool is_constant, is_input;
    tn_shape shape; /* of constants, and as declared by inputs (extent -1: unknown) */
    bool has_shape;
    const char *extent_names[TN_MAX_RANK]; /* of inputs, and of what nodes compute as the model
                                              declares it: null or a name */
    const void *data; /* of constants: linear elements, in the arena or in a mapped file of the
                         graph; aligned to the element. Null when the constant has no elements */
    size_t bytes;     /* of data, the heap of strings included */
    tn_constant_note *note; /* of a constant of a plan: checked before it is read. Null: none */
    tn_heap *heap; /* of a constant of strings: what follows the elements in `data`; else null */
    const tn_quantization *quantization;
    const char *refit_name; /* of constants: new data may come under this name when all is built, so
                                that no pass may use what the data is; null: it stays as it is */
    uint32_t declaration;   /* 1 + that of its type and shape by the model; 0: none */
    uint32_t producer;      /* node, or TN_NO_NODE */
    uint32_t kind;      /* of inputs: TN_KIND_...; of all others their producer's port says it */
    tn_type key_type;   /* of inputs that are maps */
    uint32_t use_count; /* inputs of live nodes and graph outputs that name it */
} tn_graph_tensor;

/* A node's inputs and outputs are as many as the operator's ports: absent optional ones at the end
 * are there as TN_NO_TENSOR, so that callbacks may look at every fixed port. Only tensors of a
 * variadic port are counted by the node. An output is absent only where its port is optional: one
 * that nobody named is a tensor that nobody uses. */
typedef struct tn_graph_node {
    const char *name;               /* never null, unique is not promised */
    const tn_operator_entry *entry; /* counted: the graph holds one of its library */
    void *params; /* by entry->op's table; null when it has none and no params_bytes */
    uint64_t attribute_count;
    const tn_attribute *const
        *attributes; /* as they came, for saving; tensors' data as in constants */
    uint32_t input_count, output_count;
    tn_tensor_id *inputs, *outputs; /* TN_NO_TENSOR for absent ones */
    bool is_dead;
    bool is_exact; /* with TN_OPERATOR_EXACT: no run sizes its outputs (program/profile_exact.c) */
    bool is_value_step; /* its value may decide shapes, and a run computes it: no inference does */
    bool has_lent_params; /* of a copy, whose original frees them */
    const char *rewrite;  /* the one that put it in place; null: none */
} tn_graph_node;

struct tn_graph {
    atomic_uint references;
    tn_graph *original;  /* of a copy: its constants' data is that one's; counted, or null */
    tn_runtime *runtime; /* counted */
    const tn_allocator *allocator;
    tn_arena *arena;
    const char *name;
    tn_graph_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    tn_graph_node *nodes; /* not sorted until tn_graph_sort */
    size_t node_count, node_capacity;
    tn_tensor_id *inputs, *outputs;
    const char **output_names;
    size_t input_count, input_capacity, output_count, output_capacity, output_name_capacity;
    tn_file *files; /* mapped files that constants point into */
    size_t file_count, file_capacity;
    struct tn_map *names;                  /* tensor names */
    struct tn_graph_private *private_part; /* opsets, port infos */
};

/* --- adding (tenon/graph.h has the checked public calls) --- */
/* A tensor that nobody makes yet. `name` null or "": one is made; a name that is there already is
 * TN_ERROR_ARGUMENT. */
tn_status tn_graph_add_tensor(tn_graph *graph, const char *name, tn_type type,
                              tn_tensor_id *out_tensor);
/* A constant whose data is not copied: it must outlive the graph, and plans that are built of it
 * until somebody asks for their bytes. */
tn_status tn_graph_add_constant_lent(tn_graph *graph, const char *name, tn_type type,
                                     const tn_shape *shape, const void *data, size_t bytes,
                                     tn_tensor_id *out_tensor);
/* A node whose tensors are there already. Attributes are copied, but not the data of tensors in
 * them, which must outlive the graph; the parameters are made from them. On success the
 * graph takes over the caller's count on entry's library. `name` null or "": one is made. Errors
 * name operator and field or port. */
tn_status tn_graph_add_node_raw(tn_graph *graph, const char *name, const tn_operator_entry *entry,
                                uint64_t attribute_count, const tn_attribute *const *attributes,
                                uint32_t input_count, const tn_tensor_id *inputs,
                                uint32_t output_count, const tn_tensor_id *outputs,
                                uint32_t *out_node);
/* A node of the standard operator that converts (importers/edits/cast.c), named as `to`, a tensor
 * of that type that nobody makes yet. TN_ERROR_UNSUPPORTED: the operator is not there. */
tn_status tn_graph_add_cast(tn_graph *graph, tn_tensor_id from, tn_tensor_id to, tn_type type);
/* One more owner; each calls tn_graph_destroy, and the last one's ends it. [thread: any] */
tn_graph *tn_graph_retain(tn_graph *graph);
tn_status tn_graph_own_file(tn_graph *graph, tn_file *file); /* takes it over on success */
/* Memory in the graph's arena, 64-byte aligned, zeroed; null: no memory. */
void *tn_graph_allocate_data(tn_graph *graph, size_t bytes);
/* What tn_graph_set_opset said of a domain; 0: nothing. */
uint32_t tn_graph_opset_version(const tn_graph *graph, const char *domain);
/* A name that no tensor has, beginning with `base`, in the arena; null: no memory. */
const char *tn_graph_make_name(tn_graph *graph, const char *base);
/* How many were made so far: another graph with the same tensors goes on as this one would. */
uint64_t tn_graph_names_made(const tn_graph *graph);
void tn_graph_set_names_made(tn_graph *graph, uint64_t count);
/* A deep copy: constants' data, and parameters that only load or run-time creation can make, are
 * shared, so the copy holds the original. */
tn_status tn_graph_copy(const tn_graph *graph, tn_graph **out_copy);

/* --- what a model declares of tensors that nodes compute (graph_declared.c) --- */
typedef struct tn_graph_declaration {
    tn_tensor_id tensor;
    const char *name; /* the output's, or the tensor's */
    tn_type type;     /* TN_NONE: not said */
    bool is_output, has_shape;
    tn_shape shape; /* extent -1: not known */
} tn_graph_declaration;
/* Notes a declaration; the name is copied. TN_ERROR_MEMORY. */
tn_status tn_graph_declare(tn_graph *graph, const tn_graph_declaration *declaration);
/* Notes what a model calls the extents of a tensor of the graph; an axis whose name is null or
 * empty has none, and `names` may be null. The names are copied; of what nodes compute nothing is
 * inferred from them. TN_ERROR_MEMORY. (graph_add.c) */
tn_status tn_graph_name_extents(tn_graph *graph, tn_graph_tensor *tensor, uint32_t rank,
                                const char *const *names);
/* In the order in which they came; valid until the next one. */
const tn_graph_declaration *tn_graph_declarations(const tn_graph *graph, size_t *out_count);
/* They are compared once: after this there are none to compare. */
void tn_graph_forget_declarations(tn_graph *graph);
/* Into a graph with the same tensors. TN_ERROR_MEMORY. */
tn_status tn_graph_copy_declarations(tn_graph *to, const tn_graph *from);
/* What is declared of a tensor, forgotten or not; null: nothing. */
const tn_graph_declaration *tn_graph_declaration_of(const tn_graph *graph, tn_tensor_id tensor);

/* --- where the model comes from (graph_info.c) --- */
/* Copies it into another graph. TN_ERROR_MEMORY. */
tn_status tn_graph_copy_model_info(tn_graph *to, const tn_graph *from);
/* The same as tn_graph_set_model_info of what an importer has read: what is beyond the bounds is
 * left out, with a warning in the log, and so are entries without a key or with one that is there
 * already. `metadata` may hold nulls. TN_ERROR_MEMORY. */
tn_status tn_graph_import_model_info(tn_graph *graph, const tn_model_info *info);

/* --- checking and order --- */
/* Orders the nodes so that producers come first and drops dead ones; producers and use counts are
 * set anew. TN_ERROR_FORMAT for cycles (names the nodes of one), tensors that nobody makes, tensors
 * made twice. */
tn_status tn_graph_sort(tn_graph *graph);
/* Whether some node, of those that are not in bodies, has an operator of that name in any domain.
 */
bool tn_graph_has_operator(const void *graph, const char *name);
/* Port counts and absent ports: TN_ERROR_ARGUMENT names the port. */
tn_status tn_graph_check_node(const tn_graph *graph, const tn_graph_node *node);
/* --- kinds (graph_kinds.c; tenon/plugin/sequence.h) --- */
/* TN_KIND_... of a node's input or output, as its port says. */
uint32_t tn_graph_input_kind(const tn_graph_node *node, uint32_t index);
uint32_t tn_graph_output_kind(const tn_graph_node *node, uint32_t index);
/* That of the port that writes it, of inputs what was declared; constants are dense. Producers must
 * be set. */
uint32_t tn_graph_kind(const tn_graph *graph, tn_tensor_id tensor);
/* Whether an input of the graph is not dense. */
bool tn_graph_has_kind_inputs(const tn_graph *graph);
/* Whether a tensor is one of the graph's outputs. */
bool tn_graph_is_output(const tn_graph *graph, tn_tensor_id tensor);
/* Of all constants together, as their tensors have them. */
uint64_t tn_graph_constant_bytes(const tn_graph *graph);
/* Nodes that read one tensor read the other one; the graph's outputs stay. */
void tn_graph_replace_reads(tn_graph *graph, tn_tensor_id from, tn_tensor_id to);
/* Whether a node has its first output and no other. */
bool tn_graph_node_has_one_output(const tn_graph_node *node);
/* Whether all outputs that a node has are views of inputs that it has. */
bool tn_graph_node_is_view(const tn_graph_node *node);
/* Whether a node reads or writes a tensor that is not dense. */
bool tn_graph_node_has_kinds(const tn_graph_node *node);
/* Every tensor is read as the kind that it is, and bodies have the kinds that their nodes' ports
 * allow. TN_ERROR_TYPE names node, port and tensor. Producers
 * must be set. */
tn_status tn_graph_check_kinds(const tn_graph *graph);

/* The port of an input or output by its number in the node: the last one for all tensors of a
 * variadic port; null past the end. */
const tn_port *tn_graph_input_port(const tn_operator *op, uint32_t index);
const tn_port *tn_graph_output_port(const tn_operator *op, uint32_t index);
/* Whether a run sizes an output of the node. */
bool tn_graph_output_is_sized(const tn_graph_node *node, uint32_t index);
/* Whether an input's port has a type. */
bool tn_graph_input_takes(const tn_operator_entry *entry, uint32_t index, tn_type type);

/* --- values --- */
/* Marks the tensors whose value is needed to know shapes, and the nodes that compute them: those at
 * ports with TN_PORT_VALUE_NEEDED, and, through their producers, all inputs but those of which only
 * the shape is read. Both arrays are zeroed by the caller; `nodes` may be null. The order of the
 * nodes does not matter; producers must be set. */
tn_status tn_graph_mark_values(const tn_graph *graph, bool *tensors, bool *nodes);
/* Marks a tensor and what its value is computed from as well, where no data goes into it but that
 * of inputs with `is_free`, which the caller has set and which is completed for all tensors. */
tn_status tn_graph_mark_value(const tn_graph *graph, tn_tensor_id tensor, bool *is_free,
                              bool *tensors, bool *nodes);

#endif
