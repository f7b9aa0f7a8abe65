/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the ONNX reader, shared by its files: the reader's state, the scope in which a
 * node's names are looked up, and one function for each kind of thing in a model. The public side
 * is the table in reader.c (tenon/plugin/importer.h); the format's schema is onnx.proto.
 */
#ifndef TN_IMPORTERS_ONNX_ONNX_H
#define TN_IMPORTERS_ONNX_ONNX_H

#include "base/map.h"
#include "base/text.h"
#include "importers/common/import.h"
#include "importers/onnx/onnx.pb-c.h"

typedef Tenon__Onnx__ModelProto tn_onnx_model;
typedef Tenon__Onnx__GraphProto tn_onnx_graph;
typedef Tenon__Onnx__NodeProto tn_onnx_node;
typedef Tenon__Onnx__AttributeProto tn_onnx_attribute;
typedef Tenon__Onnx__TensorProto tn_onnx_tensor;
typedef Tenon__Onnx__ValueInfoProto tn_onnx_value_info;
typedef Tenon__Onnx__FunctionProto tn_onnx_function;
typedef Tenon__Onnx__OperatorSetIdProto tn_onnx_opset;

/* The opsets of ONNX's own domain that are read: a newer one may change what an operator means. */
#define TN_ONNX_OPSET_MINIMUM 1
#define TN_ONNX_OPSET_MAXIMUM 28

/* A tensor as it was read. */
typedef struct tn_onnx_data {
    tn_type type;
    tn_shape shape;
    const void *data; /* has the lifetime of the graph; null when there are no elements */
    size_t bytes;
} tn_onnx_data;

/* The importer's options. */
enum { TN_ONNX_ZIPMAP_KEEP = 0, TN_ONNX_ZIPMAP_DROP = 1 };
typedef struct tn_onnx_options {
    uint64_t present;
    uint32_t zipmap; /* TN_ONNX_ZIPMAP_... */
} tn_onnx_options;

typedef struct tn_onnx_reader {
    tn_import *import;
    const tn_onnx_options *options;
    const tn_allocator *allocator;
    const tn_onnx_model *model;
    tn_import_graph *graph; /* that nodes are added to: the model's, or a body's */
    tn_arena *arena;        /* for what has the lifetime of the reader */
    tn_map *functions;      /* index in model->functions by domain, name and overload */
    tn_map *tensors;        /* index in `shared` of a function's tensor, which is read once */
    tn_onnx_data *shared;
    size_t shared_count, shared_capacity;
    uint64_t nodes_left; /* bound on what functions may expand to */
} tn_onnx_reader;

/* An attribute as a node in a function sees it: the name is the node's, the value may come from the
 * call of the function. */
typedef struct tn_onnx_binding {
    const char *name;
    tn_onnx_attribute *value;
} tn_onnx_binding;

/* Where names are looked up: the model's graph, one call of a function, or a body. */
typedef struct tn_onnx_scope {
    struct tn_onnx_scope *parent; /* null: the model's graph */
    tn_import_graph *graph;
    const tn_onnx_function *function; /* null there */
    const char *prefix;               /* of names of nodes and tensors: "" or "call/" */
    uint32_t depth;
    tn_map *tensors; /* tensor by name; TN_IMPORT_NO_TENSOR for an input that the call leaves out */
    size_t binding_count;
    const tn_onnx_binding *bindings; /* of the call: given attributes, then defaults */
    bool is_body;                    /* names that it does not define are those of the parent */
    tn_import_tensor *captured;      /* of the parent's graph */
    size_t captured_count, captured_capacity;
} tn_onnx_scope;

/* --- tensor.c, external.c --- */
/* The element type of ONNX's number: TN_NONE when there is none of ours. */
tn_type tn_onnx_type(int64_t number);
/* The number's name in ONNX ("STRING"), for messages. */
const char *tn_onnx_type_name(int64_t number);
/* That there is none of ours. */
tn_status tn_onnx_fail_type(int32_t number);
/* Reads a tensor; its data is taken out of the message, mapped or copied, and so it can be read
 * once only, but for one in a function, which may be called again. */
tn_status tn_onnx_tensor_read(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                              tn_onnx_tensor *tensor, tn_onnx_data *out_data);
/* The bytes of a tensor that lie in a file of the model's folder, aligned to `alignment`. */
tn_status tn_onnx_external_read(tn_onnx_reader *reader, const tn_onnx_tensor *tensor, size_t bytes,
                                size_t alignment, const void **out_data);

