/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a network, described by structs: the nodes and tensors of a graph, where a model comes
 * from and what its maker wrote beside it, and what a plan or an engine runs.
 *
 * A struct that the caller lends to be filled has `size` set by the caller (sizeof of it), which
 * stays as it is: members behind it are left alone.
 */
#ifndef TENON_DESCRIBE_H
#define TENON_DESCRIBE_H

#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------
 * the nodes and tensors of a graph */

/* A node of a graph. What it points to belongs to the graph. */
typedef struct tn_node_info {
    uint32_t size;
    uint32_t version; /* of the operator that serves it: the opset that it came with */
    const char *domain, *op;
    const char *name;    /* more than one node may have it */
    const char *library; /* that has the operator */
    uint32_t input_count, output_count;
    const tn_tensor_id *inputs, *outputs; /* TN_NO_TENSOR for an absent one */
    uint64_t attribute_count;
    const tn_attribute *const *attributes; /* as they were given; defaults are not among them */
    uint32_t body_count;                   /* graphs among the attributes */
} tn_node_info;

/* A tensor of a graph: an input, a constant, or what a node computes. */
typedef struct tn_tensor_info {
    uint32_t size;
    tn_type type; /* TN_NONE: of what a node computes, where the model does not declare it */
    const char *name;
    uint32_t rank;          /* UINT32_MAX: not known before shapes are */
    uint32_t producer;      /* the node that computes it; TN_NO_NODE: none */
    const int64_t *extents; /* -1: known at run time. Of what a node computes: as declared */
    const char *const *extent_names; /* of inputs, and of outputs as the model declares them; each
                                        may be null */
    const void *data; /* of a constant: linear elements. Null for others, and with no elements */
    uint64_t bytes;   /* of data */
    uint32_t is_constant, is_input, is_output;
} tn_tensor_info;

/* A graph in an attribute of a node: a branch, the body of a loop (docs/bodies.md). */
typedef struct tn_body_info {
    uint32_t size;
    uint32_t capture_count; /* of the body's inputs, the last ones, which are tensors around it */
    const char *attribute;  /* its name */
    const tn_graph *graph;  /* the body, for these functions; it belongs to the graph around it */
} tn_body_info;

/* How many nodes and tensors a graph has. Node `index` comes after those whose results it reads
 * where an importer made the graph, and in the order of adding where it was made by hand. A build
 * changes neither. Null: 0. [thread: any, while no thread changes the graph; so all below that
 * read]
 */
TN_EXPORT uint32_t tn_graph_node_count(const tn_graph *graph);
TN_EXPORT uint32_t tn_graph_tensor_count(const tn_graph *graph);
/* Fill the caller's struct; what it points to is valid until the graph is changed or destroyed.
 * TN_ERROR_RANGE: an index past the end, with how many there are; TN_ERROR_ARGUMENT. The struct is
 * untouched then. */
TN_EXPORT tn_status tn_graph_get_node(const tn_graph *graph, uint32_t index,
                                      tn_node_info *out_node);
TN_EXPORT tn_status tn_graph_get_tensor(const tn_graph *graph, tn_tensor_id tensor,
                                        tn_tensor_info *out_tensor);
/* Body `index` of a node, below its body_count, in the order of its attributes. */
TN_EXPORT tn_status tn_graph_get_body(const tn_graph *graph, uint32_t node, uint32_t index,
                                      tn_body_info *out_body);
/* The tensor of an input or output; TN_NO_TENSOR past the end. */
TN_EXPORT tn_tensor_id tn_graph_input_tensor(const tn_graph *graph, uint32_t index);
TN_EXPORT tn_tensor_id tn_graph_output_tensor(const tn_graph *graph, uint32_t index);

/* -------------------------------------------------------------------------------------------------
 * where a model comes from */

/* Two items of arrays, frozen for ever. */
typedef struct tn_opset_import {
    const char *domain; /* "": ONNX's own */
    uint32_t version;
} tn_opset_import;

typedef struct tn_metadata {
    const char *key, *value;
} tn_metadata;

