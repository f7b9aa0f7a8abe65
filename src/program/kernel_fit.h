/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel and one node: its parameters, filled from the node's fields, and the combinations that
 * it has for the node, those of its table and those that it is asked for.
 */
#ifndef TN_PROGRAM_KERNEL_FIT_H
#define TN_PROGRAM_KERNEL_FIT_H

#include "graph/graph.h"

/* The kernel's parameters for a node, in `arena`. Where they cannot be filled, *out_fits is false,
 * and the last error has the reason. TN_ERROR_MEMORY. */
tn_status tn_kernel_fit_params(tn_arena *arena, const tn_kernel_entry *entry,
                               const tn_graph_node *node, const void **out_params, bool *out_fits);

/* All combinations, in `arena`. `call`: the node's with linear tensors of their own types, where
 * the kernel has `combination`. TN_ERROR_PLUGIN: a text is not well-formed. */
tn_status tn_kernel_fit_combinations(tn_arena *arena, const tn_kernel_entry *entry, tn_call *call,
                                     uint32_t *out_count, const tn_combination **out_combinations);

/* Whether a kernel may be offered a node of whose tensors some extents are known at a run only. */
bool tn_kernel_takes_open(const tn_kernel *kernel, bool is_ranked);
/* Whether the kernel may be chosen and prepared for ranks that are guesses (behind an If whose
 * branches differ in rank): the node has a reference for a run that finds others. */
bool tn_kernel_may_guess_ranks(const tn_graph_node *node);

#endif
