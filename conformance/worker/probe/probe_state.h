/* SPDX-License-Identifier: Apache-2.0 */
/* What is under test, and the memory that it runs on; see probe.h. */
#ifndef TN_CONFORMANCE_WORKER_PROBE_PROBE_STATE_H
#define TN_CONFORMANCE_WORKER_PROBE_PROBE_STATE_H

#include "cases/chain_step.h"
#include "cases/conformance.h"
#include "worker/watch/guarded.h"
#include "plugin/strings/strings.h"
#include "graph/graph.h"
#include "plugin/call.h"

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
    float scale; /* of 8-bit values that stand for real ones; 0: none */
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
    struct tn_probe *grown; /* null, or larger shapes that a whole life goes on to, and back */
    const struct tn_probe *other;  /* null, or the profile's other end: other shapes of the node */
    const tn_allocator *allocator; /* of packed weights */
    tn_packed_store *packed; /* of another node of the same engine; null: the life has its own */
    uint32_t laid_on[TN_PROBE_OUTPUTS]; /* 1 + the input whose memory an output has in place; 0 */
    tn_probe_asking *asking;            /* null: nobody counts */
    const tn_thread_pool *pool;         /* null: the processor's, of `threads` */
    bool is_open;                       /* extents of what is no constant are -1, as before a run */
    uint8_t packed_filler;              /* of packed weights, before the kernel fills them */
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
    tn_guarded texts[TN_PROBE_PORTS];      /* the heaps of inputs of strings (texts.h) */
} tn_probe_memory;

/* A context's half. */
typedef struct tn_probe_context {
    tn_probe_life *life;
    void *context;
    tn_guarded workspace;
    uint64_t workspace_bytes;
    bool is_open;
} tn_probe_context;

/* Where an output lies. */
static inline const tn_guarded *tn_probe_memory_output(const tn_probe_memory *memory,
                                                       uint32_t index) {
    const uint32_t input = memory->laid_on[index];
    return input ? &memory->inputs[input - 1] : &memory->outputs[index];
}

#endif
