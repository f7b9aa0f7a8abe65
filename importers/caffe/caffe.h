/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the Caffe reader, shared by its files. The way of a network: bytes become a tree
 * (tree.h), rules choose its layers (network.c), each layer becomes nodes by the function of its
 * type (layer_types.c, layers_*.c), and weights come from the model's file (weights.c). The public
 * side is the table in reader.c (tenon/plugin/importer.h).
 */
#ifndef TN_IMPORTERS_CAFFE_CAFFE_H
#define TN_IMPORTERS_CAFFE_CAFFE_H

#include "base/map.h"
#include "base/text.h"
#include "importers/common/import.h"
#include "importers/prototext/tree.h"

/* The opset whose operators the layers become. */
#define TN_CAFFE_OPSET 13
/* Bottoms or tops of a layer, and blobs that layers share by name, at most. */
#define TN_CAFFE_PORTS 256
#define TN_CAFFE_BLOBS 256

/* A tensor while the network is read. Extents are tracked so that weights can be checked and axes
 * counted from the end; -1: not known yet (the batch, a plugin's output). */
typedef struct tn_caffe_value {
    tn_import_tensor tensor;
    uint32_t rank; /* UINT32_MAX: not known */
    int64_t extents[TN_MAX_RANK];
} tn_caffe_value;

/* The same under a blob's name. */
typedef struct tn_caffe_named {
    const char *name;
    tn_caffe_value value;
    bool is_consumed;
} tn_caffe_named;

/* How a network is read: the importer's options. */
typedef struct tn_caffe_options {
    uint64_t present;
    const char *weights;   /* the file with the network's weights; null: there is none */
    tn_bytes weights_data; /* the same from memory */
    tn_strings stages;     /* of the state, beside the network's own */
    int32_t level;         /* of the network's state; 0: what the network says itself */
    tn_strings open_inputs;
} tn_caffe_options;

typedef struct tn_caffe_layer tn_caffe_layer;
typedef struct tn_caffe_weights tn_caffe_weights; /* weights.c */

typedef struct tn_caffe_reader {
    tn_import *import;
    const tn_allocator *allocator;
    const tn_caffe_options *options;
    tn_import_graph *graph;
    tn_arena *arena; /* for what lives as long as the reader */
    const tn_prototext_message *network;
    tn_caffe_weights *weights;     /* null: no file is given */
    tn_caffe_weights *own_weights; /* of the description; null: it has none */
    bool is_binary;                /* the description is */
    tn_caffe_layer *layers;        /* those that are used, in order */
    size_t layer_count;
    tn_map *blobs;          /* place in `values` by blob name: the latest value */
    tn_caffe_named *values; /* in the order in which they are made */
    size_t value_count, value_capacity;
    int64_t declared_batch; /* of the first input */
    tn_map *last_writers; /* place in `layers` of the last layer that makes a new value of a blob */
    tn_map *param_owners; /* place in `layers` * TN_CAFFE_BLOBS + blob, by the name of a shared
                             parameter */
} tn_caffe_reader;

typedef tn_status (*tn_caffe_layer_read)(tn_caffe_reader *reader, tn_caffe_layer *layer);

/* What a type of layer is. */
typedef struct tn_caffe_type {
    const char *name;
    const char *old_word; /* in the older form; null: it has none */
    const char *param;    /* the message of its parameters; null: it has none */
    uint32_t minimum_bottoms, maximum_bottoms;
    uint32_t minimum_tops, maximum_tops;
    uint32_t role; /* TN_CAFFE_... below */
    tn_caffe_layer_read read;
    bool is_loss; /* its first bottom alone counts */
} tn_caffe_type;
enum {
    TN_CAFFE_COMPUTES = 0,
    TN_CAFFE_ALIAS = 1, /* its tops are its bottom */
    TN_CAFFE_DATA = 2,  /* its first top is an input of the network */
    TN_CAFFE_SINK = 3   /* skipped: a loss, a measure, a file */
};

/* A layer that is used. */
struct tn_caffe_layer {
    const char *name, *type_name;
    const tn_caffe_type *type; /* null: a plugin's operator */
    tn_prototext_message *message;
    const tn_prototext_message *params; /* its type's own message; may be null */
    uint32_t line, column;
    size_t place; /* in reader->layers */
    uint32_t bottom_count, top_count;
    const char **bottom_names, **top_names;
    size_t *bottom_places;   /* in reader->values */
    tn_caffe_value *bottoms; /* copies */
    uint32_t used_blobs;     /* as many as the layer has asked for */
    bool is_merged;          /* into the layer before it, which makes its top */
};

/* --- binary.c --- */
/* The tree of a description's binary form, whose numbers get names from a table of net.proto. What
 * the table does not have is left out, and so are blobs; a layer's message that it does not have is
 * there, empty, as TN_PROTOTEXT_UNNAMED. */
tn_status tn_caffe_binary_read(tn_arena *arena, const ProtobufCMessageDescriptor *schema,
                               const void *data, size_t bytes, tn_prototext_message **out_message);
