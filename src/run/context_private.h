/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a context call of each other; state/context.h has its parts.
 *
 *   context.c               creation, memory for tensors, profile, statistics
 *   context_report.c        the steps with their times, and the memory, as JSON
 *   context_ports.c         which inputs are read, which outputs a device writes
 *   context_bind.c          shapes and memory that callers give
 *   context_memory.c        the arena, or memory that is lent
 *   context_run.c           a run, its outputs, a device that is lost
 *   context_async.c         a run that nobody waits for; cancel
 *   control/run_control.h   whether a run is under way
 *   reshape.c               shapes and values, the cache of shape states
 *   heaps.c                 the bytes of its strings
 *   describe.c              descriptors of values, what was fused at these shapes
 *   shape_state.c           what is made for one set of shapes
 *   sharing/sharing.h       where its values lie: shape_state_locations.c, and
 *   sharing/shape_state_windows.c   those that lie in larger ones
 *   sharing/strided_rows.c          of those, the ones that are rows apart
 *   sharing/shape_state_in_place.c  those that lie on what they replace
 *   shape_state_memory.c    the arena's plan
 *   bindings.c              the callers' memory
 *   strided/strided_ports.c  their memory, where its elements lie apart
 *   device_ports.c          their memory on a device, where the processor uses it
 *   execution.c             the run
 *   execution_private.h  what the files of the execution loop call of each other
 *   execution_profile.c     the run with a clock
 *   execution_device.c      steps on a device, and between its memory and the host's
 *   execution_border.c      inputs and outputs that are in a device's memory already
 *   execution_first.c       the first run of a set of shapes there
 *   execution_graph.c       steps that a device does as one captured graph
 *   sized/dynamic.c         the run of networks whose shapes only data decides
 *   sized/dynamic_device.c  the same on a device
 *   bodies/body_contexts.c  the bodies of nodes
 *   checked.c               guarded runs
 *   sized/dynamic_counted.c counts in place of sizes there
 *   sized/dynamic_values.c  inputs and outputs that are no dense tensors
 *   sized/counted.c         inputs of a fixed capacity of which a count tells how much is there
 *   isolation.h             plugins' kernels in a helper process
 *   outputs/output_allocator.c   outputs whose memory the caller is asked for
 *   profiles/choose_profile.c    which profile has the shapes of a run
 *   profiles/profile_contexts.c  the contexts of the further profiles
 */
#ifndef TN_RUN_CONTEXT_PRIVATE_H
#define TN_RUN_CONTEXT_PRIVATE_H

#include "base/status.h"
#include "run/state/context.h"

#include <tenon/plugin/string.h>

/* --- context.c --- */
/* Memory for tensors, 64-byte aligned: shared with the helper process where there is one. */
tn_status tn_context_take_data(tn_context *context, size_t bytes, const char *what,
                               void **out_memory);
void tn_context_give_data(tn_context *context, void *memory); /* null is fine */

/* A context that runs within the runs of another, with its allocators; a body has memory of its
 * own in any case. */
tn_status tn_context_create_part(const tn_context *whole, tn_engine *engine, bool is_a_body,
                                 tn_context **out_context);

/* --- context_memory.c --- */
/* Memory in the arena. TN_ERROR_MEMORY, TN_ERROR_STATE: what is lent is not enough, or is not
 * there.
 */
tn_status tn_context_reserve_arena(tn_context *context, size_t bytes);
tn_status tn_context_reserve_device_arena(tn_context *context, size_t bytes);
void tn_context_free_arena(tn_context *context); /* the host's */
/* TN_ERROR_UNSUPPORTED where no memory can be lent. */
tn_status tn_context_check_lending(const tn_context *context);

/* --- context_ports.c --- */
/* What the program says of inputs and outputs, once both are there. */
void tn_context_find_ports(tn_context *context);

