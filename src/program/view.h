/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says of its tensors as parts of one another: the facet "tn.view/1". */
#ifndef TN_PROGRAM_VIEW_H
#define TN_PROGRAM_VIEW_H

#include "graph/infer.h"
#include "program/node_call.h"

#include <tenon/plugin/view.h>

typedef struct tn_node_window {
    uint32_t input, output; /* of the node */
    tn_view view;
} tn_node_window;

/* The windows of a node with the shapes and values of an inference, in `arena`: of each output in
 * one input, or of each input in output 0, in the order of these. No windows where the node is more
 * than that, or less. TN_ERROR_PLUGIN: the operator describes what cannot be; TN_ERROR_MEMORY. */
tn_status tn_node_windows(const tn_inference *inference, uint32_t node, tn_arena *arena,
                          uint32_t *out_kind, uint32_t *out_count,
                          const tn_node_window **out_windows);

#endif