/* --- sparse.c --- */
/* A sparse tensor, with zeros where it has no values. */
tn_status tn_onnx_sparse_read(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                              const Tenon__Onnx__SparseTensorProto *sparse, tn_onnx_data *out_data);

/* --- strings.c --- */
/* The data of a tensor of `count` strings: elements, then their heap. */
tn_status tn_onnx_strings_read(const tn_onnx_reader *reader, const tn_onnx_tensor *tensor,
                               size_t count, tn_onnx_data *data);
/* A node Constant of strings as a constant of the graph; answers false of all other nodes. */
tn_status tn_onnx_constant_strings_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                        const tn_onnx_node *node, bool *out_is_done);

/* --- zip_map.c --- */
/* Whether the node is a ZipMap that is to be dropped; then a node that replaces it was added. */
tn_status tn_onnx_zip_map_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                               const tn_onnx_node *node, const char *name, bool *out_is_done);

/* --- hand_on.c --- */
/* Whether the node was read here, since its operator depends on the kind of value: it hands it on,
 * so that its output's name means the input, or a constant; or one for sequences was added. */
tn_status tn_onnx_hand_on(tn_onnx_reader *reader, tn_onnx_scope *scope, const tn_onnx_node *node,
                          const char *name, bool *out_is_done);

/* --- loop/ --- */
/* A Loop without what its body returns as it came, which the body then reads from the graph around
 * it, and the nodes to read behind it, which give the names of the loop's outputs to the tensors
 * that went in; all other nodes are `node` itself, with none. */
tn_status tn_onnx_loop_invariants(tn_onnx_reader *reader, const tn_onnx_node *node,
                                  const tn_onnx_node **out_node, size_t *out_count,
                                  tn_onnx_node ***out_behind);
/* A Loop whose condition is that counters have not reached their ends, with their number of
 * iterations as its limit, for which nodes are added; all other nodes are `node` itself. */
tn_status tn_onnx_loop_count(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                             const tn_onnx_node *node, const tn_onnx_node **out_node);
/* Output `index` of a body: put into an optional where the file says that the input which it is
 * carried to is one, and the output is none. */
tn_status tn_onnx_optional_put(tn_onnx_reader *reader, const tn_onnx_graph *graph, size_t index,
                               tn_import_tensor *inout_tensor);
/* The outputs of a node, with tensors for the optionals that a Loop returns then; `outputs` itself
 * where there are none. */
tn_status tn_onnx_optional_outputs(tn_onnx_reader *reader, const tn_onnx_node *node, uint32_t count,
                                   const tn_import_tensor *outputs,
                                   const tn_import_tensor **out_made);
/* Behind that Loop: what the optionals have, as the outputs that the file names. */
tn_status tn_onnx_optional_get(tn_onnx_reader *reader, const tn_onnx_node *node, const char *name,
                               uint32_t count, const tn_import_tensor *outputs,
                               const tn_import_tensor *made);

/* --- attribute.c --- */
/* What a node's attribute is once references to the function's attributes are followed; a null
 * value when the call gives none. */
tn_status tn_onnx_attribute_resolve(const tn_onnx_scope *scope, tn_onnx_attribute *attribute,
                                    tn_onnx_binding *out_binding);
/* A node's attributes in our terms, typed as the operator's fields ask (`op` null: as they are, for
 * a message). TN_ERROR_UNSUPPORTED for what Tenon has not (bodies, strings as tensors). */
tn_status tn_onnx_attributes_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                  const tn_onnx_node *node, const tn_operator *op, tn_arena *arena,
                                  uint64_t *out_count, const tn_attribute *const **out_attributes);

/* --- node.c --- */
/* Adds nodes to the graph; calls of functions are replaced by their nodes. */
tn_status tn_onnx_nodes_read(tn_onnx_reader *reader, tn_onnx_scope *scope, size_t count,
                             tn_onnx_node *const *nodes);
/* The tensor of a name in a scope, made when it is not there yet; "" is TN_IMPORT_NO_TENSOR. */
tn_status tn_onnx_scope_tensor(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                               tn_import_tensor *out_tensor);
/* The same for a name that the scope itself defines. */
tn_status tn_onnx_scope_define(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                               tn_import_tensor *out_tensor);
/* A constant that a scope calls `name`, and the graph `full`. */
tn_status tn_onnx_scope_constant(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                                 const char *full, const tn_onnx_data *data);
/* A node's name as messages and the graph have it. Null: no memory. */
const char *tn_onnx_node_name(tn_onnx_reader *reader, const tn_onnx_scope *scope,
                              const tn_onnx_node *node);
