/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: chooses, for a sorted optimised graph and its profile, a kernel, combination, tactic
 * and epilogue chain for each node, and storages (types and formats) for the whole graph at once;
 * by measured time, or by rule without timing. Used by the builder, and by the engine when no
 * stored program fits the device.
 */
#ifndef TN_BUILDER_LOWER_LOWER_H
#define TN_BUILDER_LOWER_LOWER_H

#include "builder/lower/node_pins.h"
#include "graph/infer.h"
#include "program/program.h"

typedef struct tn_timing_cache tn_timing_cache; /* builder/timing/timing_cache.h */

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

typedef struct tn_lower_options {
    const tn_device *device; /* null: the processor */
    uint32_t threads;
    bool no_timing, no_fusion, reference_only, is_checked;
    bool keeps_states;      /* what kernels save of their preparation goes into the program */
    const char *forced;     /* "Op=kernel,..." or null */
    tn_timing_cache *cache; /* null: none */
    double timing_seconds;
    double (*now_ns)(void);       /* the clock of timings on the processor; null: the system's */
    double (*waited_ns)(void);    /* how long threads waited for a core so far; null: the system's,
                                     and with a clock of the caller's none */
    const tn_thread_pool *pool;   /* that timings run on */
    uint32_t precision;           /* TN_PRECISION_... */
    uint32_t second_precision;    /* beside TN_PRECISION_I8: of 16-bit floats; 0: none */
    const float *scales;          /* by tensor, 0: none; null: none at all */
    const bool *is_kept;          /* by node: stays in its own types; null: none does */
    const tn_node_pin *node_pins; /* by node; null: none is pinned */
    const bool *is_unfused;       /* by node: no kernel absorbs it; null: any may */
    tn_lower_notes *notes;        /* null, or to be filled, in the program's arena */
} tn_lower_options;

/* `inferences`: by TN_POINT_..., the same one where nothing varies. The program lies in `arena`. */
tn_status tn_lower(const tn_graph *graph, const tn_inference_plan *plan,
                   const tn_inference *const inferences[TN_POINTS], const tn_lower_options *options,
                   tn_arena *arena, tn_program *out_program);

#endif
