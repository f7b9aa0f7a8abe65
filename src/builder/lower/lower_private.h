/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of lowering share. In the order of the work:
 *
 *   lower.c             the whole: from a graph to a program
 *   lower_facts.c       what is known of each tensor and node
 *   lower_pins.c        kernels that the user pinned
 *   lower_node_pins.c   kernels and types that the user pinned single nodes to
 *   lower_storages.c    which tensors may be stored in a lower type, and with which scale
 *   lower_chains.c      which nodes could be absorbed by which
 *   lower_before.c      the same of nodes before an input, and what candidates with them do
 *   lower_fit.c         a kernel's own parameters and combinations for a node
 *   lower_candidates.c  all ways to do each node
 *   lower_ports.c       the storages of a node's ports with a combination
 *   candidate_call.c    the call of a candidate, for questions to its kernel and for timing
 *   lower_equal.c       which nodes are the same problem, and in which order they are measured
 *   lower_timing.c      which candidates are measured (by timing.c), and in which order
 *   lower_cost.c        what a candidate and a conversion cost where they were not: estimates
 *   lower_level.c       which costs are equal within their noise, and what is preferred then
 *   lower_problem.c     the choice for the whole graph, stated for choose.h
 *   lower_emit.c        the program of a choice
 *   lower_state.c       what the chosen kernels save of their preparation
 *   lower_notes.c       what the report says of a build in a lower type
 *   lower_record.c      what the report says of the candidates that were compared
 *
 * A storage is a type, a format and a memory space: kernels of a device read and write its memory,
 * all others that of the host. A tensor of 32-bit floats may be stored in the lower type that the
 * build's precision allows (quantised 8-bit integers where it has a scale), and in the second one
 * where the build has two; every tensor may be stored in its own type, in any format that kernels
 * ask for.
 */
#ifndef TN_BUILDER_LOWER_LOWER_PRIVATE_H
#define TN_BUILDER_LOWER_LOWER_PRIVATE_H

#include "builder/choose/choose.h"
#include "builder/lower/lower.h"
#include "program/link.h"

typedef struct tn_storage {
    tn_type type; /* TN_NONE: the tensor's own */
    tn_format format;
    uint32_t space; /* TN_SPACE_... */
} tn_storage;

/* One way to do a node, and the first `chain_count` nodes of its chain with it, which are all those
 * before its input, if any. */
typedef struct tn_candidate {
    uint32_t kind; /* TN_STEP_KERNEL or TN_STEP_VIEW */
    bool is_host;
    const tn_kernel_entry *entry; /* null: the operator's reference, or no work at all */
    const void *kernel_params;    /* the kernel's own, for this node */
    uint32_t rank;                /* of its kernel, for estimates: 0 is preferred */
    uint32_t tactic, chain_count; /* steps: those before an input count, too */
    const tn_chain *chain;        /* its kernel's whole chain; null: none */
    const tn_storage *inputs, *outputs, *operands; /* as many as the node has, with this chain */
    double cost;                                   /* nanoseconds, or an estimate in their place */
    double noise;                                  /* of a measured cost, relative */
    double
        floor; /* of a measured cost: it takes no less; below it where all samples were disturbed */
    uint64_t key;                    /* tn_timing_key's; 0: not asked for yet */
    bool is_unkeyed;                 /* with the key: what its time depends on is not known */
    bool is_measured, is_remembered; /* by a cache of earlier builds */
} tn_candidate;

/* What a kernel has for a node; program/kernel_fit.h. */
typedef struct tn_lower_fit {
    const tn_kernel_entry *entry;
    bool is_fit; /* false: the kernel cannot read the node's fields */
    const void *params;
    uint32_t combination_count;
    const tn_combination *combinations;
    struct tn_lower_fit *next;
} tn_lower_fit;

typedef struct tn_lower_link {
    tn_tensor_id chained;
    tn_link link;
    struct tn_lower_link *next;
} tn_lower_link;

typedef struct tn_lower_node {
    bool is_shaped; /* all its tensors' shapes are known and can be relied on */
    bool is_ranked; /* all its tensors' ranks are, at least */
    /* lower_equal.c's: the first node with the same candidates, which is measured for all of them,
     * and for such a node how many they are. */
    uint32_t leader, equal_count;
    bool is_chain_contested; /* another node could do a part of it; lower_timing.c's, of leaders */
    tn_lower_fit *fits;      /* lower_fit.c's */
    tn_candidate *candidates;
    size_t candidate_count, candidate_capacity;
    /* The nodes that might follow within one kernel, and how many of them some kernel absorbs. */
    uint32_t run_count, chain_count, chain[TN_CHAIN_LIMIT];
    bool is_before;       /* some kernel absorbs it before an input */
    tn_lower_link *links; /* this node as a link */
} tn_lower_node;

