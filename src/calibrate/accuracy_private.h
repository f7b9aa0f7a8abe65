/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of tn_build_accurate share: build_accurate.c leads, accuracy_measure.c compares,
 * accuracy_search.c finds what goes back to 32-bit floats, accuracy_report.c tells. */
#ifndef TN_CALIBRATE_ACCURACY_PRIVATE_H
#define TN_CALIBRATE_ACCURACY_PRIVATE_H

#include "calibrate/batch_run.h"
#include "calibrate/output_loss.h"
#include "graph/graph.h"

/* Nodes that one step does and that have a lower precision together. */
typedef struct tn_lowered_unit {
    const char **nodes; /* names, in the arena */
    uint32_t node_count;
    double loss; /* of the network when these alone have the lower precision */
} tn_lowered_unit;

/* One build that was measured. */
typedef struct tn_accuracy_trial {
    uint32_t kept_count; /* units that went back */
    double loss;
} tn_accuracy_trial;

#define TN_ACCURACY_TRIALS 40 /* the first, one for each halving of 2^32 units, and the last */

typedef struct tn_accuracy_state {
    const tn_accuracy_options *options;
    tn_builder_options build; /* the caller's, whole */
    tn_graph *graph;
    const tn_allocator *allocator;
    tn_arena *arena;
    tn_timing_cache *cache; /* of all builds here: they differ by what is kept, not by noise */
    tn_batch_run reference, best; /* best: what is handed out */
    tn_output_loss *losses;       /* of the best run, one an output */
    uint32_t output_count;
    tn_lowered_unit *units; /* those found first have lost most; room for every node */
    uint32_t unit_count;
    tn_accuracy_trial trials[TN_ACCURACY_TRIALS];
    uint32_t trial_count;
    uint32_t kept_count; /* units, in the order of their loss, that are back in the best run */
} tn_accuracy_state;

/* --- accuracy_measure.c --- */
/* The loss of a network over `count` batches, evenly spread. `losses` has an entry an output. */
tn_status tn_accuracy_measure(tn_accuracy_state *state, tn_batch_run *tested, const char *stage,
                              uint64_t count, tn_output_loss *losses, double *out_loss);

/* --- accuracy_search.c --- */
/* Takes units back until the bound holds. TN_ERROR_RANGE when it cannot. */
tn_status tn_accuracy_search(tn_accuracy_state *state);

/* --- accuracy_report.c --- */
tn_status tn_accuracy_report(const tn_accuracy_state *state, char **out_json);

#endif