/* --- context_bind.c --- */
/* TN_ERROR_ARGUMENT for an index that is not below `count`; `kind`: "input", "output". */
tn_status tn_context_fail_index(const char *kind, uint32_t index, uint32_t count);
static inline uint32_t tn_context_input_count(const tn_context *context) {
    return (uint32_t)context->engine->graph->input_count;
}
static inline uint32_t tn_context_output_count(const tn_context *context) {
    return (uint32_t)context->engine->graph->output_count;
}
static inline tn_status tn_context_check_input(const tn_context *context, uint32_t input) {
    const uint32_t count = tn_context_input_count(context);
    return __builtin_expect(input < count, 1) ? TN_OK
                                              : tn_context_fail_index("input", input, count);
}
static inline tn_status tn_context_check_output(const tn_context *context, uint32_t output) {
    const uint32_t count = tn_context_output_count(context);
    return __builtin_expect(output < count, 1) ? TN_OK
                                               : tn_context_fail_index("output", output, count);
}
/* The same, and that it is a dense tensor (sized/dynamic_values.c). TN_ERROR_ARGUMENT. */
tn_status tn_context_check_dense_input(const tn_context *context, uint32_t input);
tn_status tn_context_check_dense_output(const tn_context *context, uint32_t output);
/* The pointers of all states are set anew, and what was captured with them is gone. */
void tn_context_forget_pointers(tn_context *context);

/* tn_context_bind_input and tn_context_bind_output, which leave what is bound strided as it is. */
void tn_context_note_input(tn_context *context, uint32_t input, const void *data, uint64_t bytes);
void tn_context_note_output(tn_context *context, uint32_t output, void *data, uint64_t bytes);

/* --- strided/strided_ports.c --- */
/* Before shapes are inferred: checks what is bound strided, and gathers inputs whose shapes are
 * known. Nothing where nothing is bound so; so both below. */
tn_status tn_strided_gather(tn_context *context);
/* The one input again, into packed memory (strided_ports.c). */
tn_status tn_strided_gather_copy(tn_context *context, uint32_t input);
/* When shapes are known, and at the end of a run: outputs. */
tn_status tn_strided_check_outputs(tn_context *context);
tn_status tn_strided_scatter(tn_context *context);

/* --- strided/strided_direct.c --- */
/* Notes the conversion that an input may do without. */
void tn_strided_find_reformat(tn_context *context, uint32_t input);
/* Whether an input lies as the conversion's result would, as far as that is known before shapes
 * are. */
bool tn_strided_is_direct(const tn_context *context, uint32_t input);
/* Gathers inputs of that kind which the current shapes need packed, and undoes what the last
 * bindings of these shapes replaced: before pointers are set. */
tn_status tn_strided_settle(tn_context *context);
/* All of that kind: another context runs the shapes. */
tn_status tn_strided_settle_all(tn_context *context);
/* Replaces conversions' results by the caller's memory: after pointers are set. */
void tn_strided_bypass(tn_context *context);

/* --- context_run.c --- */
/* What a run does once it is under way; the other one waits in the queue before. */
tn_status tn_context_run_begun(tn_context *context);
tn_status tn_context_run_queued(tn_context *context);
/* tn_context_output, also of a run that is under way. */
tn_status tn_context_find_output(const tn_context *context, uint32_t output,
                                 const tn_tensor **out_tensor);
/* The run is over: the context is free. */
tn_status tn_context_end_run(tn_context *context, tn_status status);
/* A part of another context, a body or the unfused network, runs within its runs: what cancels
 * those ends this one. */
void tn_context_join(tn_context *part, const tn_context *whole);
/* Waits for what is left of a run that failed, and notes when the device is lost; answers `status`.
 */
tn_status tn_context_end_failed(tn_context *context, tn_status status);
/* Waits for all that it, and those that stand in for it, have enqueued. */
tn_status tn_context_wait_all(tn_context *context);
/* Why the context can run no more, after its device was lost; TN_OK: it can. */
tn_status tn_context_check_lost(const tn_context *context);

/* --- context_async.c --- */
/* Waits for runs that are under way; no other begins. False: called by `done` of one, after which
 * the context destroys itself. */
bool tn_context_close_runs(tn_context *context);

/* --- device/completion.c --- */
void tn_context_close_completion(tn_context *context);

/* --- reshape.c --- */
/* The shape of an input against what is declared and what the plan was built for. TN_ERROR_SHAPE,
 * TN_ERROR_RANGE. */
