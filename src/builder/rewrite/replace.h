/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting a replacement in place of a match: first in a small graph of its own, where its types,
 * shapes and kernels are looked at (trial.c), then in the network's.
 */
#ifndef TN_BUILDER_REWRITE_REPLACE_H
#define TN_BUILDER_REWRITE_REPLACE_H

#include "builder/rewrite/extent_proof.h"
#include "base/error_copy.h"
#include "builder/rewrite/match.h"

/* The replacement while it is added to a graph. */
typedef struct tn_emitter {
    const tn_matcher *matcher;
    tn_graph *graph;       /* the matcher's, or a trial */
    tn_arena *arena;       /* of attributes */
    const char *name, *by; /* of the nodes; the rewrite, in the graph's arena (null: not noted) */
    tn_tensor_id tensors[TN_PATTERN_NAMES];  /* in `graph`; of inputs and outputs before the call */
    tn_tensor_id captured[TN_PATTERN_NAMES]; /* constants that captures were read from */
    tn_type number_type;                     /* of literal constants */
    uint32_t node_count, nodes[TN_PATTERN_NODES];
    /* A pattern is written the same, in one of its forms: an alternative of each choice, by `form`
     * in turn; what is left of it afterwards is 0 where there is such a form. */
    bool is_pattern;
    uint32_t form;
    tn_tensor_id any;          /* what stands at '_' */
    tn_error_copy first_error; /* before older versions were tried */
    bool has_error;
} tn_emitter;

/* Adds the replacement's nodes, or the pattern's. What fails may leave nodes behind: their number
 * is node_count. */
tn_status tn_emitter_run(tn_emitter *emitter);

/* Whether the replacement's outputs have the types and shapes of the pattern's at every point, and
 * a kernel where it needs one; `reason` says why not. TN_ERROR_MEMORY alone fails. */
tn_status tn_trial_run(tn_matcher *matcher, const char *name, bool *out_is_right, char *reason,
                       size_t reason_bytes);

/* Whether the device (or, where it lacks one, the processor) has a kernel for a node, at the
 * profile's points; what is no work at all counts as having one. */
enum { TN_KERNELS_NONE, TN_KERNELS_PROCESSOR, TN_KERNELS_DEVICE };
tn_status tn_kernels_of(const tn_pass_context *context, const tn_graph *graph, uint32_t node,
                        const tn_inference *const *points, tn_arena *arena, int *out_kernels);

/* The type of numbers that stand as inputs of the replacement. */
tn_type tn_rewrite_number_type(const tn_matcher *matcher);

/* The match becomes the replacement, whose nodes have this name; the graph is sorted anew. `by`:
 * the rewrite's name, in the graph's arena. */
tn_status tn_rewrite_replace(tn_matcher *matcher, const char *name, const char *by);

#endif