/* What a model's file says of itself. Texts are "" where it says nothing, never null. */
typedef struct tn_model_info {
    uint32_t size;
    uint32_t opset_count;
    const char *graph_name;
    const char *producer_name, *producer_version; /* of the program that wrote the model */
    const char *domain;                           /* of the model, like "com.example" */
    const char *doc;                              /* for people */
    const char *source_format;                    /* "onnx", "caffe", "uff"; "": made by hand */
    int64_t model_version;
    const tn_opset_import *opsets; /* one a domain */
    uint64_t metadata_count;
    const tn_metadata *metadata; /* each key once, in the order of the file */
} tn_model_info;

/* Bounds on a model's metadata: entries, and bytes of all texts of a tn_model_info together. An
 * importer leaves out what is beyond them and warns. */
#define TN_METADATA_MAX_COUNT 4096
#define TN_METADATA_MAX_BYTES (UINT64_C(64) << 20)

/* The importers fill it; a plan keeps it. What it points to is valid until the graph is changed or
 * destroyed, or as long as the engine. TN_ERROR_ARGUMENT. */
TN_EXPORT tn_status tn_graph_get_model_info(const tn_graph *graph, tn_model_info *out_info);
TN_EXPORT tn_status tn_engine_get_model_info(const tn_engine *engine, tn_model_info *out_info);
/* Sets all but the opsets, which tn_graph_set_opset sets: texts (copied; a null one stays as it
 * is), version, and, where `metadata` is not null, all of the metadata. TN_ERROR_ARGUMENT (a key
 * that is null, empty or there twice, a value that is null), TN_ERROR_RANGE (more than the bounds
 * above), TN_ERROR_MEMORY: the graph is as it was. */
TN_EXPORT tn_status tn_graph_set_model_info(tn_graph *graph, const tn_model_info *info);
/* Sets one entry, anew or instead of the key's earlier value; null removes it. */
TN_EXPORT tn_status tn_graph_set_metadata(tn_graph *graph, const char *key, const char *value);
/* The value of a key; null: there is none. */
TN_EXPORT const char *tn_model_info_find(const tn_model_info *info, const char *key);

/* -------------------------------------------------------------------------------------------------
 * what a plan or an engine runs */

#define TN_NO_VALUE UINT32_MAX /* of a step: an absent tensor */

/* A value: a tensor of the network in one storage. */
typedef struct tn_described_value {
    uint32_t size;
    tn_type type;
    tn_format format;
    uint32_t is_device; /* in the memory of the program's device, not in the host's */
    const char *tensor; /* its name; null: of a damaged plan, nothing that is there */
    double scale;       /* of floats stored in 8-bit integers; 0: of others */
    /* At the profile's optimum, as the build planned it. */
    uint32_t rank;       /* UINT32_MAX: not known */
    uint32_t is_planned; /* 1: it has memory of its own in the arena of its space, as follows */
    const int64_t *extents;
    uint64_t offset, bytes;
    uint32_t first_step, last_step; /* it is needed from the one to the other, both included */
} tn_described_value;

enum {
    TN_DESCRIBED_KERNEL = 1,   /* a kernel, or the operator's reference */
    TN_DESCRIBED_REFORMAT = 2, /* a conversion between types, formats or memory spaces */
    TN_DESCRIBED_VIEW = 3,     /* no work: another shape of the same memory */
    TN_DESCRIBED_SHAPE = 4     /* computed when shapes are, not in a run */
};

/* A step of a program, in the order of execution. */
typedef struct tn_described_step {
    uint32_t size;
    uint32_t kind;           /* TN_DESCRIBED_...; 0: of a damaged plan, none of them */
    const char *node;        /* name; null: of a conversion */
    const char *domain;      /* of the node's operator; null as above */
    const char *op;          /* likewise */
    uint32_t version;        /* likewise: 0 */
    uint32_t tactic;         /* of the kernel's */
    const char *kernel;      /* null: the operator's reference, or no kernel at all */
    const char *library;     /* that has the kernel */
    const char *combination; /* types and formats of what it reads and writes, in the syntax of
                                tn_kernel.combinations: "f32:nhwc, i64 -> f32:nhwc"; an absent
                                tensor is "-" */
    uint32_t absorbed_count; /* nodes that are fused into it */
    uint32_t before_count;   /* of these, the first ones stand before input `before_input` */
    uint32_t before_input;
    uint32_t is_in_place;            /* output 0 may lie on input 0 */
    const char *const *absorbed;     /* their names */
    const char *const *absorbed_ops; /* their operators' */
    uint32_t input_count, output_count, operand_count, rewrite_count;
    const uint32_t *inputs, *outputs; /* values; TN_NO_VALUE */
    const uint32_t *operands;         /* what the absorbed nodes read beside the chain */
    const char *const *rewrites;      /* that put its nodes in place */
    double ns;                        /* nanoseconds, measured when it was built; 0: not */
    uint32_t is_device;               /* a kernel of the program's device */
    uint32_t has_state;               /* the kernel saved its preparation, of so many bytes: */
    uint64_t state_bytes;
    const char *note; /* why it stays in 32-bit floats where less was allowed; null: nothing */
} tn_described_step;

