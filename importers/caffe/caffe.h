/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the Caffe reader, shared by its files. The stages: bytes become a tree
 * (tree.h), rules choose its layers (network.c), each layer becomes nodes by the function of its
 * type (layer_types.c, layers/layers_*.c; what those share is layer.h), and weights come from the
 * model's file (weights.c). The public side is the table in reader.c (tenon/plugin/importer.h).
 */
#ifndef TN_IMPORTERS_CAFFE_CAFFE_H
#define TN_IMPORTERS_CAFFE_CAFFE_H

#include "base/text.h"
#include "importers/common/emit.h"
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
    tn_arena *arena; /* for what has the lifetime of the reader */
    tn_emitter emit; /* named after the layer that is built */
    const tn_prototext_message *network;
    tn_caffe_weights *weights;     /* null: no file is given */
    tn_caffe_weights *own_weights; /* of the description; null: it has none */
    bool is_binary;                /* the description is */
    tn_caffe_layer *layers;        /* those that are used, in order */
    size_t layer_count;
    tn_map *blobs;          /* index in `values` by blob name: the latest value */
    tn_caffe_named *values; /* in the order in which they are made */
    size_t value_count, value_capacity;
    int64_t declared_batch; /* of the first input */
    tn_map *last_writers; /* index in `layers` of the last layer that makes a new value of a blob */
    tn_map *param_owners; /* index in `layers` * TN_CAFFE_BLOBS + blob, by the name of a shared
                             parameter */
} tn_caffe_reader;

/* Makes a layer's nodes. */
typedef tn_status tn_caffe_layer_read(tn_caffe_layer *layer);

/* What a type of layer is. */
enum {
    TN_CAFFE_COMPUTES = 0,
    TN_CAFFE_LOSS = 1,  /* its first bottom alone counts */
    TN_CAFFE_ALIAS = 2, /* its tops are its bottom */
    TN_CAFFE_SINK = 3   /* skipped: a loss, a measure, a file */
};
typedef struct tn_caffe_type {
    const char *name;
    const char *old_word; /* in the older form; null: it has none */
    const char *param;    /* the message of its parameters; null: it has none */
    uint32_t minimum_bottoms, maximum_bottoms;
    uint32_t minimum_tops, maximum_tops;
    uint32_t role; /* TN_CAFFE_... */
    tn_caffe_layer_read *read;
} tn_caffe_type;

/* A layer that is used. */
struct tn_caffe_layer {
    tn_caffe_reader *reader;
    tn_emitter *emit; /* the reader's */
    const char *name, *type_name;
    const tn_caffe_type *type; /* null: a plugin's operator */
    tn_prototext_message *message;
    const tn_prototext_message *params; /* its type's own message; may be null */
    uint32_t line, column;
    size_t index; /* in reader->layers */
    uint32_t bottom_count, top_count;
    const char **bottom_names, **top_names;
    tn_caffe_value *bottoms; /* copies */
    tn_emit_tensors bottom_tensors;
    uint32_t used_blobs; /* as many as the layer has asked for */
    bool is_merged;      /* into the layer before it, which makes its top */
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

/* --- layers/layers.c --- */
/* Chooses the layers that are used and reads what all layers have. */
tn_status tn_caffe_layers_collect(tn_caffe_reader *reader);
/* Makes a layer's nodes; its bottoms are there. */
tn_status tn_caffe_layer_build(tn_caffe_layer *layer);

/* --- inputs.c --- */
/* Inputs from `input` with its shapes. */
tn_status tn_caffe_inputs_read(tn_caffe_reader *reader);

/* --- layer_types.c --- */
const tn_caffe_type *tn_caffe_type_find(const char *name);     /* or null */
const tn_caffe_type *tn_caffe_type_find_old(const char *word); /* by the older form's word */
const char *tn_caffe_type_nearest(const char *name);           /* or null */

/* --- weights.c --- */
/* From a file of weights, or a binary description. What was made is to be destroyed also where this
 * fails. */
tn_status tn_caffe_weights_create(tn_caffe_reader *reader, const void *data, size_t bytes,
                                  tn_caffe_weights **out_weights);
/* Fails where there are none. */
tn_status tn_caffe_weights_check(const tn_caffe_weights *weights);
/* Blobs that stand in the text of the description itself; null when there are none. They are read
 * as their own table says, with line and column in errors. */
tn_status tn_caffe_weights_from_text(tn_caffe_reader *reader, tn_prototext_message *network,
                                     tn_caffe_weights **out_weights);
void tn_caffe_weights_destroy(const tn_caffe_reader *reader,
                              tn_caffe_weights *weights); /* null is fine */

/* --- mean.c --- */
extern const tn_importer tn_caffe_mean_importer;

/* --- custom_layer.c --- */
/* Whether a layer is a plugin's: no built-in type has its name, or a library that the user gave has
 * an operator of that name. */
bool tn_caffe_custom_is_wanted(const tn_caffe_layer *layer);
tn_caffe_layer_read tn_caffe_read_custom;
/* All layers that no operator serves in one error. */
tn_status tn_caffe_customs_check(tn_caffe_reader *reader);

#endif
