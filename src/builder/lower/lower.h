/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering: chooses, for a sorted optimised graph and its profile, a kernel, combination, tactic
 * and epilogue chain for each node, and storages (types and formats) for the whole graph at once;
 * by measured time, or by rule without timing. Used by the builder, and by the engine when no
 * stored program fits the device.
 */
#ifndef TN_BUILDER_LOWER_LOWER_H
#define TN_BUILDER_LOWER_LOWER_H

#include "builder/pins/node_pins.h"
#include "builder/progress/progress.h"
#include "graph/infer.h"
#include "program/program.h"
#include "report/lower_notes.h"

typedef struct tn_timing_cache tn_timing_cache; /* builder/timing/timing_cache.h */

/* Runs programs of the lowered graph as networks, made-up inputs and all. Anything but TN_OK: they
 * cannot be run. */
typedef struct tn_lower_runner {
    /* What the program points to stays until it is closed; the struct itself does not. */
    tn_status (*open)(void *user, const tn_program *program, void **out_network);
    void *user;
    void (*close)(void *network);
    /* Runs one or two in turns, each for `most_ns` or twice, if it takes longer. `out_step_ns`, by
     * network: nanoseconds of each step; what does not run is left as it is; null: they are not
     * asked for. `out_ns`, above 0: of each network. Both are what they take now; other programs
     * may leave less of the machine than at other times. */
    tn_status (*race)(void *const *networks, uint32_t count, double most_ns,
                      double *const *out_step_ns, double *out_ns);
} tn_lower_runner;

typedef struct tn_lower_options {
    const tn_device *device; /* null: the processor */
    uint32_t threads;
    bool no_timing, no_fusion, reference_only, is_checked;
    bool keeps_states;      /* what kernels save of their preparation goes into the program */
    bool keeps_packed;      /* likewise what they pack of constants */
    const char *forced;     /* "Op=kernel,..." or null */
    tn_timing_cache *cache; /* null: none */
    double timing_seconds;
    uint32_t timing_shares;       /* this lowering has one of so many of them; 0: all of the time */
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
    tn_progress *progress;        /* null: nobody is told */
    const tn_lower_runner *runner; /* null: no choice is tried as a network */
} tn_lower_options;

/* `inferences`: by TN_POINT_..., the same one where nothing varies. The program lies in `arena`. */
tn_status tn_lower(const tn_graph *graph, const tn_inference_plan *plan,
                   const tn_inference *const inferences[TN_POINTS], const tn_lower_options *options,
                   tn_arena *arena, tn_program *out_program);

#endif
