/* SPDX-License-Identifier: Apache-2.0 */
/* What dynamic.c, dynamic_steps.c, dynamic_device.c and dynamic_memory.c share: a run whose shapes
 * are found step by step. */
#ifndef TN_RUN_DYNAMIC_H
#define TN_RUN_DYNAMIC_H

#include "plugin/outputs.h"
#include "plugin/sequences/items.h"
#include "run/context_private.h"

typedef struct tn_dynamic_buffer {
    void *memory;
    size_t bytes;
    uint32_t space; /* TN_SPACE_... */
    bool is_used;
} tn_dynamic_buffer;

typedef struct tn_dynamic_value {
    uint32_t root;     /* whose memory it has: itself, unless it is a view */
    uint32_t last_use; /* of a root: the last step that needs it; step_count: the outputs do */
    bool is_ready;     /* in this run */
    bool has_buffer;   /* of a root: `buffer` is its memory */
    /* Its capacity is the shape, and this how much is there; value null: all. `next_count`: what
     * the step at work gives it. `cell`: of one that a kernel has counted, where it stores the
     * count. */
    tn_counted counted, next_count;
    int64_t *cell;
    tn_shape longer[2]; /* scratch: with more elements of what is counted */
    bool is_delivered;  /* a graph output that lies in the caller's memory of the device already */
    size_t buffer;
    uint32_t kind;  /* TN_KIND_...: of one that is not dense, its items are its memory */
    tn_items items; /* empty until its step has run, and again after the last one that needs it */
} tn_dynamic_value;

/* A tensor of the device's in the host's memory, or the other's own where that is there already. */
typedef struct tn_dynamic_mirror {
    tn_tensor_storage storage;
    tn_tensor *tensor; /* null: an absent port */
    size_t buffer;
    bool is_taken; /* `buffer` is its memory */
} tn_dynamic_mirror;

struct tn_dynamic_run {
    tn_tensor_storage *tensors; /* by program value */
    tn_dynamic_value *values;   /* by program value */
    tn_tensor_storage *outputs; /* by graph output, as the caller sees them */
    bool has_outputs;
    bool is_refused;  /* the step at work: its kernel does not do the shape after all */
    bool is_arriving; /* the device copies something to the host that nobody has waited for */
    /* Of the step at work; room for the step with the most. */
    tn_tensor **step_inputs, **step_outputs, **step_operands;
    tn_output_source source;           /* of memory for its outputs without a bound */
    const struct tn_program_step *own; /* whose outputs these are */
    tn_tensor *hidden; /* descriptors without data, for ports of which only the shape is read */
    struct tn_dynamic_mirror
        *mirrors; /* the same for a device's step that the host does after all */
    tn_dynamic_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    tn_item_store item_store;
    tn_items *inputs; /* by graph input: what callers gave those that are not dense */
};

/* Takes a buffer of the pool; TN_ERROR_MEMORY. */
tn_status tn_dynamic_take(tn_context *context, uint32_t space, size_t bytes, size_t *out_index);
void tn_dynamic_give(tn_context *context, size_t index);
/* Sets `root` and `last_use` of all values. */
void tn_dynamic_find_lifetimes(tn_context *context);
/* Gives back the buffers of values that no later step needs. */
void tn_dynamic_end_step(tn_context *context, uint32_t step);
/* Gives back all memory, when the context ends; nothing is at work. */
void tn_dynamic_free(tn_context *context);

/* --- dynamic_device.c --- */
/* A step that moves a tensor from, to or on the device: enqueues it. The input is read, the output
 * is described. */
tn_status tn_dynamic_transfer(tn_context *context, const tn_program_step *step);
/* Waits for what the device copies, before the host reads any of it. */
tn_status tn_dynamic_arrive(tn_context *context);
/* After a step's kernel was enqueued: errors of launches, and with a clock the step's end. */
tn_status tn_dynamic_enqueued(tn_context *context, uint32_t step);
/* Runs a step of the device by its operator's reference, on copies of its tensors. */
tn_status tn_dynamic_run_on_host(tn_context *context, uint32_t step, tn_call *call);

/* --- dynamic_counted.c --- */
/* Whether a value has a count instead of its true shape. */
bool tn_dynamic_is_counted(const tn_context *context, uint32_t value);
/* Before a step's shapes are inferred: its inputs keep their counts where it is right for every
 * count, else they get their true shapes. */
tn_status tn_dynamic_keep_counts(tn_context *context, uint32_t step);
/* Once its outputs are described: gives them the inputs' count, or room for one of their own. */
tn_status tn_dynamic_offer_counts(tn_context *context, uint32_t step);
/* Takes that back, for a run that writes true shapes. */
void tn_dynamic_withdraw_counts(tn_context *context, const tn_program_step *step);
/* After the kernel's run: what it has set. TN_ERROR_PLUGIN. */
tn_status tn_dynamic_check_count(const tn_context *context, uint32_t value);
/* Reads a value's count, which the host waits for, and gives it its true shape. */
tn_status tn_dynamic_settle(tn_context *context, uint32_t value);
/* The same for all inputs of a step; answers whether any had a count. */
tn_status tn_dynamic_settle_inputs(tn_context *context, const tn_program_step *step,
                                   bool *out_is_any);

/* --- dynamic_outputs.c --- */
/* Takes an output's bounds from its descriptor where nothing bounds it; answers whether that is so.
 * TN_ERROR_UNSUPPORTED: a helper process is to run the step. */
tn_status tn_dynamic_unbound(tn_context *context, uint32_t step, uint32_t value,
                             bool *out_is_unbounded);
/* Before a step's kernel runs, with its outputs described: it may ask for those without a bound. */
void tn_dynamic_open_outputs(tn_context *context, uint32_t step, tn_open_kernel *kernel);
/* Afterwards, with the status of the run: whether it has asked for all of them. */
tn_status tn_dynamic_close_outputs(tn_open_kernel *kernel, tn_status status);
/* --- dynamic_items.c --- */
void tn_dynamic_find_kinds(tn_context *context);
/* Describes a sequence or an optional that a step is about to write, and opens its list. */
tn_status tn_dynamic_open_items(tn_context *context, uint32_t value);
/* What a step has added: the list is closed, and inference is told of it. TN_ERROR_PLUGIN. */
tn_status tn_dynamic_close_items(tn_context *context, uint32_t value);
/* --- dynamic_values.c --- */
/* Whether all inputs that are not dense have values. TN_ERROR_STATE, TN_ERROR_RANGE. */
tn_status tn_dynamic_check_inputs(const tn_context *context);
/* Shares the items of a list as the value of an input. TN_ERROR_ARGUMENT: there is none. */
tn_status tn_dynamic_give_items(tn_context *context, uint32_t input, const tn_items *given);
/* Takes them over, after the inference that knows nothing of them. */
tn_status tn_dynamic_take_inputs(tn_context *context);
/* --- dynamic_items.c --- */
/* Gives the items of all values back to the store, and at the end the store's memory. */
void tn_dynamic_clear_items(tn_context *context);
void tn_dynamic_free_items(tn_context *context);

/* --- dynamic_steps.c --- */
/* A value's tensor, with its data where the host or the step can read it. */
tn_status tn_dynamic_read_value(tn_context *context, uint32_t value, tn_tensor **out_tensor);
/* All steps of the program, in order. */
tn_status tn_dynamic_run_steps(tn_context *context);
/* Memory for a value whose descriptor is there. */
tn_status tn_dynamic_lay(tn_context *context, uint32_t value);

#endif
