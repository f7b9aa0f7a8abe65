/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes: each changes a sorted graph a little and leaves it sorted. They know shapes by tensor
 * (inferred before the first pass: no pass changes a tensor's shape or type), and no operator by
 * name: traits and rules of the operator's own tables say what a node is.
 */
#ifndef TN_BUILDER_PASSES_PASSES_H
#define TN_BUILDER_PASSES_PASSES_H

#include "graph/infer.h"
#include <tenon/builder.h>

/* What goes on record, for the report. */
typedef struct tn_pass_names {
    const char **names; /* of nodes */
    size_t count, capacity;
} tn_pass_names;

typedef struct tn_pass_context {
    tn_graph *graph;
    /* By TN_POINT_...; of an earlier state of the graph, by tensor. */
    const tn_inference *points[TN_POINTS];
    const bool *is_fixed_input; /* by graph input: its shape never differs */
    const bool *is_unsure; /* by tensor: its shape is known at a run only, whatever points say */
    /* What proves that extents are equal (extent_proof.h); null: nothing does where they vary. */
    const struct tn_extent_proof *proof;
    const tn_device *device; /* that is built for; null: the processor */
    uint32_t without_count;  /* rewrites that are not to be applied, by name */
    const char *const *without;
    const struct tn_rewrite_entry *only; /* this rewrite alone, kernels or not; null: all */
    /* Constants are not folded where these rewrites look for a node of them. */
    const struct tn_rewrite_entry *const *waiting;
    uint32_t waiting_count;
    char refused[256]; /* why the last match was not replaced */
    tn_pass_names folded, dropped, merged;
    tn_pass_names unfused;      /* nodes that stay as they are for constants to be refitted, ... */
    tn_pass_names unfused_for;  /* ... the constant's name (null: not known) ... */
    tn_pass_names unfused_why;  /* ... and what is not done */
    tn_pass_names rewritten;    /* nodes that a rewrite put in place, and parallel to them ... */
    tn_pass_names rewritten_by; /* ... the rewrite's name */
    tn_tensor_id *stand_ins;    /* by tensor, those there are when nodes are merged: see below */
    size_t stand_in_count;
    tn_pass_names widened_nodes; /* that compute in 32-bit floats in place of 16 bits */
    tn_tensor_id *widened;       /* by tensor, those there were before that: what the nodes inside
                                    compute or read in place of an input or output */
    size_t widened_count;
} tn_pass_context;
void tn_pass_context_deinit(tn_pass_context *context);
tn_status tn_pass_names_add(tn_pass_context *context, tn_pass_names *names, const char *name);

/* Marks the constants that the options name as to be refitted (tn_graph_tensor.refit_name), in
 * bodies, too; before all passes, which then do not use what they are. Errors: tenon/builder.h. */
tn_status tn_pass_mark_refit(tn_graph *graph, const tn_builder_options *options);
/* Sets `is_value_step` of nodes whose values decide shapes and follow from weights: anew each time,
 * since other passes make new nodes. The graph is sorted. */
tn_status tn_pass_mark_value_steps(tn_graph *graph, tn_arena *arena);
/* Removes nodes whose outputs nobody needs, and the optional outputs that nobody needs of others.
 */
tn_status tn_pass_drop_dead(tn_pass_context *context);
/* Removes nodes that their operator calls identities. Graph outputs keep their names. */
tn_status tn_pass_drop_identities(tn_pass_context *context);
/* Makes one node of those that compute the same: one operator, equal fields and inputs, constants
 * by their content. Outputs of the graph are made as before, each by its own node. */
tn_status tn_pass_merge_equal(tn_pass_context *context);
/* Puts in place what libraries' rewrites say (tenon/plugin/rewrite.h): builder/rewrite/. */
tn_status tn_pass_rewrite(tn_pass_context *context);
/* The same for rewrites with a node that reads constants alone, such as quantised weights and their
 * scale. Called before constants are folded; folds all that these rewrites do not look for. */
tn_status tn_pass_rewrite_constants(tn_pass_context *context);
/* Puts factors and shifts of channels into the constants of the linear node before them. */
tn_status tn_pass_fold_affine(tn_pass_context *context);
/* Computes nodes that depend on nothing that can change: constants, fields, and fixed shapes. What
 * would grow by more than TN_PASS_FOLD_BYTES over its inputs is left alone. */
tn_status tn_pass_fold_constants(tn_pass_context *context);
#define TN_PASS_FOLD_BYTES ((size_t)64 << 20)
/* Replaces nodes by those of a body, where their operator says that they are one. *out_is_inlined:
 * the graph has tensors then that nothing is known of, and has to be inferred again before another
 * pass. */
tn_status tn_pass_inline_bodies(tn_pass_context *context, bool *out_is_inlined);
/* Has nodes of 16-bit floats compute in 32-bit floats, with conversions around them
 * (builder/widen/). *out_is_widened: the graph has to be inferred again before another pass. */
tn_status tn_pass_widen(tn_pass_context *context, bool *out_is_widened);
/* Puts a node on record that is not folded or fused since `constant` is to be refitted; each once.
 */
tn_status tn_pass_note_refit(tn_pass_context *context, const char *node, const char *constant,
                             const char *why);

/* --- helpers --- */
/* Whether type and shape of a tensor are known at all points and can be relied on. */
bool tn_pass_is_shaped(const tn_pass_context *context, tn_tensor_id tensor);
/* The tensor that holds what this one held before nodes were widened and merged; mostly itself. */
tn_tensor_id tn_pass_stand_in(const tn_pass_context *context, tn_tensor_id tensor);

#endif
