/* SPDX-License-Identifier: Apache-2.0 */
/* The builder's report, one JSON document: what was folded and dropped, which kernel does what in
 * which formats and how long it took, what the candidates that were compared took, and the memory
 * of a run. For people and programs; no part of the plan. */
#ifndef TN_BUILDER_REPORT_REPORT_H
#define TN_BUILDER_REPORT_REPORT_H

#include "builder/lower/lower.h"
#include "builder/passes/passes.h"
#include "report/report_memory.h"
#include "program/profile.h"

typedef struct tn_report_source {
    const tn_graph *graph;
    const tn_plan_profile *profiles;
    const tn_profile_shapes *shapes;
    const tn_program *program;
    const tn_device *device;     /* that the build is for */
    const tn_lower_notes *notes; /* null: nothing is said of precision */
    const tn_pass_context *passes;
    const tn_node_pin *node_pins; /* by node; null: none is pinned */
    size_t given_node_count;      /* of the graph before the passes */
    const tn_report_memory *memory;
} tn_report_source;
/* Of a plan's profiles, in their order; the whole speaks of the first one, and where there are
 * several, "profiles" of each. The caller frees *out_json by tn_deallocate. TN_ERROR_MEMORY. */
tn_status tn_report_make(const tn_report_source *sources, uint32_t count, char **out_json);

#endif
