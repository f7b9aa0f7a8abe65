/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operator or kernel under test, called directly and by the letter of the contract: every
 * callback gets a call, tensors and shapes that are gone when it returns; inputs cannot be written,
 * outputs are poisoned, the workspace is exactly as large as was asked for. What breaks the
 * contract in a way that a return value shows is an error with the rule's id in `rule`; what shows
 * as a fault ends the process through guarded.h.
 */
#ifndef TN_CONFORMANCE_WORKER_PROBE_H
#define TN_CONFORMANCE_WORKER_PROBE_H

#include "cases/chain_step.h"
#include "cases/conformance.h"
#include "worker/watch/guarded.h"
#include "plugin/strings/strings.h"
#include "graph/graph.h"
#include "plugin/host.h"

enum { TN_PROBE_PORTS = 64, TN_PROBE_OUTPUTS = 16, TN_PROBE_STEPS = 4, TN_PROBE_OPERANDS = 6 };

/* A tensor as the kernel sees it, and the numbers that are in it. */
typedef struct tn_probe_port {
    bool is_given, is_constant, is_shape_only, is_value_needed;
    bool is_strided, has_gaps; /* the combination accepts rows apart; and they are */
    bool is_counted;           /* the combination accepts a count */
    bool is_offered;           /* an output sized by run: the kernel is to store a count */
    uint32_t unbounded;        /* an output's axes whose extents `run` decides (bit i: axis i) */
    uint32_t counted_axis;
    int64_t capacity;       /* along it; `shape` has the count; has_gaps is set. 0: none */
    tn_type type, own_type; /* stored, and of `own` */
    tn_format format;
    float scale; /* of 8-bit numbers that stand for real ones; 0: none */
    tn_shape shape;
    const void *own; /* inputs: linear elements of own_type */
} tn_probe_port;

/* How often memory was asked for outputs without a bound (tenon/plugin/output.h), and which of
 * these calls fails, from 1; 0: none. */
typedef struct tn_probe_asking {
    uint64_t calls, fail_at;
} tn_probe_asking;

/* What is under test on which numbers. The kernel null: the operator's reference. */
typedef struct tn_probe tn_probe;
struct tn_probe {
    tn_runtime *runtime;
    const tn_operator *op;
    const tn_kernel *kernel;
    const char *library;
    const char *text;          /* the case, as it was changed */
    const tn_graph_node *node; /* has the parameters */
    const void *kernel_params; /* the kernel's own, from the node's */
    uint32_t input_count, output_count, step_count;
    tn_probe_port inputs[TN_PROBE_PORTS], outputs[TN_PROBE_OUTPUTS], operands[TN_PROBE_OPERANDS];
    tn_chain_step steps[TN_PROBE_STEPS];
    uint32_t threads, tactic;
    uint32_t
        shift; /* bytes, a multiple of 64, by which tensors lie before the end of their pages */
    bool is_random;   /* the reference gives other numbers each time, as the operator declares */
    bool is_flush;    /* inputs end where their pages do, aligned to their elements alone */
    bool swaps_slack; /* around the tensors lies what does at the other end of their pages */
    const struct tn_probe *other;  /* null, or the profile's other end: other shapes of the node */
    const tn_allocator *allocator; /* of packed weights */
    tn_packed_store *packed; /* of another node of the same engine; null: the life has its own */
    uint32_t laid_on[TN_PROBE_OUTPUTS]; /* 1 + the input whose memory an output has in place; 0 */
    tn_probe_asking *asking;            /* null: nobody counts */
    const tn_thread_pool *pool;         /* null: the processor's, of `threads` */
    bool is_open;                       /* extents of what is no constant are -1, as before a run */
    bool keeps_constants; /* they have one address in all callbacks, as an engine's have */
    char rule[32];        /* of the contract that was broken, "" when a callback just failed */
};

/* An engine's half. */
typedef struct tn_probe_life {
    tn_probe *probe;
    void *state;
    tn_packed_store *packed;
    tn_thread_pool pool;
    bool is_prepared, owns_packed;
} tn_probe_life;

