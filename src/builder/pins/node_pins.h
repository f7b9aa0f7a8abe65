/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins of single nodes, as tn_builder_options.pins says them: "NODE=KERNEL[:COMBINATION]" and
 * "NODE=fp32|bf16|fp16|int8". Reads them and finds the nodes in the graph that the passes left;
 * lower_node_pins.c then lets no other candidates pass. (Pins of all of an operator's nodes are
 * lower_pins.c's.)
 */
#ifndef TN_BUILDER_PINS_NODE_PINS_H
#define TN_BUILDER_PINS_NODE_PINS_H

#include "builder/passes/passes.h"
#include "report/node_pin.h"
#include <tenon/builder.h>

/* By node of `graph`, in `arena`. `given` is the caller's graph, of which it was made: names are
 * that one's. TN_ERROR_ARGUMENT, TN_ERROR_NOT_FOUND (no such node, or none any more), with the
 * nearest. */
tn_status tn_node_pins_make(const tn_graph *given, const tn_graph *graph,
                            const tn_pass_context *passes, const tn_builder_options *options,
                            tn_arena *arena, tn_node_pin **out_pins);
/* What can be said before any work: the form of each, its node's name, and whether the build's
 * precisions have its type. */
tn_status tn_node_pins_check(const tn_graph *given, const tn_builder_options *options);

#endif