tn_status tn_reshape_check_shape(const tn_context *context, uint32_t input, const tn_shape *shape);
/* Whether a value that decided the current shapes has changed in the caller's memory. */
bool tn_reshape_is_stale(const tn_context *context);
/* tn_context_reshape, of a context that is sound, with values where the host can read them. */
tn_status tn_reshape_run(tn_context *context);
/* Shapes and values of all inputs into context->shapes.now and values. */
tn_status tn_reshape_gather(tn_context *context);

/* --- profiles/choose_profile.c --- */
/* Whether a profile that may be chosen has this shape of an input. TN_ERROR_RANGE, TN_ERROR_SHAPE.
 */
tn_status tn_profiles_check_shape(const tn_context *context, uint32_t input, const tn_shape *shape);
/* The profile for context->shapes.now and values; the chosen one where there is one. Errors as
 * above.
 */
tn_status tn_profiles_choose(const tn_context *context, uint32_t *out_profile);

/* --- profiles/profile_contexts.c --- */
tn_status tn_profiles_create(tn_context *context);
void tn_profiles_destroy(tn_context *context);
/* The context that runs the present shapes instead of this one; null: it does so itself. */
static inline tn_context *tn_profiles_other(const tn_context *context) {
    return context->profiles.contexts ? context->profiles.contexts[context->profiles.now] : NULL;
}
/* Goes on with a profile: reshapes its context, where that is not this one. */
tn_status tn_profiles_reshape(tn_context *context, uint32_t profile);
/* Before a run: reshape where shapes have changed, or values ask for another profile. */
tn_status tn_profiles_update(tn_context *context);
/* The run, by the other context. */
tn_status tn_profiles_run(tn_context *context, tn_context *other);

/* --- heaps.c --- */
/* Where the program has strings; else context->heaps stays null. */
tn_status tn_heaps_create(tn_context *context);
void tn_heaps_destroy(tn_context *context);
/* The heap of a value of strings, the same for the context's life; null: none has a heap. */
tn_heap *tn_heaps_find(const tn_context *context, uint32_t value);
/* Before each run: what is bound is read and checked, what the last run appended is gone. */
tn_status tn_heaps_begin(tn_context *context);

/* --- outputs/output_allocator.c --- */
/* A run begins: no allocator of the caller's was asked in it. */
void tn_output_begin(tn_context *context);
/* Asks for an output's memory, where the caller is to be asked and was not yet in this run.
 * TN_ERROR_MEMORY, TN_ERROR_ARGUMENT. */
tn_status tn_output_ask(tn_context *context, uint32_t output, uint64_t bytes);
/* Begins, and asks for all outputs of the current shapes. */
tn_status tn_output_ask_all(tn_context *context);

/* --- describe.c --- */
/* A value's descriptor at the inferred shapes, without data. */
tn_status tn_context_describe(const tn_context *context, uint32_t value,
                              tn_tensor_storage *out_storage);
/* Makes a value's descriptor that of a port of which only the shape is read: no data, the network's
 * own type. */
void tn_context_hide(const tn_context *context, uint32_t value, tn_tensor *tensor);
/* The first node that a step fuses and that does not fit the inferred shapes; TN_NO_NODE: all do.
 */
tn_status tn_context_find_broken(const tn_context *context, uint32_t step, uint32_t *out_node);

/* Whether a step may be run by its operator's reference where its kernel does not take the shape.
 */
bool tn_context_has_reference(const tn_context *context, uint32_t step);
/* Makes a kernel's call one of the reference, with a scope of its own. */
void tn_context_use_reference(tn_call *call, tn_call_scope *scope);

/* --- unfused.c --- */
/* Whether the inferred shapes break a fusion; then there is a context for them. */
tn_status tn_unfused_find(tn_context *context, bool *out_is_broken);
void tn_unfused_destroy(tn_context *context);
/* Gives another context of the same graph the shapes and the memory that are bound here. */
tn_status tn_context_hand_over(const tn_context *context, tn_context *other);
/* The context that runs the present shapes instead of this one: of another profile, or that one;
 * null: it does so itself. */
static inline tn_context *tn_context_stand_in(const tn_context *context) {
    tn_context *other = tn_profiles_other(context);
    return other ? other : context->unfused.is_now ? context->unfused.context : NULL;
}
/* tn_context_reshape and tn_context_run by the unfused context, with what is bound here. */
tn_status tn_unfused_reshape(tn_context *context);
tn_status tn_unfused_run(tn_context *context);

