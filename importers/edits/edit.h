/* SPDX-License-Identifier: Apache-2.0 */
/* What edits of a graph share (edit.c): nodes of standard operators, and their position in it. */
#ifndef TN_IMPORTERS_EDITS_EDIT_H
#define TN_IMPORTERS_EDITS_EDIT_H

#include "graph/graph.h"

/* The opset of the nodes that are added: the first in which Cast and Transpose take all types that
 * they take now but the 8-bit floats. */
#define TN_EDIT_OPSET 13

/* A new node of one output, whose name begins with `base`; `attribute` may be null. */
tn_status tn_edit_add_node(tn_graph *graph, const char *op, const char *base, uint32_t input_count,
                           const tn_tensor_id *inputs, const tn_attribute *attribute,
                           tn_tensor_id *out_tensor);
/* All uses of a tensor by the first `node_count` nodes become another's. */
void tn_edit_replace_uses(tn_graph *graph, size_t node_count, tn_tensor_id from, tn_tensor_id to);

#endif