/* The memory of one run's tensors. */
typedef struct tn_probe_memory {
    tn_guarded inputs[TN_PROBE_PORTS], outputs[TN_PROBE_OUTPUTS], operands[TN_PROBE_OPERANDS];
    tn_shape shapes[TN_PROBE_OUTPUTS];       /* true ones, after the run */
    uint32_t counted_axes[TN_PROBE_OUTPUTS]; /* of outputs that were counted */
    uint32_t laid_on[TN_PROBE_OUTPUTS]; /* 1 + the input whose memory an output has; 0: its own */
    bool is_at_end;                     /* of their pages */
    uint32_t shift;                     /* before it */
    uint8_t slack, poison;              /* around the tensors, and in outputs before the run */
    tn_owned_heap heaps[TN_PROBE_OUTPUTS]; /* of outputs of strings */
} tn_probe_memory;

/* A context's half. */
typedef struct tn_probe_context {
    tn_probe_life *life;
    void *context;
    tn_guarded workspace;
    uint64_t workspace_bytes;
    bool is_open;
} tn_probe_context;

/* Whether the kernel takes this node: its `accepts`. */
bool tn_probe_accepts(tn_probe *probe);
/* Whether it has an output without a bound. */
bool tn_probe_is_unbounded(const tn_probe *probe);
/* How many tactics it has, at least 1. */
uint32_t tn_probe_tactics(tn_probe *probe);
/* Asks for the kernel's timing key in exactly the room that the host has. */
void tn_probe_ask_timing_key(tn_probe *probe);
tn_status tn_probe_prepare(tn_probe_life *life, tn_probe *probe);
/* The same by the kernel's load. */
tn_status tn_probe_load(tn_probe_life *life, tn_probe *probe, const void *data, size_t bytes);
/* What the kernel saves of a prepared life, in memory that ends with it; freed by
 * tn_guarded_destroy. TN_ERROR_PLUGIN: it writes more than it asked for. */
tn_status tn_probe_save(tn_probe_life *life, tn_guarded *out_saved);
void tn_probe_release(tn_probe_life *life);
tn_status tn_probe_open(tn_probe_context *context, tn_probe_life *life);
void tn_probe_close(tn_probe_context *context);
/* The shapes are those of `shapes`, which may be another probe of the same node, kernel and
 * combination. */
tn_status tn_probe_reshape(tn_probe_context *context, tn_probe *shapes);
/* Where an output lies. */
const tn_guarded *tn_probe_memory_output(const tn_probe_memory *memory, uint32_t index);
/* Memory with the inputs' numbers, outputs full of `poison`; in place: as probe->laid_on has it. */
tn_status tn_probe_memory_create(tn_probe_memory *memory, const tn_probe *numbers, bool is_at_end,
                                 bool is_in_place, uint8_t poison);
/* Other numbers at the same addresses, where the shapes are the same; outputs full of `poison`.
 * What is constant in an engine stays. */
tn_status tn_probe_memory_refill(tn_probe_memory *memory, const tn_probe *numbers, uint8_t poison);
void tn_probe_memory_destroy(tn_probe_memory *memory);
/* One run, the workspace full of `poison` before. */
tn_status tn_probe_run(tn_probe_context *context, tn_probe *numbers, tn_probe_memory *memory,
                       uint8_t poison);
/* The outputs as linear numbers of own_type; freed by tn_outcome_free. */
tn_status tn_probe_results(const tn_probe *numbers, const tn_probe_memory *memory, tn_outcome *out);

/* The whole life: prepare, open, reshape, run, results, close, release; memory at its end or start.
 */
tn_status tn_probe_once(tn_probe *probe, bool is_at_end, bool is_in_place, uint8_t poison,
                        tn_outcome *out);

/* All of that but prepare and release. */
tn_status tn_probe_run_life(tn_probe_life *life, bool is_at_end, bool is_in_place, uint8_t poison,
                            tn_outcome *out);

/* Frames of earlier callbacks are forgotten (their memory is given back). */
void tn_probe_forget_frames(void);

#endif
