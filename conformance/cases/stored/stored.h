/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kernel on one node in one combination, called directly, with tensors of floating-point values
 * stored as the combination says (8 bits with a scale, 16-bit floats, 32-bit floats) and in its
 * formats. Networks reach such combinations only through a build of lower precision; here the
 * scales are the test's own choice.
 */
#ifndef TN_CONFORMANCE_CASES_STORED_H
#define TN_CONFORMANCE_CASES_STORED_H

#include "cases/chain_step.h"
#include "cases/conformance.h"
#include "graph/graph.h"
#include "program/kernel_instance.h"

enum { TN_STORED_PORTS = 64, TN_STORED_STEPS = 3 };

/* A tensor of floating-point values, or of anything else, and how a kernel gets it. */
typedef struct tn_stored_tensor {
    bool is_given;
    tn_type type; /* as stored */
    tn_format format;
    float scale; /* TN_I8, TN_U8; 0: none */
    int32_t zero_point;
    tn_type own_type; /* of `data`: TN_F32 where another type is stored */
    const tn_shape *shape;
    const void *data; /* linear, of own_type; outputs: null */
    bool is_constant; /* its value is known before the run */
} tn_stored_tensor;

typedef struct tn_stored_run {
    tn_runtime *runtime;
    const tn_kernel *kernel; /* null: the operator's reference */
    const tn_graph_node *node;
    uint32_t input_count, output_count, operand_count, step_count;
    tn_stored_tensor inputs[TN_STORED_PORTS], outputs[16], operands[TN_STORED_STEPS];
    tn_chain_step steps[TN_STORED_STEPS];
    tn_shape windows; /* of output 0, where a step keeps the largest element of each window */
    uint32_t threads;
    const tn_device *device; /* where it runs, on `stream`; null: the processor */
    void *stream;
    double timed_seconds; /* after the two runs, it runs on for so long; 0: it does not */
    double best_ns;       /* the shortest of those */
    /* Instead of that, and of the results: what is done with the kernel once it ran twice, or
     * null.
     */
    tn_status (*measure)(void *user, tn_open_kernel *opened);
    void *measure_user;
    /* Results: outputs as numbers of own_type, linear, to be freed by tn_stored_free. */
    void *results[16];
} tn_stored_run;

/* Runs twice, in memory with guards. *out_is_taken is false when the kernel does not accept the
 * node. On failure there are no results. */
tn_status tn_stored_do(tn_stored_run *run, bool *out_is_taken);
void tn_stored_free(tn_stored_run *run);

#endif
