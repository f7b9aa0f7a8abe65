/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: what it is given, and its parts. In the order of the work:
 *
 *   lower.c             the whole: from a graph to a program
 *   lower_facts.h       what is known of each tensor and node, and the kernels of each operator
 *   lower_pins.h        kernels that the user pinned operators and single nodes to
 *   lower_storages.h    which tensors may be stored in a lower type, and with which scale
 *   lower_chains.h      which nodes could be absorbed by which
 *   lower_fit.h         a kernel's own parameters and combinations for a node
 *   lower_candidates.h  all candidates of each node; candidate.h: one
 *   candidate_call.h    the call of a candidate, for questions to its kernel and for timing
 *   timing/             what candidates and conversions cost: measured or estimated
 *   lower_problem.c     the choice for the whole graph, stated for choose.h
 *   trials/             other choices, run as whole networks
 *   lower_emit.c        the program of a choice; lower_in_place.c: what it computes in place
 *   notes/              what the report says of the choice
 *
 * A storage is a type, a format and a memory space: kernels of a device read and write its memory,
 * all others that of the host. A tensor of 32-bit floats may be stored in the lower type that the
 * build's precision allows (quantised 8-bit integers where it has a scale), and in the second one
 * where the build has two; every tensor may be stored in its own type, in any format that kernels
 * ask for.
 */
#ifndef TN_BUILDER_LOWER_LOWER_PRIVATE_H
#define TN_BUILDER_LOWER_LOWER_PRIVATE_H

#include "builder/lower/lower.h"
#include "program/link.h"

typedef struct tn_storage {
    tn_type type; /* TN_NONE: the tensor's own */
    tn_format format;
    uint32_t space; /* TN_SPACE_... */
} tn_storage;

typedef struct tn_candidate tn_candidate;   /* lower_candidates.h */
typedef struct tn_lower_node tn_lower_node; /* lower_candidates.h */

typedef struct tn_lowering {
    const tn_graph *graph;
    const tn_inference_plan *plan;
    const tn_inference *points[TN_POINTS];
    const tn_lower_options *options;
    tn_arena *arena; /* has the lifetime of the lowering */
    /* Its parts: each is filled by the file of its name, in this order. */
    const struct tn_lower_facts *facts;         /* lower_facts.h */
    struct tn_lower_kernels *kernels;           /* lower_facts.c's: found so far */
    struct tn_lower_pins *pins;                 /* lower_pins.c's; null: none */
    const struct tn_lower_precision *precision; /* lower_storages.h */
    struct tn_lower_storages *storages;         /* lower_storages.c's: noted so far */
    struct tn_lower_chains *chains;             /* lower_chains.c's, by node */
    struct tn_lower_fits *fits;                 /* lower_fit.c's: found so far, by node */
    tn_lower_node *nodes;                       /* lower_candidates.h */
    const struct tn_timing_rates *rates;        /* timing/timing_rates.h */
    double ratios[2]; /* timing/lower_compare.c's: measured over estimated times, of the processor
                         and of the device */
    bool has_unmeasured_nodes; /* timing/lower_timing.c's: the time was over before each node with a
                                  choice had a candidate measured */
    bool is_resident;         /* likewise: the network's constants stay in the processor's caches */
    struct tn_timing *timing; /* timing/timing_private.h; null: nothing is measured */
    const void **aligned;     /* timing/timing_tensors.c's: copies of constants, by tensor */
    struct tn_lower_trials *trials; /* trials/'s; null: no network ran */
} tn_lowering;

/* --- timing/ --- */
/* Whether a kernel need not be asked for channels last: estimates alone decide, and one of the
 * node's candidates so far is the same kernel with blocks of channels, which they think no slower.
 * Asking oneDNN takes up to a millisecond. */
bool tn_lower_is_outdone(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate);
/* Multiplications and additions of a node with weights: each output element meets each weight of
 * its own row of the weights, more or less. 0: it has none. */
