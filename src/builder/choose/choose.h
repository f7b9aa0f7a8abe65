/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice for a whole graph at once, as pure numbers: which candidate does each node's work, so
 * that the sum of the candidates' costs and of the conversions between storages is small. Knows
 * nothing of kernels; lower.c states the problem and reads the answer.
 *
 * A candidate of node n does n and, when it fuses, the later nodes of its chain, which then have no
 * candidate of their own. It reads tensors in given storages and writes tensors in given storages.
 * A conversion is paid once for each (tensor, storage) that somebody reads and that is not the
 * storage the tensor was written in.
 */
#ifndef TN_BUILDER_CHOOSE_CHOOSE_H
#define TN_BUILDER_CHOOSE_CHOOSE_H

#include "base/memory.h"

#define TN_CHOOSE_NONE UINT32_MAX
/* Storages are told by number, below this. */
#define TN_CHOOSE_STORAGE_LIMIT 32

typedef struct tn_choose_use {
    uint32_t tensor, storage;
} tn_choose_use;

typedef struct tn_choose_candidate {
    double cost;
    uint32_t chain_count, input_count, output_count;
    const uint32_t *chain; /* nodes with higher numbers */
    const tn_choose_use *inputs, *outputs;
} tn_choose_candidate;

/* At least one candidate has no chain. */
typedef struct tn_choose_node {
    uint32_t candidate_count;
    const tn_choose_candidate *candidates;
} tn_choose_node;

/* A tensor that comes from outside in a storage, or that the outside wants in one; TN_CHOOSE_NONE.
 */
typedef struct tn_choose_tensor {
    uint32_t given, wanted;
} tn_choose_tensor;

/* Nodes are sorted: who writes a tensor comes before who reads it. */
typedef struct tn_choose_problem {
    uint32_t node_count, tensor_count, storage_count;
    const tn_choose_node *nodes;
    const tn_choose_tensor *tensors;
    const double *reformat; /* [tensor][from][to] */
    bool is_coarse;         /* costs are estimates: the search tries no pairs of neighbours */
    /* By bit: of less precision, which the choice may do without, and those of the least. */
    uint32_t lower_storages, lowest_storages;
} tn_choose_problem;

/* Answers a candidate for each node, TN_CHOOSE_NONE for those in somebody's chain, and the sum,
 * which is never more than that of the same search without the lower or the lowest storages, where
 * there is one.
 * Small problems are solved exactly, others by local search from several starts, unless
 * `is_local_only` (for tests). The same problem gives the same answer. TN_ERROR_MEMORY. */
tn_status tn_choose(const tn_allocator *allocator, const tn_choose_problem *problem,
                    bool is_local_only, uint32_t *out_choice, double *out_cost);
/* The sum that a choice costs. */
double tn_choose_cost(const tn_choose_problem *problem, const uint32_t *choice);

/* --- the parts, for choose.c --- */
/* The problem without the storages `left_out` (by bit) and without candidates that are in none of
 * its best choices, or that another one can stand for: it has the same least sum. `numbers`: by
 * node, what its candidates are called in the whole problem. */
tn_status tn_choose_reduce(tn_arena *arena, const tn_choose_problem *whole, uint32_t left_out,
                           tn_choose_problem *out_reduced, uint32_t ***out_numbers);
/* Improves a choice by branch and bound when the problem is small enough; gives up quietly when it
 * takes too long. `choice` and `cost` are those of a sound choice. */
tn_status tn_choose_exact(const tn_allocator *allocator, const tn_choose_problem *problem,
                          uint32_t *choice, double *cost);
/* Local search. */
tn_status tn_choose_search(const tn_allocator *allocator, const tn_choose_problem *problem,
                           uint32_t *out_choice, double *out_cost);

#endif
