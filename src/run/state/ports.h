/* SPDX-License-Identifier: Apache-2.0 */
/* What is bound to the inputs and outputs of a context: context_bind.c notes it, bindings.c finds
 * the memory for it, and strided/, device/ and outputs/ do so for memory of other kinds. */
#ifndef TN_RUN_STATE_PORTS_H
#define TN_RUN_STATE_PORTS_H

#include "tensor/shape.h"

#include <tenon/engine.h>
#include <tenon/output_allocator.h>

/* Memory of the caller's in which elements lie apart (strided/strided_ports.c). */
typedef struct tn_strided_binding {
    bool is_bound;
    void *data; /* of an input: only read */
    uint64_t bytes;
    uint32_t rank;
    int64_t strides[TN_MAX_RANK];
    /* Of an input: the conversion that alone reads it, 1 + the step, or 0; whether its result is
     * `data` itself, so that nothing is copied; and whether that was found not to be possible. */
    uint32_t reformat;
    bool is_direct, is_never_direct;
} tn_strided_binding;

typedef struct tn_input_binding {
    const void *data; /* as bound */
    uint64_t bytes;
    bool is_device;  /* it is memory of the device */
    bool is_fetched; /* and the processor reads it: it is copied to `staging` before a run */
    void *own;       /* lent to the caller to be filled, or null */
    size_t own_bytes;
    void *staging; /* a copy in aligned (pinned) memory, for memory that is not */
    size_t staging_bytes;
    size_t staged_bytes; /* of them, to be copied before a run */
    bool is_staged;
    bool is_needed;       /* its data is read by some step */
    bool is_read_by_host; /* by the processor, not by a copy to a device alone */
    bool has_shape;
    tn_shape shape;
    int64_t *count; /* the caller's; null: all of the input is there */
    uint32_t count_axis;
    tn_strided_binding strided;   /* that `data` is gathered from, or the same */
    const struct tn_heap *heap;   /* of strings that are not in one block: theirs; null: it is what
                                     follows the elements */
    const struct tn_items *items; /* of one that is not dense: the caller's, kept by this context or
                                     by the one that it stands in for; null: none were given */
} tn_input_binding;

typedef struct tn_output_binding {
    void *data; /* as bound, or null */
    uint64_t bytes;
    bool is_device; /* it is memory of the device */
    bool is_sent;   /* and the processor computes it: it is copied from `own` after a run */
    void *own;      /* where it goes when nothing, or nothing aligned, is bound */
    size_t own_bytes;
    void *target;        /* what the run writes */
    bool is_from_device; /* a copy from a device writes it: any alignment does, and any memory */
    tn_strided_binding strided;  /* that what is computed is scattered to */
    tn_output_allocate allocate; /* the caller's, who then binds nothing himself; or null */
    void *allocate_user;
    bool is_asked; /* in this run: `data` is what he answered */
} tn_output_binding;

typedef struct tn_context_ports {
    tn_input_binding *inputs;
    tn_output_binding *outputs;
    bool are_set;        /* false: to be looked at before the next run */
    bool has_device;     /* something is, or was, bound in the device's memory */
    bool has_strided;    /* the same of memory in which elements lie apart */
    bool has_allocators; /* an output has, or had, one of the caller's */
    uint32_t host_node;  /* the first one whose work in a run is the processor's; TN_NO_NODE */
} tn_context_ports;

#endif