double tn_lower_work(const tn_graph *graph, const tn_inference *optimum, const tn_graph_node *node);
/* What estimates take that work for, over its figure: in linear formats, and with blocks of
 * channels that fill a vector. */
double tn_lower_linear_factor(const tn_graph *graph, const tn_inference *optimum,
                              const tn_graph_node *node);
double tn_lower_blocked_factor(const tn_graph *graph, const tn_inference *optimum,
                               const tn_graph_node *node);
/* Whether a choice of this cost is enough better than another one to load a library for it that is
 * not loaded. */
bool tn_lower_is_worth_loading(double cost, double without_cost);
/* The costs of all candidates: measured, or estimated. */
tn_status tn_lower_costs(tn_lowering *lowering);
/* Nanoseconds of a conversion of a tensor, from a storage to another: by what it moves, and
 * measured where timing can. */
double tn_lower_estimate_reformat(const tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                                  tn_storage to);
tn_status tn_lower_reformat_cost(tn_lowering *lowering, tn_tensor_id tensor, tn_storage from,
                                 tn_storage to, double *out_cost, bool *out_is_measured);
/* The costs of a node's candidates for the choice: as measured, but for those that are equal within
 * their noise. `scratch`: as many. */
void tn_lower_level(const tn_lowering *lowering, uint32_t node, double *scratch, double *out_costs);
/* Whether a kernel is made anew for a shape of its node, whose first input varies within the
 * profile, and not in its batch alone. */
bool tn_lower_is_made_again(const tn_lowering *lowering, uint32_t node, const tn_kernel *kernel);
/* What a run pays for such a kernel that uses OpenMP and has no weights, where nothing is measured:
 * nanoseconds. Those with weights decide about all together, below. */
double tn_lower_made_cost(const tn_lowering *lowering, uint32_t node,
                          const tn_candidate *candidate);
/* A choice with kernels that use OpenMP: how many steps it has, all of which have their loops done
 * by OpenMP's team, and how many of those kernels are made anew for each new shape (0 where nothing
 * but a batch varies). */
typedef struct tn_lower_openmp {
    uint32_t steps, made;
} tn_lower_openmp;
/* Whether such a choice is enough faster than the best one without. */
bool tn_lower_is_worth_openmp(const tn_lowering *lowering, const tn_lower_openmp *openmp,
                              double cost, double without_cost);
double tn_lower_left_out_cost(void); /* of what is not chosen while there is anything else */
/* Prepares the chosen kernels that have `save`, as an engine would, and keeps what they save in the
 * program's steps, in `arena`. */
tn_status tn_lower_states(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_program *program);
/* --- trials/ --- */
/* Runs other choices than `choice` as networks, as long as they are new and time is left, and
 * leaves the fastest one in it. Nothing where the build has no runner. */
tn_status tn_lower_try(tn_lowering *lowering, uint32_t *choice);
/* Whether a choice is asked for by estimates alone, whatever was measured. */
bool tn_lower_is_by_estimates(const tn_lowering *lowering);
/* What the cost of a candidate (by its number) and of a conversion (by the numbers of the storages)
 * is, by what ran so far. */
double tn_lower_trials_cost(const tn_lowering *lowering, uint32_t node, size_t candidate,
                            double cost);
tn_status tn_lower_trials_reformat_cost(tn_lowering *lowering, tn_tensor_id tensor, uint32_t from,
                                        uint32_t to, double *out_cost);
/* --- lower_problem.c --- */
/* A candidate for each node, TN_CHOOSE_NONE for absorbed ones. */
tn_status tn_lower_choose(tn_lowering *lowering, uint32_t *out_choice);
/* --- lower_emit.c --- */
/* Sets is_in_place and aliased of all steps; `storage_of` by value. */
tn_status tn_lower_find_in_place(tn_lowering *lowering, const uint32_t *choice,
                                 const tn_storage *storage_of, tn_program *program);
tn_status tn_lower_emit(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                        tn_program *out_program);

#endif
