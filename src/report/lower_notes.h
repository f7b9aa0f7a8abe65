/* SPDX-License-Identifier: Apache-2.0 */
/* What a lowering notes of its choices for the reports: why nodes stay in their own types, and
 * which kernels were compared. builder/lower fills them. */
#ifndef TN_REPORT_LOWER_NOTES_H
#define TN_REPORT_LOWER_NOTES_H

#include "graph/graph.h"

/* Why a node reads and writes nothing in the type that the build's precision allows. */
enum {
    TN_LOWER_DONE = 0,      /* it does, or is no node of floats */
    TN_LOWER_KEPT = 1,      /* by the caller */
    TN_LOWER_NO_KERNEL = 2, /* no kernel of its operator names the type */
    TN_LOWER_NO_FIT = 3,    /* none that does takes this node */
    TN_LOWER_NO_SCALE = 4,  /* a tensor of it has no scale */
    TN_LOWER_SLOWER = 5     /* it would, and its conversions, take longer */
};
typedef struct tn_lower_note_item {
    uint32_t reason;
    tn_tensor_id tensor;        /* NO_SCALE */
    double lower_ns, chosen_ns; /* SLOWER: both with their conversions */
    bool is_measured;           /* both were; else they are estimates */
    const char *why;            /* in a few words; null when DONE */
    const char *text;           /* a sentence with all that is known */
} tn_lower_note_item;

/* What is known of a candidate's time. */
enum {
    TN_LOWER_MEASURED = 1,  /* in this build, or in one that the timing cache remembers */
    TN_LOWER_ESTIMATED = 2, /* by rule: timing was off, its time was over, or all samples
                               were disturbed */
    TN_LOWER_PRUNED = 3     /* not measured: what was measured beside it was better by far */
};
/* A kernel that was compared for a node, in one set of types and formats and with one length of
 * chain: the best of its tactics. */
typedef struct tn_lower_candidate {
    const char *kernel, *library; /* null: the operator's reference */
    uint32_t chain_count;         /* nodes of the chain that it absorbs */
    const uint32_t *chain;        /* these nodes */
    uint32_t tactic, tactic_count, measured_count;
    tn_type input_type, output_type; /* of the first input and output; TN_NONE: there is none */
    tn_format input_format, output_format;
    bool is_device, is_chosen;
    uint32_t time_source; /* TN_LOWER_MEASURED, ... */
    double nanoseconds;   /* of the chosen one: of the chosen tactic */
    double noise;         /* of a measured one, relative */
} tn_lower_candidate;
typedef struct tn_lower_candidate_list {
    size_t count;
    tn_lower_candidate *items;
} tn_lower_candidate_list;

typedef struct tn_lower_notes {
    tn_type type;              /* TN_NONE: the build was in the tensors' own types */
    tn_lower_note_item *nodes; /* by node; those that head a step count */
    size_t without_scale_count;
    tn_tensor_id *without_scale;         /* tensors that some kernel would take in 8 bits */
    tn_lower_candidate_list *candidates; /* by node; of those that head a step with a kernel */
} tn_lower_notes;

#endif
