/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: a node as what may follow the node before it within one kernel, or come before an input of
 * that kernel. A link knows the facets by which its operator describes it, asked by name once; a
 * chain is the steps that one kernel gets.
 */
#ifndef TN_PROGRAM_LINK_H
#define TN_PROGRAM_LINK_H

#include "program/node_call.h"

/* Steps that one kernel absorbs at most; of chains shorter than they could be, those up to
 * TN_CHAIN_SHORT are weighed, too. */
#define TN_CHAIN_LIMIT 8
#define TN_CHAIN_SHORT 4

/* Of a step. */
#define TN_LINK_OPERANDS 3

/* Of a facet's struct. */
#define TN_FACET_BYTES 128

typedef struct tn_link_facet {
    const char *name;
    tn_facet facet; /* its `variant` and `what` lie in the link's arena */
    bool is_described;
    struct tn_link_facet *next;
} tn_link_facet;

typedef struct tn_link {
    const tn_graph *graph;
    tn_arena *arena;
    uint32_t node, input; /* the node's input that is chained */
    bool is_open;         /* it has one chained input, one output, and all shapes are known */
    tn_node_call node_call;
    tn_link_facet *facets; /* those that were asked for */
} tn_link;

/* Whether the operand is a constant of the graph, linear, rather than a tensor as the output is. */
static inline bool tn_link_is_constant(const tn_facet_operand *operand) {
    return operand->form == TN_OPERAND_VECTOR || operand->form == TN_OPERAND_CONSTANT;
}

/* `chained`: a tensor that the node reads. `tensors` by id, null where nothing is known; they, and
 * the arena, live longer than the link, which must not be moved. TN_ERROR_MEMORY. */
tn_status tn_link_init(tn_link *link, tn_arena *arena, const tn_graph *graph, uint32_t node,
                       tn_tensor_id chained, const tn_tensor *const *tensors);
/* The node as a `name` (which has the lifetime of the link): null when it is none, and when it
 * needs a value that is neither an operand nor a constant. TN_ERROR_MEMORY. */
tn_status tn_link_facet_of(tn_link *link, const char *name, const tn_facet **out_facet);
/* Whether two descriptions are the same. */
bool tn_link_is_alike(const tn_facet *a, const tn_facet *b);

/* Whether an operand of this shape fits a result of that one. */
bool tn_link_operand_fits(const tn_facet_operand *operand, const tn_shape *shape,
                          const tn_shape *output);

/* Nodes in a row: the first `before_count` lead from the tensor `stored` to input `port` - 1 of a
 * node, the others follow its first output. */
typedef struct tn_links {
    uint32_t count, before_count, port;
    tn_tensor_id stored;
    tn_link *const *items;
} tn_links;

/* What a kernel absorbs of such links. */
typedef struct tn_chain {
    uint32_t count, before_count, port; /* port: 0 without any before */
    tn_tensor_id stored;                /* what the kernel reads at that port */
    const uint32_t *nodes;              /* of the steps */
    const tn_step *const *steps;
    const tn_facet *const *facets;               /* of the steps */
    const tn_tensor_id *operands;                /* of all steps */
    const tn_facet_operand *forms;               /* of the operands */
    uint32_t operand_counts[TN_CHAIN_LIMIT + 1]; /* of the first steps */
} tn_chain;
/* Whether one of the first `count` steps that is behind an operand's own changes the shape: the
 * kernel's output then says nothing of how a tensor of the shape before it is stored. */
bool tn_chain_reshapes_behind(const tn_chain *chain, uint32_t operand, uint32_t count);
/* The kernel's choice for each link, the first one that it lists for that port, as far as there is
 * one. At most TN_CHAIN_LIMIT links; a `count` below `before_count`: the kernel does not absorb
 * those before. TN_ERROR_MEMORY. */
tn_status tn_chain_init(tn_chain *chain, tn_arena *arena, const tn_kernel_entry *entry,
                        const tn_links *links);

#endif
