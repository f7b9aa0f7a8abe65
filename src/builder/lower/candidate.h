/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate: one implementation of a node; and those of one node. */
#ifndef TN_BUILDER_LOWER_CANDIDATE_H
#define TN_BUILDER_LOWER_CANDIDATE_H

#include "builder/lower/lower_private.h"

#include <tenon/plugin/cost.h>

/* One implementation of a node, and the first `chain_count` nodes of its chain with it, which are
 * all those before its input, if any. */
struct tn_candidate {
    uint32_t kind; /* TN_STEP_KERNEL or TN_STEP_VIEW */
    bool is_host;
    const tn_kernel_entry *entry; /* null: the operator's reference, or no work at all */
    const void *kernel_params;    /* the kernel's own, for this node */
    uint32_t rank;                /* of its kernel, for estimates: 0 is preferred */
    tn_cost said;                 /* of its tactic by the kernel; size 0: nothing */
    uint32_t tactic, chain_count; /* steps: those before an input count, too */
    const tn_chain *chain;        /* its kernel's whole chain; null: none */
    const tn_storage *inputs, *outputs, *operands; /* as many as the node has, with this chain */
    double cost;                                   /* nanoseconds, or an estimate instead */
    double noise;                                  /* of a measured cost, relative */
    double floor;       /* of a measured cost: it takes no less; below it where all samples were
                           disturbed */
    double grown_bytes; /* of a measured one: packed weights, beyond the bytes of the constants */
    uint64_t key;       /* tn_timing_key's; 0: not asked for yet */
    bool is_unkeyed;    /* with the key: what its time depends on is not known */
    bool is_measured, is_remembered; /* by a cache of earlier builds */
};

/* Whether a candidate runs on the build's device. */
bool tn_lower_is_on_device(const tn_candidate *candidate);
/* Operands of the nodes that a candidate absorbs. */
uint32_t tn_lower_operand_count(const tn_candidate *candidate);
/* The tensor that output `index` of a node is when a candidate does it with its chain. */
tn_tensor_id tn_lower_output(const tn_lowering *lowering, uint32_t node,
                             const tn_candidate *candidate, uint32_t index);
/* Whether two are tactics of one kernel with the same storages and the same chain. */
static inline bool tn_lower_is_same_group(const tn_candidate *a, const tn_candidate *b) {
    return a->inputs == b->inputs; /* which these share */
}
/* What a candidate reads at an input of its node. */
tn_tensor_id tn_lower_input(const tn_lowering *lowering, uint32_t node,
                            const tn_candidate *candidate, uint32_t input);
/* How many of a candidate's steps are before an input. */
uint32_t tn_lower_before_count(const tn_candidate *candidate);
/* Whether one candidate of a node does all that another one does, and whether both do the same. */
bool tn_lower_covers(const tn_candidate *a, const tn_candidate *b);
bool tn_lower_does_same(const tn_candidate *a, const tn_candidate *b);

/* Those of one node. */
struct tn_lower_node {
    tn_candidate *candidates;
    size_t candidate_count, candidate_capacity;
};

/* Takes one out. */
void tn_lower_candidates_remove(tn_lower_node *node, size_t index);
/* The least cost of a node's candidates; infinity: there are none. */
double tn_lower_candidates_least(const tn_lower_node *node);
/* Whether it is the first tactic that is left of its group. */
bool tn_lower_is_first_of_group(const tn_lower_node *node, size_t index);

#endif
