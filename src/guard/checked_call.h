/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded running of one callback: the tensors of its call are copied between guard pages, what it
 * is to write is poisoned, what it is to read is read-only; afterwards the guards, the inputs and
 * the outputs are looked at, and the outputs are copied to where they belong. Works on any binary.
 * It knows calls alone: which of them belong to a run is run/execution_checked.c's matter. How
 * faults are caught is fault.h's, the patterns poison.h's; what is said of findings,
 * checked_findings.c's.
 */
#ifndef TN_GUARD_CHECKED_CALL_H
#define TN_GUARD_CHECKED_CALL_H

#include "guard/fault.h"
#include "plugin/outputs.h"
#include "tensor/shape.h"

enum { TN_CHECKED_INPUT = 1, TN_CHECKED_OPERAND, TN_CHECKED_OUTPUT, TN_CHECKED_WORKSPACE };

/* A tensor of the call at work, in guarded memory. */
typedef struct tn_checked_slot {
    uint32_t kind, index;
    const tn_tensor *original; /* null: the workspace */
    tn_tensor copy;            /* what the callback sees */
    tn_guard *guard; /* null: no data. The slot's own, an earlier slot's, or a constant's */
    tn_guard own;
    bool is_overwritten; /* an input on which an output lies */
    bool is_shared;      /* its guard is an earlier slot's */
    /* In a device's memory: `original` is then `held`, whose data is the host's copy of what was
     * there, and the guard is the host's image of the block. */
    const tn_tensor *there; /* null: the host's memory */
    tn_tensor held;
    tn_guard before;
    char *block, *shown; /* of the device; what the callback gets. Null: an earlier slot's */
} tn_checked_slot;

/* A thread's checked calls. One call at a time. */
typedef struct tn_checked {
    tn_thread_pool pool; /* first: what the calls' scopes get, so that bodies are guarded too */
    const tn_thread_pool *inner;
    const tn_allocator *allocator;
    const char *dump_directory; /* null: nothing is dumped */
    tn_fault_watch watch;
    tn_fault_stack stack_before;
    void *stack;
    tn_checked_slot *slots;
    tn_guard **guards; /* of the slots: what the watch looks into */
    tn_tensor **tensors;
    size_t slot_count, slot_capacity;
    tn_guard *constants;     /* by value; mapped when first seen */
    const bool *is_constant; /* by value */
    uint32_t value_count;
    bool allows_not_finite;
    tn_call *call;           /* at work: as whoever called made it */
    tn_output_source source; /* of guarded memory for its outputs without a bound */
    tn_output_source *outer; /* of where they belong; null: none is without */
    /* Of the call at work, where its kernel is a device's. */
    const tn_device *device; /* null: the processor's */
    void *stream;
    uint64_t host_inputs; /* bit i: input i lies in the host's memory */
} tn_checked;

typedef struct tn_checked_options {
    const tn_allocator *allocator;
    const tn_thread_pool *pool;
    const char *dump_directory; /* as all pointers here: has the lifetime of what is created */
    size_t most_tensors;        /* that a call has: inputs, operands and outputs */
    bool allows_not_finite;     /* outputs may be what they like */
    uint32_t value_count;       /* 0: no constants are known */
    const bool *is_constant;
} tn_checked_options;

/* Takes the signal handlers. [thread: one at a time] */
tn_status tn_checked_create(const tn_checked_options *options, tn_checked **out_checked);
void tn_checked_destroy(tn_checked *checked); /* null is fine */

/* The calling thread may do checked calls between these two. */
void tn_checked_enter(tn_checked *checked);
void tn_checked_leave(tn_checked *checked);

/* Calls `run` with the call's tensors in guarded memory. `inputs` and `operands` are the values of
 * the call's tensors (null: none is a constant). What is found becomes TN_ERROR_PLUGIN, which names
 * node, operator, kernel and library; a failure of the callback's own is its own. The outputs' data
 * is written in the call's own tensors when nothing was found. */
tn_status tn_checked_call(tn_checked *checked, tn_call *call, tn_callback run,
                          const uint32_t *inputs, const uint32_t *operands);

/* The same for a kernel of the call's device: `host_inputs` has a bit for each input that lies in
 * the host's memory all the same. All work of its stream is waited for. */
tn_status tn_checked_device_call(tn_checked *checked, tn_call *call, tn_callback run,
                                 uint64_t host_inputs);

/* --- checked_device.c: blocks in the device's memory, with guard zones around the data --- */
/* A slot that was taken for an input, an operand (`there` is its tensor), an output or the
 * workspace (null, so many bytes). */
tn_status tn_checked_put_input_there(tn_checked *checked, tn_checked_slot *slot);
tn_status tn_checked_put_output_there(tn_checked *checked, tn_checked_slot *slot);
tn_status tn_checked_put_workspace_there(tn_checked *checked, tn_checked_slot *slot,
                                         uint64_t bytes);
/* Waits for the call, then copies all blocks into the slots' guards. */
tn_status tn_checked_restore(tn_checked *checked);
/* The outputs to where they belong. */
tn_status tn_checked_copy_out_there(const tn_checked *checked);
void tn_checked_free_blocks(tn_checked *checked);

/* --- checked_findings.c --- */
/* What is wrong after the call, by tn_fail; TN_OK: nothing. `is_returned` is false when a fault
 * ended it. */
tn_status tn_checked_judge(const tn_checked *checked, bool is_returned);
/* Bytes of an output that count: those of its true shape, where the run has written it. */
size_t tn_checked_output_bytes(const tn_checked_slot *slot);
/* Writes the slots' tensors to the folder; TN_ERROR_IO. */
tn_status tn_checked_dump(const tn_checked *checked, const tn_call *call);

#endif
