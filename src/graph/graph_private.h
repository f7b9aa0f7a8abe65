/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the files of the graph share: opsets, model info, port infos, the counter of made
 * names, and the copying of attributes. Everybody else reads graph.h.
 */
#ifndef TN_GRAPH_GRAPH_PRIVATE_H
#define TN_GRAPH_GRAPH_PRIVATE_H

#include "graph/graph.h"

struct tn_graph_private {
    tn_opset_import *opsets; /* few: looked through in order */
    size_t opset_count, opset_capacity;
    struct tn_map *output_names; /* position by name; true when the name still stands there */
    tn_port_info **input_infos, **output_infos;
    size_t input_info_capacity, output_info_capacity;
    uint64_t next_name;
    tn_graph_declaration *declarations;
    size_t declaration_count, declaration_capacity;
    bool is_declaration_forgotten;
    tn_model_info info;            /* texts in the arena, or null; metadata is owned. No opsets */
    struct tn_graph_body **bodies; /* in the fields of nodes; owned (body.h) */
    size_t body_count, body_capacity;
};

/* Copies attributes into the graph's arena. The data of tensors in them is copied or lent.
 * TN_ERROR_ARGUMENT names the attribute that makes no sense. */
tn_status tn_graph_copy_attributes(tn_graph *graph, uint64_t count,
                                   const tn_attribute *const *attributes, bool copy_tensors,
                                   const tn_attribute *const **out_attributes);

/* --- body.c --- */
void tn_graph_destroy_bodies(tn_graph *graph);
/* Binds the bodies in a node's attributes to its last inputs; each serves one node. */
tn_status tn_graph_bind_bodies(const tn_graph_node *node);

/* Gives back what a node holds: parameters made outside the arena, the count on its library. */
void tn_graph_release_node(tn_graph_node *node);

/* Makes the info of a new input or output; its contents are set when it is asked for. */
tn_status tn_graph_add_port_info(tn_graph *graph, tn_port_info ***infos, size_t *capacity,
                                 size_t index);

#endif
