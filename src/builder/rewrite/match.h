/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attempt to find a rewrite's pattern in a graph: from a node on which the pattern's last
 * statement may stand, towards the inputs, with every choice (commutative order, alternatives)
 * tried in turn. What was found is asked of the guard (guard.c) and put in place by rewrite.c.
 */
#ifndef TN_BUILDER_REWRITE_MATCH_H
#define TN_BUILDER_REWRITE_MATCH_H

#include "builder/passes/passes.h"
#include "plugin/rewrite/pattern.h"

/* What a name stands for. */
typedef struct tn_match_binding {
    bool is_bound;
    tn_tensor_id tensor;       /* of tensors and of captured constants; TN_NO_TENSOR: absent */
    const tn_attribute *value; /* of captures, and what the guard computed; null: none */
} tn_match_binding;

typedef struct tn_matcher {
    tn_pass_context *context;
    const tn_graph *graph;
    const tn_rewrite_entry *entry;
    const tn_pattern *pattern;
    tn_arena *arena; /* of this attempt */
    tn_match_binding bindings[TN_PATTERN_NAMES];
    uint32_t bound[TN_PATTERN_NAMES], bound_count; /* in their order */
    uint32_t nodes[TN_PATTERN_NODES], node_count;
    bool may_stay[TN_PATTERN_NODES]; /* by matched node: see tn_matcher_stays */
    uint64_t is_done;                /* by statement: it stands on a node */
    uint32_t step_count;             /* so far: hostile patterns end */
    tn_status status;   /* of what ends the attempt: no memory, a guard that breaks the contract */
    bool ignores_refit; /* as if no constant was to be refitted */
    const char *hidden; /* a constant to be refitted whose value the pattern asks for; or null */
    char reason[256];   /* why the last whole match was refused */
} tn_matcher;

/* Whether the pattern's last statement can stand on a node, by the operators' names alone. */
bool tn_matcher_may_stand(const tn_pattern *pattern, const tn_graph_node *node);
/* Whether the pattern stands on this node; the matcher then has what it found. Zeroed but for
 * context, graph, entry, pattern and arena. */
bool tn_matcher_find(tn_matcher *matcher, uint32_t root);

/* --- for match.c and match_*.c --- */
/* The fields of the term that the node must have; captures are bound (match_fields.c). */
bool tn_matcher_fields(tn_matcher *matcher, const tn_term *term, const tn_graph_node *node);
/* A constant against numbers, and as a captured value (match_constants.c). */
bool tn_matcher_is_constant(tn_matcher *matcher, const tn_graph_tensor *tensor,
                            const tn_term *numbers);
bool tn_matcher_capture_constant(tn_matcher *matcher, const tn_term *term, tn_tensor_id tensor);
bool tn_matcher_meets(const tn_graph_tensor *tensor, uint32_t constraint);
bool tn_matcher_is_same_constant(tn_matcher *matcher, const tn_graph_tensor *a,
                                 const tn_graph_tensor *b);
/* Binds a captured value, or compares it with the one that is there. */
bool tn_matcher_bind_value(tn_matcher *matcher, uint32_t name, tn_tensor_id tensor,
                           const tn_attribute *value);
bool tn_attribute_is_near(const tn_attribute *a, const tn_attribute *b);
/* Nobody else reads what would vanish, and nothing would depend on itself (match_whole.c). */
bool tn_matcher_is_whole(const tn_matcher *matcher);
/* Whether matched node number `index` stays in the graph: the pattern lets it, and nodes outside,
 * or the caller of the network, read what it computes. */
bool tn_matcher_stays(const tn_matcher *matcher, uint32_t index);
/* The guard says yes, or there is none (guard.c). */
bool tn_matcher_ask_guard(tn_matcher *matcher);

#endif
