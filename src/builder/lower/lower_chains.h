/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: which nodes a kernel absorbs beside its own, those that follow (lower_chains.c) and those
 * before an input (lower_before.c).
 */
#ifndef TN_BUILDER_LOWER_LOWER_CHAINS_H
#define TN_BUILDER_LOWER_LOWER_CHAINS_H

#include "builder/lower/lower_private.h"

/* The nodes that might follow a node within one kernel, in order. */
typedef struct tn_lower_run {
    uint32_t count, nodes[TN_CHAIN_LIMIT];
    uint32_t absorbed_count; /* how many of them some kernel absorbs */
    bool is_before;          /* some kernel absorbs the node itself before an input */
} tn_lower_run;

/* Sets lowering->chains. */
tn_status tn_lower_chains_find(tn_lowering *lowering);
const tn_lower_run *tn_lower_run_of(const tn_lowering *lowering, uint32_t node);
/* Notes the nodes that a kernel absorbs before an input. */
void tn_lower_note_before(tn_lowering *lowering, const tn_chain *chain);
/* At all points of the profile. */
bool tn_lower_is_same_shape(const tn_lowering *lowering, tn_tensor_id a, tn_tensor_id b);
/* What a kernel of the node absorbs of the nodes after it, behind the links in `before` (null:
 * none), all of which it absorbs, or *out_chain is null. TN_ERROR_MEMORY. */
tn_status tn_lower_chain(tn_lowering *lowering, uint32_t node, const tn_kernel_entry *entry,
                         const tn_links *before, const tn_chain **out_chain);
/* A node as a link behind the tensor `chained`, kept for every kernel that asks. TN_ERROR_MEMORY.
 */
tn_status tn_lower_link_of(tn_lowering *lowering, uint32_t node, tn_tensor_id chained,
                           tn_link **out_link);
/* Whether kernels may absorb a node at all. */
bool tn_lower_may_absorb(const tn_lowering *lowering, uint32_t node);

/* --- lower_before.c --- */
/* The longest chain before an input that a kernel of the node absorbs whole; null: none. Of shorter
 * ones, the nodes nearest the kernel. TN_ERROR_MEMORY. */
tn_status tn_lower_before(tn_lowering *lowering, uint32_t node, const tn_kernel_entry *entry,
                          uint32_t input, uint32_t length, const tn_chain **out_chain);

#endif