typedef struct tn_lower_kernels {
    const tn_operator *op;
    bool is_device;
    const tn_kernel_entry **entries;
    uint32_t *ranks;
    uint32_t count;
} tn_lower_kernels;

typedef struct tn_lower_pin {
    const char *op, *kernel;
    bool is_known; /* some node's operator has a kernel of this name */
} tn_lower_pin;

typedef struct tn_lowering {
    const tn_graph *graph;
    const tn_inference_plan *plan;
    const tn_inference *points[TN_POINTS];
    const tn_lower_options *options;
    tn_arena *arena; /* lives as long as the lowering */
    /* by tensor */
    const tn_tensor **tensors; /* at the optimum, linear; null where nothing is known */
    tn_type *types;            /* TN_NONE: known at a run */
    uint32_t *reader;          /* a node that reads it */
    const void **aligned;      /* constants' data where timing needed it aligned */
    /* by node */
    tn_lower_node *nodes;
    tn_lower_kernels *kernels;
    size_t kernels_count, kernels_capacity;
    tn_lower_pin *pins;
    size_t pin_count;
    tn_storage storages[TN_CHOOSE_STORAGE_LIMIT]; /* by number; 0: own type, linear */
    uint32_t storage_count;
    /* lower_storages.c */
    tn_type lower_type;             /* TN_NONE: none is allowed */
    tn_type second_type;            /* of 16-bit floats, beside 8 bits; TN_NONE: none */
    bool *may_second;               /* by tensor: whether it may be stored in second_type */
    bool *may_lower;                /* by tensor: whether it may be stored in lower_type */
    bool *lacks_scale;              /* by tensor: whether it might, if it had a scale */
    tn_quantization *quantizations; /* by tensor, of those that may */
    tn_timing_cache *cache;
    tn_timing_cache *own_cache; /* of this build alone: of unkeyed candidates, and of all where the
                                   caller has none, so that equal nodes are measured once */
    struct tn_timing_scratch *timing;
} tn_lowering;

/* --- lower_facts.c --- */
tn_status tn_lower_facts(tn_lowering *lowering);
bool tn_lower_is_view(const tn_graph_node *node);
/* Those of the build's device, or those of the processor. */
tn_status tn_lower_kernels_of(tn_lowering *lowering, const tn_operator *op, bool is_device,
                              const tn_lower_kernels **out_kernels);
/* Whether the build is for another device than the processor, and may use it: not where shapes
 * depend on data. */
bool tn_lower_has_device(const tn_lowering *lowering);
/* Whether a candidate runs on it. */
bool tn_lower_is_on_device(const tn_candidate *candidate);
/* Whether a node reads or makes strings, a sequence or an optional: no device holds them. */
bool tn_lower_is_host_only(const tn_lowering *lowering, uint32_t node);
/* --- lower_pins.c --- */
tn_status tn_lower_pins_parse(tn_lowering *lowering);
/* Null: not pinned. */
tn_lower_pin *tn_lower_pin_of(const tn_lowering *lowering, const tn_operator *op);
bool tn_lower_pin_fits(const tn_lower_pin *pin, const tn_kernel_entry *entry);
/* Pins that name a kernel that no operator of theirs has: TN_ERROR_NOT_FOUND. */
tn_status tn_lower_pins_check(tn_lowering *lowering);
/* --- lower_node_pins.c --- */
/* Null: not pinned. */
const tn_node_pin *tn_lower_node_pin_of(const tn_lowering *lowering, uint32_t node);
/* Whether a pin (null: none) lets a kernel, and a combination of it, pass. */
bool tn_lower_node_pin_fits(const tn_node_pin *pin, const tn_kernel_entry *entry);
bool tn_lower_node_pin_combines(const tn_node_pin *pin, const tn_combination *combination);
/* Whether a candidate of a node has the type that the node is pinned to, if it is. */
bool tn_lower_node_pin_takes(const tn_lowering *lowering, uint32_t index,
                             const tn_candidate *candidate);
/* Says why a pinned node has no candidate. */
tn_status tn_lower_node_pin_fail(tn_lowering *lowering, uint32_t index, bool is_kernel_known);
/* --- lower_storages.c --- */
tn_status tn_lower_storages(tn_lowering *lowering);
/* The number of a storage, which is added; false when there are too many. */
bool tn_lower_note_storage(tn_lowering *lowering, tn_storage storage);
uint32_t tn_lower_storage_number(const tn_lowering *lowering, tn_storage storage);
/* What a tensor is in a storage. */
tn_type tn_lower_type(const tn_lowering *lowering, tn_tensor_id tensor, tn_storage storage);
const tn_quantization *tn_lower_quantization(const tn_lowering *lowering, tn_tensor_id tensor,
                                             tn_storage storage);
