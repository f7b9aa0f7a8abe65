/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins of single nodes, as tn_builder_options.pins says them: "NODE=KERNEL[:COMBINATION]" and
 * "NODE=fp32|bf16|fp16|int8". Reads them and finds the nodes in the graph that the passes left;
 * lower_node_pins.c then lets no other candidates pass. (Pins of all of an operator's nodes are
 * lower_pins.c's.)
 */
#ifndef TN_BUILDER_LOWER_NODE_PINS_H
#define TN_BUILDER_LOWER_NODE_PINS_H

#include "builder/passes/passes.h"
#include <tenon/builder.h>

/* Of a node; all zero where it is not pinned. */
typedef struct tn_node_pin {
    const char *kernel;      /* KERNEL or LIBRARY/KERNEL or "reference"; null: any */
    const char *combination; /* as the kernel writes it, but for spaces; null: any */
    tn_type type;            /* TN_F32 (nothing less), TN_BF16, TN_F16 or TN_I8; TN_NONE: any */
} tn_node_pin;

/* By node of `graph`, in `arena`. `given` is the caller's graph, of which it was made: names are
 * that one's. TN_ERROR_ARGUMENT, TN_ERROR_NOT_FOUND (no such node, or none any more), with the
 * nearest. */
tn_status tn_node_pins_make(const tn_graph *given, const tn_graph *graph,
                            const tn_pass_context *passes, const tn_builder_options *options,
                            tn_arena *arena, tn_node_pin **out_pins);
/* What can be said before any work: the form of each, its node's name, and whether the build's
 * precisions have its type. */
tn_status tn_node_pins_check(const tn_graph *given, const tn_builder_options *options);
bool tn_node_pin_is_set(const tn_node_pin *pin);

#endif