/* Whether the bytes look like the binary form: no text begins with what such a file begins with. */
bool tn_caffe_is_binary(const void *data, size_t bytes);

/* --- network.c --- */
/* Inputs, layers and outputs. */
tn_status tn_caffe_network_read(tn_caffe_reader *reader);
/* Makes a tensor the newest value of a blob. */
tn_status tn_caffe_set_value(tn_caffe_reader *reader, const char *blob,
                             const tn_caffe_value *value);

/* --- rules.c --- */
tn_status tn_caffe_state_check(const tn_caffe_reader *reader);
/* Whether a layer is used in the options' state, by its include and exclude. */
tn_status tn_caffe_rules_met(const tn_caffe_reader *reader, const tn_prototext_message *layer,
                             bool *out_is_used);

/* --- layers.c --- */
/* Chooses the layers that are used and reads what all layers have. */
tn_status tn_caffe_layers_collect(tn_caffe_reader *reader);
/* Makes a layer's nodes; its bottoms are there. */
tn_status tn_caffe_layer_build(tn_caffe_reader *reader, tn_caffe_layer *layer);

/* --- inputs.c --- */
/* Inputs from `input` with its shapes. */
tn_status tn_caffe_inputs_read(tn_caffe_reader *reader);
/* Layers of type Input and layers that read data: their tops become inputs. */
tn_status tn_caffe_read_input(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_data(tn_caffe_reader *reader, tn_caffe_layer *layer);

/* --- layer_types.c --- */
const tn_caffe_type *tn_caffe_type_find(const char *name);     /* or null */
const tn_caffe_type *tn_caffe_type_find_old(const char *word); /* by the older form's word */
const char *tn_caffe_type_nearest(const char *name);           /* or null */

/* --- emit.c --- */
/* A node's attributes in the making. */
#define TN_CAFFE_ATTRIBUTES 16
typedef struct tn_caffe_attributes {
    uint32_t count;
    tn_attribute items[TN_CAFFE_ATTRIBUTES];
    const tn_attribute *pointers[TN_CAFFE_ATTRIBUTES];
    int64_t integers[64]; /* of lists */
    uint32_t integer_count;
} tn_caffe_attributes;
void tn_caffe_add_integer(tn_caffe_attributes *attributes, const char *name, int64_t value);
void tn_caffe_add_float(tn_caffe_attributes *attributes, const char *name, double value);
void tn_caffe_add_text(tn_caffe_attributes *attributes, const char *name, const char *text);
void tn_caffe_add_integers(tn_caffe_attributes *attributes, const char *name, size_t count,
                           const int64_t *values); /* copied; 64 in all */
void tn_caffe_add_floats(tn_caffe_attributes *attributes, const char *name, size_t count,
                         const float *values); /* lent */

/* Any node. */
tn_status tn_caffe_node(tn_caffe_reader *reader, const char *name, const char *domain,
                        const char *op, const tn_caffe_attributes *attributes, uint32_t input_count,
                        const tn_import_tensor *inputs, uint32_t output_count,
                        const char *const *output_names, tn_import_tensor *out_outputs);
/* The names of a layer's first tops, and after them one inside of the layer where `part` is given.
 */
tn_status tn_caffe_top_names(tn_caffe_reader *reader, const tn_caffe_layer *layer, uint32_t count,
                             const char **names, const char *part);
/* A node of a layer whose outputs are inside it: one new tensor, called after layer and `part`.
 * `domain` "" is ONNX's. `attributes` may be null. */
tn_status tn_caffe_inner(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *part,
                         const char *domain, const char *op, const tn_caffe_attributes *attributes,
                         uint32_t input_count, const tn_import_tensor *inputs,
                         tn_import_tensor *out_tensor);
/* The node that makes top `top`, called after the layer; `shape` is the value that the top gets,
 * but for its tensor. */
tn_status tn_caffe_top(tn_caffe_reader *reader, const tn_caffe_layer *layer, uint32_t top,
                       const char *domain, const char *op, const tn_caffe_attributes *attributes,
                       uint32_t input_count, const tn_import_tensor *inputs,
                       const tn_caffe_value *shape);
/* A node that makes all tops of the layer at once. */
tn_status tn_caffe_tops(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *domain,
                        const char *op, const tn_caffe_attributes *attributes, uint32_t input_count,
                        const tn_import_tensor *inputs, const tn_caffe_value *shapes);
/* A tensor's name that nothing has and no blob's last value will have. Null: no memory. */
const char *tn_caffe_make_name(tn_caffe_reader *reader, const char *base);
/* Constants: numbers of a layer's own making. */
tn_status tn_caffe_scalar(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *part,
                          double value, tn_import_tensor *out_tensor);
tn_status tn_caffe_index_list(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                              const char *part, size_t count, const int64_t *values,
                              tn_import_tensor *out_tensor);
/* `data` lives as long as the graph. */
tn_status tn_caffe_floats(tn_caffe_reader *reader, const tn_caffe_layer *layer, const char *part,
                          uint32_t rank, const int64_t *extents, const float *data,
                          tn_import_tensor *out_tensor);

/* Operations in a row from one tensor to a top: each a unary operator, or one with a second operand
 * after or before the row's own. */
#define TN_CAFFE_CHAIN 8
typedef struct tn_caffe_link {
    const char *op, *part;
    tn_import_tensor operand; /* TN_IMPORT_NO_TENSOR: unary */
    bool is_first;            /* the operand comes first */
} tn_caffe_link;
typedef struct tn_caffe_chain {
    uint32_t count;
    tn_caffe_link links[TN_CAFFE_CHAIN];
} tn_caffe_chain;
void tn_caffe_chain_add(tn_caffe_chain *chain, const char *op, const char *part,
                        tn_import_tensor operand);
/* An empty chain is an Identity. The top has `from`'s shape but for what `shape` says. */
tn_status tn_caffe_chain_emit(tn_caffe_reader *reader, const tn_caffe_layer *layer,
                              const tn_caffe_chain *chain, tn_import_tensor from,
                              const tn_caffe_value *shape);

/* An axis as it is written, maybe negative, of a value: 0..rank - 1. TN_ERROR_UNSUPPORTED when a
 * rank that is needed is not known. */
tn_status tn_caffe_axis(const tn_caffe_value *value, const char *field, int64_t axis,
                        uint32_t *out_axis);
/* TN_ERROR_UNSUPPORTED when the rank is not known. */
tn_status tn_caffe_require_rank(const tn_caffe_value *value);
/* a * b of tracked extents; -1 when one is not known or the product is too large. */
int64_t tn_caffe_multiply(int64_t a, int64_t b);

/* --- weights.c --- */
tn_status tn_caffe_weights_create(tn_caffe_reader *reader, const void *data, size_t bytes,
                                  tn_caffe_weights **out_weights);
/* Blobs that stand in the description itself; null when there are none. Text is read as the blobs'
 * own table says, with line and column in errors. */
tn_status tn_caffe_weights_from_text(tn_caffe_reader *reader, tn_prototext_message *network,
                                     tn_caffe_weights **out_weights);
tn_status tn_caffe_weights_from_binary(tn_caffe_reader *reader, const void *data, size_t bytes,
                                       tn_caffe_weights **out_weights);
void tn_caffe_weights_destroy(const tn_caffe_reader *reader,
                              tn_caffe_weights *weights); /* null is fine */
/* How many blobs the file has for a layer; 0 also without a file or the layer. */
uint32_t tn_caffe_blob_count(const tn_caffe_reader *reader, const tn_caffe_layer *layer);
/* A blob of a layer with the extents that it must have; -1 matches any, and is replaced. Leading
 * extents of 1 do not matter. `out_data` lives as long as the graph. Errors name the layer, the
 * blob, and both shapes. */
tn_status tn_caffe_blob_read(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t index,
                             uint32_t rank, int64_t *extents, const float **out_data);
/* The same as a constant; of `shape`, of as many elements, where that is not null. */
tn_status tn_caffe_blob_constant(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t index,
                                 uint32_t rank, int64_t *extents, uint32_t shape_rank,
                                 const int64_t *shape, tn_import_tensor *out_tensor);
/* A blob as it is in the file. */
tn_status tn_caffe_blob_any(tn_caffe_reader *reader, tn_caffe_layer *layer, uint32_t index,
                            tn_shape *out_shape, const float **out_data);
/* --- mean.c --- */
extern const tn_importer tn_caffe_mean_importer;

/* --- the layers' types --- */
/* layers_window.c */
tn_status tn_caffe_read_convolution(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_deconvolution(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_pooling(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_spp(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_linear.c */
tn_status tn_caffe_read_inner_product(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_embed(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_parameter(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_recurrent.c */
tn_status tn_caffe_read_recurrent(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_neuron.c */
tn_status tn_caffe_read_relu(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_relu6(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_prelu(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_elu(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_unary(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_bnll(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_power(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_exp(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_log(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_threshold(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_clip(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_swish(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_alias(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_normal.c */
tn_status tn_caffe_read_batch_norm(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_scale(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_bias(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_lrn(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_mvn(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_softmax(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_combine.c */
tn_status tn_caffe_read_eltwise(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_concat(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_slice(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_reduction(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_argmax.c */
tn_status tn_caffe_read_argmax(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_shape.c */
tn_status tn_caffe_read_flatten(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_reshape(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_permute(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_crop(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_tile(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* layers_detection.c */
tn_status tn_caffe_read_normalize(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_prior_box(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_detection_output(tn_caffe_reader *reader, tn_caffe_layer *layer);
tn_status tn_caffe_read_interp(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* custom_layer.c */
/* Whether a layer is a plugin's: no built-in type has its name, or a library that the user gave has
 * an operator of that name. */
bool tn_caffe_custom_is_wanted(const tn_caffe_reader *reader, const tn_caffe_layer *layer);
tn_status tn_caffe_read_custom(tn_caffe_reader *reader, tn_caffe_layer *layer);
/* All layers that no operator serves in one error. */
tn_status tn_caffe_customs_check(tn_caffe_reader *reader);

#endif