/* Whether a node, and what a candidate (null: none yet) absorbs, may use the lower type. */
bool tn_lower_is_allowed(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);
/* --- lower_ports.c --- */
/* The storages of a candidate's ports with a combination, as many as the node has with its chain. A
 * port that the combination leaves open takes the type that is wanted: TN_NONE (the tensor's own),
 * the lower or the second one. *out_fits: whether the node can have them. TN_ERROR_MEMORY. */
tn_status tn_lower_ports(tn_lowering *lowering, uint32_t node, const tn_candidate *candidate,
                         const tn_combination *combination, tn_type wanted, tn_storage *storages,
                         bool *out_fits);
/* Whether a tensor may be stored in a type that is not its own. */
bool tn_lower_may_be(const tn_lowering *lowering, tn_tensor_id tensor, tn_type type);
/* Whether it reads or writes something in the lower type. */
bool tn_lower_is_lowered(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);
/* --- lower_chains.c --- */
/* At all points of the profile. */
bool tn_lower_is_same_shape(const tn_lowering *lowering, tn_tensor_id a, tn_tensor_id b);
tn_status tn_lower_chains(tn_lowering *lowering);
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
/* What a candidate reads at an input of its node. */
tn_tensor_id tn_lower_input(const tn_lowering *lowering, uint32_t node,
                            const tn_candidate *candidate, uint32_t input);
/* How many of a candidate's steps are before an input. */
uint32_t tn_lower_before_count(const tn_candidate *candidate);
/* Whether one candidate of a node does all that another one does, and whether both do the same. */
bool tn_lower_covers(const tn_candidate *a, const tn_candidate *b);
bool tn_lower_does_same(const tn_candidate *a, const tn_candidate *b);
/* --- lower_fit.c --- */
tn_status tn_lower_fit_of(tn_lowering *lowering, uint32_t node, const tn_kernel_entry *entry,
                          const tn_lower_fit **out_fit);
/* --- lower_candidates.c --- */
/* Operands of the nodes that a candidate absorbs. */
uint32_t tn_lower_operand_count(const tn_candidate *candidate);
tn_status tn_lower_candidates(tn_lowering *lowering);
/* --- lower_equal.c --- */
/* Finds each node's leader, and lists the leaders, those first whose nodes take most by the costs
 * so far. */
tn_status tn_lower_equal(tn_lowering *lowering, uint32_t **out_leaders, uint32_t *out_count);
/* --- lower_timing.c --- */
tn_status tn_lower_costs(tn_lowering *lowering);
/* --- lower_cost.c --- */
/* Nanoseconds of a candidate, by rule. */
double tn_lower_estimate(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);
/* Of a tensor, from a storage to another. */
tn_status tn_lower_reformat_cost(tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                                 tn_storage to, double *out_cost, bool *out_is_measured);
/* --- lower_level.c --- */
/* The costs of a node's candidates for the choice: as measured, but for those that are equal within
 * their noise. `scratch`: as many. */
void tn_lower_level(const tn_lowering *lowering, uint32_t node, double *scratch, double *out_costs);
/* --- lower_problem.c --- */
/* A candidate for each node, TN_CHOOSE_NONE for absorbed ones. */
tn_status tn_lower_choose(tn_lowering *lowering, uint32_t *out_choice);
/* --- lower_notes.c --- */
tn_status tn_lower_note(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                        tn_lower_notes *out_notes);
/* --- lower_record.c --- */
/* The candidates of each node that heads a step, grouped: in `arena`. TN_ERROR_MEMORY. */
tn_status tn_lower_record(const tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_lower_notes *notes);
/* --- lower_emit.c --- */
/* Sets is_in_place and aliased of all steps; `storage_of` by value. */
tn_status tn_lower_find_in_place(tn_lowering *lowering, const uint32_t *choice,
                                 const tn_storage *storage_of, tn_program *program);
tn_status tn_lower_emit(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                        tn_program *out_program);

/* --- lower_state.c --- */
/* Prepares the chosen kernels that have `save`, as an engine would, and keeps what they save in the
 * program's steps, in `arena`. */
tn_status tn_lower_states(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_program *program);

/* The tensor that output `index` of a node is when a candidate does it with its chain. */
tn_tensor_id tn_lower_output(const tn_lowering *lowering, uint32_t node,
                             const tn_candidate *candidate, uint32_t index);

#endif
