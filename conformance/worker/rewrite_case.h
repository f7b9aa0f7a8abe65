/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rewrite's pattern as a network, made from a case (tn_rewrite.cases), and what the rewrite makes
 * of it: both are run by the references of their operators.
 */
#ifndef TN_CONFORMANCE_WORKER_REWRITE_CASE_H
#define TN_CONFORMANCE_WORKER_REWRITE_CASE_H

#include "cases/conformance.h"
#include "plugin/registry.h"

typedef struct tn_rewrite_case {
    tn_runtime *runtime;
    const tn_rewrite_entry *entry;
    tn_arena *arena;
    uint32_t value_count;
    tn_case_value *values;
} tn_rewrite_case;

/* The pattern in its form number `form` (an alternative of each choice); *out_is_form is false, and
 * there is no graph, where it has fewer forms. */
tn_status tn_rewrite_case_graph(const tn_rewrite_case *c, uint32_t form, tn_graph **out_graph,
                                bool *out_is_form);
/* Applies this rewrite alone; `why` says why not, where that is known. */
tn_status tn_rewrite_case_apply(const tn_rewrite_case *c, tn_graph *graph, bool *out_is_applied,
                                char *why, size_t bytes);
tn_status tn_rewrite_case_run(const tn_rewrite_case *c, tn_graph *graph, tn_outcome *out_outcome);

#endif
