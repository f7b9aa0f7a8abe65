/* SPDX-License-Identifier: Apache-2.0 */
/* What dynamic.c and dynamic_memory.c share: a run whose shapes are found step by step. */
#ifndef TN_RUN_DYNAMIC_H
#define TN_RUN_DYNAMIC_H

#include "run/context_private.h"

typedef struct tn_dynamic_buffer {
    void *memory;
    size_t bytes;
    bool is_used;
} tn_dynamic_buffer;

typedef struct tn_dynamic_value {
    uint32_t root;     /* whose memory it has: itself, unless it is a view */
    uint32_t last_use; /* of a root: the last step that needs it; step_count: the outputs do */
    bool is_ready;     /* in this run */
    bool has_buffer;   /* of a root: `buffer` is its memory */
    size_t buffer;
} tn_dynamic_value;

struct tn_dynamic_run {
    tn_tensor_storage *tensors; /* by program value */
    tn_dynamic_value *values;   /* by program value */
    tn_tensor_storage *outputs; /* by graph output, as the caller sees them */
    bool has_outputs;
    /* Of the step at work; room for the step with the most. */
    tn_tensor **step_inputs, **step_outputs, **step_operands;
    tn_tensor *hidden; /* descriptors without data, for ports of which only the shape is read */
    tn_dynamic_buffer *buffers;
    size_t buffer_count, buffer_capacity;
};

/* Takes a buffer of the pool; TN_ERROR_MEMORY. */
tn_status tn_dynamic_take(tn_context *context, size_t bytes, size_t *out_index);
void tn_dynamic_give(tn_context *context, size_t index);
/* Sets `root` and `last_use` of all values. */
void tn_dynamic_find_lifetimes(tn_context *context);
/* Gives back the buffers of values that no later step needs. */
void tn_dynamic_end_step(tn_context *context, uint32_t step);

#endif
