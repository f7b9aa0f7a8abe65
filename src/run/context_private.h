/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of tn_context: its opened kernels, bindings, arena and shape states. context.c has the
 * public calls, shape_state*.c what is made for one set of shapes, bindings.c the callers' memory,
 * walk.c the run, dynamic.c the run of networks whose shapes only data decides.
 */
#ifndef TN_RUN_CONTEXT_PRIVATE_H
#define TN_RUN_CONTEXT_PRIVATE_H

#include "run/engine_private.h"

/* Where a value's data lies. */
enum { TN_PLACE_NONE, TN_PLACE_ARENA, TN_PLACE_INPUT, TN_PLACE_OUTPUT, TN_PLACE_FIXED };
typedef struct tn_value_place {
    uint32_t kind;
    uint32_t root; /* the value whose memory this one has; itself unless it is a view or in place */
    uint32_t index; /* INPUT, OUTPUT: which */
    size_t offset;  /* ARENA */
    void *pointer;  /* FIXED: constants, and values computed at reshape */
} tn_value_place;

typedef struct tn_walk_item {
    tn_callback run;
    tn_call *call;
} tn_walk_item;

/* A graph output that is not written in its place: copied after the walk. */
typedef struct tn_output_copy {
    uint32_t value, output;
} tn_output_copy;

/* Everything that belongs to one set of input shapes (and values, where they decide shapes). */
typedef struct tn_shape_state {
    tn_arena *arena;  /* of all below */
    tn_shape *shapes; /* by graph input */
    void **values;    /* by graph input: a copy of the value, or null */
    size_t *value_bytes;
    tn_tensor_storage *tensors; /* by program value */
    tn_value_place *places;     /* by program value */
    tn_tensor_storage *outputs; /* by graph output, as the caller sees them */
    tn_walk_item *walk;
    uint32_t *walk_steps; /* the step of each item */
    size_t *workspaces;   /* offset in the arena memory of each item's workspace */
    uint32_t walk_count;
    tn_output_copy *copies;
    uint32_t copy_count;
    size_t memory_bytes; /* of the arena memory that it needs */
    uint64_t last_used;
} tn_shape_state;

typedef struct tn_input_binding {
    const void *data; /* as bound */
    uint64_t bytes;
    void *staging; /* an aligned copy, for memory that is not aligned */
    size_t staging_bytes;
    bool is_staged;
    bool is_needed; /* its data is read by some step */
    bool has_shape;
    tn_shape shape;
} tn_input_binding;

typedef struct tn_output_binding {
    void *data; /* as bound, or null */
    uint64_t bytes;
    void *own; /* where it goes when nothing, or nothing aligned, is bound */
    size_t own_bytes;
    void *target; /* what the walk writes */
} tn_output_binding;

#define TN_SHAPE_STATES 8

struct tn_context {
    tn_engine *engine;
    const tn_allocator *parent;
    tn_allocator allocator;  /* counts */
    tn_open_kernel *kernels; /* by step */
    tn_input_binding *inputs;
    tn_output_binding *outputs;
    tn_inference inference;
    tn_shape_state *states[TN_SHAPE_STATES];
    tn_shape_state *current;
    void *memory;
    size_t memory_bytes;
    bool are_shapes_set, are_bindings_set; /* false: to be looked at before the next walk */
    bool is_profiling, has_run;
    tn_profile_entry *profile; /* by step */
    uint32_t *profile_steps;
    uint32_t profile_count;
    struct tn_dynamic_run *dynamic; /* networks sized by run; else null */
    tn_context_statistics statistics;
};

/* --- shape_state.c --- */
/* Makes the state for the inference's present shapes; its kernels have been told (reshape). */
tn_status tn_shape_state_create(tn_context *context, const tn_shape *shapes,
                                const void *const *values, tn_shape_state **out_state);
void tn_shape_state_destroy(tn_shape_state *state); /* null is fine */
/* Tells the kernels that have a reshape of a state that becomes current again. */
tn_status tn_shape_state_reshape(tn_context *context, tn_shape_state *state);

/* --- shape_state_places.c --- */
/* Decides where each value lies and plans the memory; the calls and their workspaces are there
 * already. */
tn_status tn_shape_state_place(tn_context *context, tn_shape_state *state);

/* --- bindings.c --- */
/* Sets all pointers of the current state from the bindings; takes memory where it must. */
tn_status tn_bindings_apply(tn_context *context);
tn_status tn_bindings_check_input(const tn_context *context, uint32_t input, uint64_t needed_bytes);
/* Copies inputs that are staged, and outputs that are not written in place. */
void tn_bindings_stage_inputs(tn_context *context);
void tn_bindings_copy_outputs(tn_context *context);
tn_status tn_bindings_own_output(tn_context *context, uint32_t output, size_t bytes);

/* --- walk.c --- */
tn_status tn_walk_run(tn_context *context);
tn_status tn_walk_profile(tn_context *context);
/* The callback of reformat steps. */
tn_status tn_walk_reformat(tn_call *call);

/* --- dynamic.c --- */
tn_status tn_dynamic_create(tn_context *context);
void tn_dynamic_destroy(tn_context *context);
tn_status tn_dynamic_run(tn_context *context);
const tn_tensor *tn_dynamic_output(const tn_context *context, uint32_t output);

#endif