/* --- shape_state.c --- */
/* Makes the state for the inference's present shapes, which are those of context->shapes.now and
 * values; its kernels have been told (reshape). `is_unfused`: another context runs them, and
 * nothing but the key is in it. */
tn_status tn_shape_state_create(tn_context *context, bool is_unfused, tn_shape_state **out_state);
void tn_shape_state_destroy(const tn_context *context, tn_shape_state *state); /* null is fine */
/* Before it is destroyed while the context goes on: the helper process forgets its calls. */
void tn_shape_state_forget(tn_shape_state *state);
/* A 64-byte aligned copy that has the lifetime of the state; null: no memory. */
void *tn_shape_state_copy(tn_shape_state *state, const void *data, size_t bytes);
/* Tells the kernels that have a reshape of a state that becomes current again. */
tn_status tn_shape_state_reshape(tn_context *context, tn_shape_state *state);

/* --- sharing/shape_state_locations.c --- */
/* Decides in which memory each value lies, and which steps are dropped. */
tn_status tn_shape_state_place(tn_context *context, tn_shape_state *state);
/* The value whose memory a value has, and where in it; final when the state is placed. */
static inline uint32_t tn_shape_state_root(const tn_shape_state *state, uint32_t value,
                                           size_t *out_shift) {
    *out_shift = 0;
    while (state->locations[value].root != value) {
        *out_shift += state->locations[value].shift;
        value = state->locations[value].root;
    }
    return value;
}

/* --- shape_state_memory.c --- */
/* Plans the arena; the workspaces are known. Afterwards every location is final. */
tn_status tn_shape_state_plan(tn_context *context, tn_shape_state *state);
/* Whether an item is enqueued on the device. */
bool tn_shape_state_is_on_device(const tn_context *context, const tn_shape_state *state,
                                 uint32_t item);

/* --- bindings.c --- */
/* Sets all pointers of the current state from the bindings; takes memory where it must. */
tn_status tn_bindings_apply(tn_context *context);
tn_status tn_bindings_check_input(const tn_context *context, uint32_t input, uint64_t needed_bytes);
/* Checks what is bound, and takes memory for copies that are aligned. Inputs whose value decides
 * shapes are read elsewhere. */
tn_status tn_bindings_apply_inputs(tn_context *context);
/* Where kernels read an input. */
void *tn_bindings_input(const tn_context *context, uint32_t input);
/* Copies inputs that are staged, and outputs that are not written in place. */
void tn_bindings_stage_inputs(tn_context *context);
/* Whether some output is copied by the host when all items have run. */
bool tn_bindings_has_copies(const tn_context *context);
void tn_bindings_copy_outputs(tn_context *context);
tn_status tn_bindings_own_output(tn_context *context, uint32_t output, size_t bytes);
tn_status tn_bindings_own_input(tn_context *context, uint32_t input, size_t bytes);

/* Room for an input in its `staging`, at least so many bytes; aligned, pinned where that is. */
tn_status tn_bindings_reserve_staging(tn_context *context, uint32_t input, size_t bytes);
/* What is bound to an input, where the host can read it. */
const void *tn_bindings_host_data(const tn_input_binding *binding);

/* --- device/device_ports.c --- */
/* Notes that what is bound is memory of the device. */
void tn_device_ports_bind_input(tn_context *context, uint32_t input);
void tn_device_ports_bind_output(tn_context *context, uint32_t output);
/* Before a run: copies what the processor reads; waits where there is such a thing. */
tn_status tn_device_ports_fetch(tn_context *context);
/* After it: enqueues the copies of what the processor computed. */
bool tn_device_ports_has_sends(const tn_context *context);
tn_status tn_device_ports_send(tn_context *context);
/* TN_ERROR_STATE where the caller captures its stream and some of the work is the processor's. */
tn_status tn_device_ports_check_capture(const tn_context *context);

/* --- execution_profile.c --- */
tn_status tn_execution_profile(tn_context *context);
void tn_execution_note_time(tn_context *context, uint32_t step, uint64_t ns);
/* After that: the step's kernel refused the shape, and the reference ran. */
void tn_execution_note_reference(tn_context *context, uint32_t step);
void tn_execution_profile_close(tn_context *context);