const char *tn_onnx_domain(const char *domain); /* "ai.onnx" and null are "" */

/* --- adapt.c --- */
typedef struct tn_onnx_adaptation tn_onnx_adaptation;
typedef struct tn_onnx_found_operator {
    const tn_operator *op;
    uint32_t version;                     /* of the domain, that the node means */
    const tn_onnx_adaptation *adaptation; /* null: the node is one of `op` as it is */
} tn_onnx_found_operator;
/* The operator that serves nodes of a name in this version of its domain. TN_ERROR_UNSUPPORTED:
 * there is none. */
tn_status tn_onnx_operator_find(tn_onnx_reader *reader, const char *domain, const char *op,
                                uint32_t version, tn_onnx_found_operator *out_found);

typedef struct tn_onnx_node_parts {
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
    uint32_t input_count;
    const tn_import_tensor *inputs;
} tn_onnx_node_parts;
/* What a node of an older opset is as one of found->op, which may become another version. Nodes and
 * constants that it needs are added, called after `name`. */
tn_status tn_onnx_adapt(tn_onnx_reader *reader, tn_onnx_found_operator *found, const char *name,
                        tn_onnx_node_parts *inout_parts);

/* --- function.c --- */
tn_status tn_onnx_functions_index(tn_onnx_reader *reader);
/* The model's own function that a node calls, or null. */
tn_status tn_onnx_function_find(tn_onnx_reader *reader, const tn_onnx_node *node,
                                const tn_onnx_function **out_function);
/* Puts a function's body where it is called. */
tn_status tn_onnx_function_expand(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                  const tn_onnx_node *call, const tn_onnx_function *function);

/* --- opset.c --- */
/* The version of a domain that a scope's nodes mean. */
tn_status tn_onnx_opset_version(const tn_onnx_reader *reader, const tn_onnx_scope *scope,
                                const char *domain, uint32_t *out_version);
tn_status tn_onnx_opsets_check(size_t count, tn_onnx_opset *const *opsets);
/* The reader's graph remembers the model's opsets, for nodes that are added to it later. */
tn_status tn_onnx_opsets_keep(tn_onnx_reader *reader);

/* --- value_info.c --- */
/* Whether an extent's text is a name, the same for extents that are equal, and not one of the texts
 * that exporters write for "not known". Null is none. */
bool tn_onnx_is_extent_name(const char *name);
/* Extents of a declared shape, -1 for those not known, and their names or null; room for
 * TN_MAX_RANK. TN_ERROR_SHAPE: too many. */
tn_status tn_onnx_extents_read(const Tenon__Onnx__TensorShapeProto *shape, int64_t *extents,
                               const char **names);

/* --- value_type.c --- */
/* Of an input that is no tensor. TN_ERROR_UNSUPPORTED, TN_ERROR_FORMAT. */
typedef struct tn_onnx_value_type {
    uint32_t kind; /* TN_KIND_... */
    tn_type type, key_type;
} tn_onnx_value_type;
tn_status tn_onnx_value_type_read(const Tenon__Onnx__TypeProto *type, tn_onnx_value_type *out_type);

/* Notes what the model declares of a tensor that a node makes; what it leaves open, or says in
 * terms that are not ours, is not noted. TN_ERROR_MEMORY. */
tn_status tn_onnx_declare(tn_onnx_reader *reader, const tn_onnx_value_info *info,
                          tn_import_tensor tensor, bool is_output);

/* --- body.c --- */
/* A graph in an attribute, and what it captured of the graph around it. */
tn_status tn_onnx_body_read(tn_onnx_reader *reader, tn_onnx_scope *parent,
                            const tn_onnx_graph *graph, tn_attribute *to);
/* The tensor of a name that a body does not define. */
tn_status tn_onnx_scope_capture(tn_onnx_reader *reader, tn_onnx_scope *scope, const char *name,
                                tn_import_tensor *out_tensor);

/* --- model_graph.c --- */
/* Initializers come before inputs; in a body they come after them. */
tn_status tn_onnx_initializers_read(tn_onnx_reader *reader, tn_onnx_scope *scope,
                                    const tn_onnx_graph *graph);
/* Inputs, initializers, nodes and outputs of the model's graph. */
tn_status tn_onnx_model_graph_read(tn_onnx_reader *reader);

#endif
