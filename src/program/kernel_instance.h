/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kernel (or an operator's reference) at work on one node: prepare (or load), open, reshape,
 * run and their counterparts, each exactly once and in order, also after a failure in between. Used
 * by the builder to time, by constant folding, by shape values and by the engine.
 */
#ifndef TN_PROGRAM_KERNEL_INSTANCE_H
#define TN_PROGRAM_KERNEL_INSTANCE_H

#include "plugin/call.h"

/* An engine's half: prepared. `call` is a template: the caller fills op, params, node, inputs,
 * outputs, operands, steps, tactic, threads, minimum_inputs, maximum_inputs, device; the
 * instance sets state. */
typedef struct tn_prepared_kernel {
    const tn_kernel *kernel; /* null: the operator's reference */
    tn_call call;
    tn_call_scope scope;
    bool is_prepared;
} tn_prepared_kernel;
tn_status tn_prepared_kernel_init(
    tn_prepared_kernel *prepared); /* calls prepare; on failure nothing is to be undone */
/* The same by the kernel's load, from what tn_prepared_kernel_save gave. `arena` for a copy. */
tn_status tn_prepared_kernel_load(tn_prepared_kernel *prepared, tn_arena *arena, const void *data,
                                  size_t bytes);
/* The state of a prepared kernel that has `save`, in `arena`. */
tn_status tn_prepared_kernel_save(tn_prepared_kernel *prepared, tn_arena *arena,
                                  const void **out_data, size_t *out_bytes);
void tn_prepared_kernel_deinit(
    tn_prepared_kernel *prepared); /* calls release when prepared; a zeroed one is fine */

/* A context's half: opened. `call` starts as a copy of the prepared one's; the caller sets the
 * tensors' pointers. */
typedef struct tn_open_kernel {
    const tn_prepared_kernel *prepared;
    void *stream; /* set before: the context's, on a device; null: that of the prepared one */
    const void *context;             /* set before: tells contexts apart; null: this kernel alone */
    struct tn_body_executor *bodies; /* set before: who runs the node's bodies; null: nobody */
    tn_call call;
    tn_call_scope scope;
    bool is_open;
} tn_open_kernel;
tn_status tn_open_kernel_init(tn_open_kernel *opened, const tn_prepared_kernel *prepared);
void tn_open_kernel_deinit(tn_open_kernel *opened);
tn_status tn_open_kernel_reshape(tn_open_kernel *opened); /* answers opened->call.workspace_bytes */
tn_status tn_open_kernel_run(tn_open_kernel *opened);

#endif