/* What one device runs. */
typedef struct tn_described_program {
    uint32_t size;
    uint32_t threads;
    const char *device;      /* its kind, like "cpu" or "cuda" */
    const char *fingerprint; /* of the device that it was lowered for */
    int32_t fits;            /* 1: it is for a device that is here; 0: not; -1: not known */
    uint32_t value_count, step_count;
    uint32_t profile; /* that it was built for, from 0 */
    const tn_described_value *const *values;
    const tn_described_step *const *steps;
    uint64_t host_bytes,
        device_bytes; /* of the arenas, workspaces aside; 0: not planned, or none */
} tn_described_program;

/* A library that the plan needs. */
typedef struct tn_described_library {
    uint32_t size;
    uint32_t is_linked_in;
    const char *name, *version;
    const char *file;        /* without its folder; null: linked in */
    uint64_t hash;           /* of the file's content; 0: linked in */
    const char *domain;      /* that its operators are under; "": their own */
    const char *sha256;      /* of the file that the plan embeds (tenon/engine.h), 64 hexadecimal
                                digits; null: it embeds none */
    uint64_t embedded_bytes; /* of that file; 0: none */
} tn_described_library;

/* A node of the network as the plan has it: after the builder's passes. */
typedef struct tn_described_node {
    uint32_t size;
    uint32_t version;
    const char *name, *domain, *op;
    const char *library; /* that has the operator; null: of a damaged plan, none */
    const char *rewrite; /* that put it in place; null: the network has it */
} tn_described_node;

typedef struct tn_plan_description {
    uint32_t size;
    uint32_t library_count, node_count, program_count, input_count, output_count;
    uint32_t profile_count, reserved;
    const char *producer; /* version of the Tenon that wrote the plan; null: of an engine */
    const tn_model_info *model;
    uint64_t file_bytes;     /* of the plan; 0: of an engine */
    uint64_t constant_bytes; /* of all constants */
    const tn_described_library *const *libraries;
    const tn_described_node *const *nodes; /* a node comes after those whose results it reads */
    const tn_described_program *const *programs; /* of an engine: that of each profile */
    const tn_port_info *const *inputs, *const *outputs;
    /* One an input, profile by profile: that of input i in profile p is profiles[p * input_count +
     * i]. Null: it accepts any shape. */
    const tn_profile_input *const *profiles;
} tn_plan_description;

/* What is in a plan file, without loading any code: what tn_plan_inspect says as JSON. Numbers that
 * lead nowhere are null, or absent. Independent of the file when it is there. TN_ERROR_FORMAT,
 * TN_ERROR_NOT_FOUND, TN_ERROR_IO, TN_ERROR_MEMORY. [thread: any] */
TN_EXPORT tn_status tn_plan_describe_file(tn_runtime *runtime, const char *path,
                                          const tn_plan_description **out_description);
/* The same of a plan's bytes, which are not needed after the call. */
TN_EXPORT tn_status tn_plan_describe_bytes(tn_runtime *runtime, const void *data, uint64_t bytes,
                                           const tn_plan_description **out_description);
/* The same of a plan that was built here. */
TN_EXPORT tn_status tn_plan_describe(const tn_plan *plan,
                                     const tn_plan_description **out_description);
/* What an engine runs: a program for each profile, which is a stored one, or was lowered when the
 * engine was loaded; of the latter times and memory are not known. It holds a count of the engine.
 * [thread: any] */
TN_EXPORT tn_status tn_engine_describe(tn_engine *engine,
                                       const tn_plan_description **out_description);
/* With all that it points to. Null is fine. */
TN_EXPORT void tn_plan_description_destroy(const tn_plan_description *description);

#ifdef __cplusplus
}
#endif
#endif