/* --- execution.c --- */
tn_status tn_execution_run(tn_context *context);
/* The callback of reformat steps. */
tn_status tn_execution_reformat(tn_call *call);

/* --- checked.c --- */
/* When the engine is a checked one: the kernels are open. */
tn_status tn_checked_context_create(tn_context *context);
void tn_checked_context_destroy(tn_context *context);
tn_status tn_execution_run_checked(tn_context *context);
/* A call of a step whose tensors are set. */
tn_status tn_checked_step(tn_context *context, uint32_t step, tn_call *call, tn_callback run);

/* Memory of the host for an input or output: what the device copies fastest, where one reads or
 * writes it (pinned). */
bool tn_execution_has_pinned(const tn_context *context);
tn_status tn_execution_host_allocate(tn_context *context, size_t bytes, const char *what,
                                     void **out_memory);
void tn_execution_host_deallocate(tn_context *context, void *memory); /* null is fine */

/* --- execution_device.c --- */
/* A stream, before the kernels are opened; nothing where the processor does it all. */
tn_status tn_execution_open_device(tn_context *context);
void tn_execution_close_device(tn_context *context);
tn_status tn_execution_wait(tn_context *context); /* for all that is enqueued */
/* What kernels have found wrong in their data, of runs that were waited for (tn_kernel.verify). */
tn_status tn_execution_verify(tn_context *context);
/* Finds the items that may be captured, again where it was done before; nothing is captured yet. */
tn_status tn_execution_find_graphs(tn_context *context, tn_shape_state *state);
/* The callback of a transfer that there is no need for. */
tn_status tn_execution_do_nothing(tn_call *call);
/* Finds the transfers at the network's border. */
tn_status tn_execution_find_borders(tn_context *context, tn_shape_state *state);
/* Where what is bound in the device's memory lies, once all other pointers are set. */
void tn_execution_set_borders(const tn_context *context, tn_shape_state *state);
/* Decides which transfers are part of a graph with the memory that is bound now; where that changes
 * what was captured is forgotten. */
tn_status tn_execution_capture_borders(tn_context *context, tn_shape_state *state);
/* Forgets what was captured: pointers or the stream have changed, or the state goes. */
void tn_execution_drop_graphs(const tn_context *context, tn_shape_state *state);
/* The execution loop on a device. */
tn_status tn_execution_run_device(tn_context *context);
/* Turns the call of a reformat step into one from, to or on the device; its workspace is there. */
void tn_execution_make_transfer(tn_context *context, const tn_shape_state *state,
                                tn_execution_item *item, uint32_t from_space, uint32_t to_space,
                                uint64_t *out_workspace_bytes);
/* Whether a step moves or converts a tensor from, to or on a device. */
bool tn_execution_is_transfer(const tn_program *program, const tn_program_step *step);

/* --- sized/counted.c --- */
/* Notes the counts of the inputs in a new state, whose tensors are described, and gives each tensor
 * that follows one the count. TN_ERROR_UNSUPPORTED: something is not right for any count. */
tn_status tn_counted_find(const tn_context *context, tn_shape_state *state);
/* Whether a state was made for the counts that are bound now: for where they are, not what they
 * are. */
bool tn_counted_is_same(const tn_context *context, const tn_shape_state *state);

/* --- bodies/body_contexts.c --- */
/* When the engine has nodes with bodies, before the kernels are opened. */
tn_status tn_body_contexts_create(tn_context *context);
void tn_body_contexts_destroy(tn_context *context);
/* Null: there are none. */
tn_body_executor *tn_body_contexts_executor(const tn_context *context);
/* Adds what the bodies' contexts counted. */
void tn_body_contexts_count(const tn_context *context, tn_context_statistics *inout_statistics);

/* --- sized/dynamic.c --- */
tn_status tn_dynamic_create(tn_context *context);
void tn_dynamic_destroy(tn_context *context);
tn_status tn_dynamic_run(tn_context *context);
const tn_tensor *tn_dynamic_output(const tn_context *context, uint32_t output);

#endif
