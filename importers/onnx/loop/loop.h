/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that are read otherwise than they are written, and what these readings share: a Loop's body
 * in the message, and copies of node and body that may be changed. What does not change from one
 * iteration to the next is in invariants.c, what a counter ends in counted.c, what begins as an
 * optional in optionals.c.
 */
#ifndef TN_IMPORTERS_ONNX_LOOP_LOOP_H
#define TN_IMPORTERS_ONNX_LOOP_LOOP_H

#include "importers/onnx/onnx.h"

#include <tenon/plugin/body.h>

/* Ports of a Loop and of its body: behind its limit and its condition it carries tensors; the body
 * has the iteration's number and the condition before them, and returns the condition first. */
enum {
    TN_ONNX_LOOP_LIMIT = 0,
    TN_ONNX_LOOP_CONDITION = 1,
    TN_ONNX_LOOP_CARRIED = 2,
    TN_ONNX_BODY_NUMBER = 0,
    TN_ONNX_BODY_CONDITION = 1,
    TN_ONNX_BODY_CARRIED = 2,
    TN_ONNX_BODY_GOES_ON = 0,
    TN_ONNX_BODY_CARRIED_OUT = 1
};

/* The body of a Loop; null: the node is none, or has none. */
const tn_onnx_graph *tn_onnx_loop_body(const tn_onnx_node *node);
/* How many tensors a loop carries. False where its ports make no sense, which others report, or are
 * more than a body may have. */
bool tn_onnx_loop_ports(const tn_onnx_node *node, const tn_onnx_graph *body, size_t *out_carried);

static inline bool tn_onnx_is_named(const char *name) {
    return name && *name;
}
/* Whether a node is one of ONNX's operator of this name. */
bool tn_onnx_is_node(const tn_onnx_node *node, const char *op);
/* Whether a name of the graph around the body is another tensor in it. */
bool tn_onnx_body_defines(const tn_onnx_graph *body, const char *name);
/* The body's node that computes the tensor as its only output; null: none does. */
const tn_onnx_node *tn_onnx_body_producer(const tn_onnx_graph *body, const char *name);
/* What Identity nodes of the body give the name to; the name itself where none does. */
const char *tn_onnx_body_origin(const tn_onnx_graph *body, const char *name);

/* Copies that may be changed: of the node, its attributes, the body and their lists. The body's
 * list of nodes has room for as many more as it has inputs, and one. */
typedef struct tn_onnx_loop_copies {
    tn_onnx_node *node;
    tn_onnx_graph *body;
} tn_onnx_loop_copies;
tn_status tn_onnx_loop_copy(tn_onnx_reader *reader, const tn_onnx_node *node,
                            tn_onnx_loop_copies *out_made);
/* Null: no memory. The names are lent. */
tn_onnx_node *tn_onnx_make_identity(tn_onnx_reader *reader, char *input, char *output);

#endif
