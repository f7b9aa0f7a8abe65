/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of tn_engine, for the files of src/engine, src/isolation and src/run. Public side:
 * tenon/engine.h. In the order of loading:
 *
 *   engine_load.c     the whole; options
 *   engine_source.c   the plan's bytes: a file, a copy, memory that is lent
 *   engine.c          ports; life
 *   engine_program.c  the program: a stored one that fits, or one lowered here
 *   engine_check.c    whether kernels can do what a stored program asks of them
 *   engine_call.c     the call of a step at a point of the profile
 *   engine_prepare.c  preparing the kernels
 *   engine_device.c   a device's stream, and the constants in its memory
 *   engine_describe.c the whole as structs
 *   engine_report.c   the steps as JSON, from these
 *   engine_storage.c  what its first and last kernels read and write
 *   engine_bodies.c   the bodies of nodes, as engines of their own
 *   engine_isolate.c  which steps' kernels run elsewhere
 *   engine_unfused.c  a second engine of the same graph, for shapes that break a fusion
 *   engine_profiles.c one for each further profile of the plan
 *   refit/            another engine with new data for constants
 */
#ifndef TN_ENGINE_ENGINE_PRIVATE_H
#define TN_ENGINE_ENGINE_PRIVATE_H

#include "engine/engine_source.h"
#include "graph/body.h"
#include "plan/inspect/describe.h"
#include "plan/plan.h"
#include "program/kernel_instance.h"
#include "program/profile.h"
#include <tenon/engine.h>

#include <pthread.h>
#include <stdatomic.h>

/* A step of the program, prepared. */
typedef struct tn_engine_step {
    const tn_program_step *step;
    const tn_kernel_entry *entry; /* null: the reference; holds a count on its library */
    const void *kernel_params;    /* the kernel's own, for this node */
    tn_prepared_kernel prepared;  /* KERNEL steps that run */
    bool is_open;                 /* its shapes are known at a run only, and its kernel is for any:
                                     what reshape does not take runs by the reference */
    const uint8_t *ranks;         /* of inputs, then outputs, for which an open kernel was prepared
                                     where those are guesses; null: they are known */
    bool is_isolated;             /* a plugin library's kernel, which runs in a helper process: then
                                     `prepared` is prepared there, and a template here */
    tn_chain chain;               /* what its kernel absorbs */
    uint64_t strided_inputs, strided_outputs; /* bit i: port i accepts rows that lie apart */
    uint64_t counted_inputs, counted_outputs; /* the same of counts */
} tn_engine_step;

/* A body of a node, prepared. */
typedef struct tn_engine_body {
    const tn_graph_body *body;
    tn_engine *engine;
} tn_engine_body;

struct tn_engine {
    atomic_uint references;
    tn_runtime *runtime;
    const tn_allocator *allocator;
    tn_arena *arena;
    tn_plan_contents contents;
    const tn_graph *graph; /* contents' */
    tn_inference_plan plan;
    const tn_program *program; /* a stored one, or one lowered here */
    bool *is_lower;            /* by value of it: stored in less than the network's own type */
    tn_engine_step *steps;     /* program->step_count */
    tn_thread_pool pool;
    tn_threads *shared_threads;          /* with other engines; or null */
    const tn_device *device;             /* that the program is for */
    void *stream;                        /* of it, for preparing; null: the processor */
    void **device_constants;             /* by value; null: not a constant in the device's memory */
    void *constants_memory;              /* of the small ones */
    tn_shared_weight **shared_constants; /* by value: of the large ones; or null */
    tn_device_allocator device_allocator; /* the caller's; allocate null: the device's own */
    tn_packed_store *packed;
    pthread_mutex_t opening; /* kernels are opened and closed by one thread at a time */
    tn_port_info *inputs, *outputs;
    tn_profile_input *profiles; /* of the inputs; size 0: any shape */
    bool has_value_inputs;
    bool is_checked, allows_not_finite;
    const char *checked_dump; /* null: none */
    bool is_isolated;         /* plugins' kernels run in helper processes */
    bool is_serving;          /* this is such a process: other kernels are left alone */
    const char *isolation_helper;
    uint32_t isolation_limit_ms; /* of one callback; 0: none */
    int plan_descriptor;         /* the plan once more, for helper processes; -1: not needed */
    tn_shared_weight *plan_copy; /* the plan's bytes, shared with engines of the same; or null */
    size_t plan_mapped_bytes;    /* that it is a mapping of; 0: a copy */
    void (*release_plan)(void *user); /* of borrowed memory, when all else is gone; or null */
    void *release_user;
    pthread_mutex_t reporting;
    char *report; /* made when it is asked for first, under that lock; or null. The loaded engine's
                     where this one is a refit */
    tn_engine_body *bodies; /* of nodes that run by kernels; counted */
    uint32_t body_count;
    bool has_bodies;          /* some node has, by a kernel or by its reference */
    struct tn_engine *lender; /* lent: the engine whose graph, packed weights and constants these
                                 are, since this one stands in for it; null: none */
    uint32_t profile;         /* of the plan's, that this one is for */
    uint32_t profile_count;   /* that a context may choose from: those of the plan; 1 if lent */
    struct tn_engine **profile_engines; /* by profile; the first is this one; null: no others */
    const bool *is_unfused; /* by node: not absorbed here, since some shapes break it; or null */
    pthread_mutex_t splitting;
    struct tn_engine *unfused; /* made when it is needed first, under that lock; or null */
    bool is_exact;
    struct tn_refit_index *refit;    /* what may be refitted; null: nothing. The loaded engine's */
    struct tn_engine *loaded;        /* counted: the engine that this one is a refit of, whose plan,
                                        nodes, program and unchanged kernels it has; null: none */
    struct tn_engine_refits *refits; /* what it has of its own and of refits before it; or null */
};

/* The lock under which kernels are opened and closed: one for an engine and all refits of it. */
static inline pthread_mutex_t *tn_engine_opening(tn_engine *engine) {
    return engine->loaded ? &engine->loaded->opening : &engine->opening;
}

/* What is known while an engine is loaded: the shapes at the profile's three points. */
typedef struct tn_engine_loading {
    tn_engine *engine;
    tn_arena *arena; /* gone when the engine is loaded */
    tn_profile_shapes shapes;
    const tn_tensor **linear; /* at the optimum, by tensor id; null where nothing is known */
    bool is_exact;
    bool is_refit; /* kernels are prepared anew, whatever the plan keeps of them */
    const tn_engine_options *options; /* the caller's; null: of an engine that stands in */
    tn_engine_note note;              /* or null */
    void *note_user;
} tn_engine_loading;

/* The call of a step at a point (0, 1, 2: minimum, optimum, maximum); null descriptors where
 * nothing is known. Descriptors lie in the loading's arena, the chain in `arena`; `out_chain` may
 * be null. TN_ERROR_FORMAT: the step's fused nodes are not what it says. */
tn_status tn_engine_call_init(tn_engine_loading *loading, const tn_engine_step *step, int point,
                              tn_arena *arena, tn_call_scope *scope, tn_chain *out_chain,
                              tn_call *out_call);
/* The same at the optimum, with the tensors linear and in their own types. */
tn_status tn_engine_plain_call_init(tn_engine_loading *loading, const tn_engine_step *step,
                                    tn_call_scope *scope, tn_call *out_call);
/* Whether all shapes of a step are known at all points and can be relied on. */
bool tn_engine_step_is_shaped(const tn_engine_loading *loading, const tn_program_step *step);
/* Whether its ranks are, at least. */
bool tn_engine_step_is_ranked(const tn_engine_loading *loading, const tn_program_step *step);
/* Sets `ranks` of a step whose kernel is open. TN_ERROR_MEMORY. */
tn_status tn_engine_note_ranks(tn_engine_loading *loading, tn_engine_step *own);

/* Fills the kernel's own parameters and checks what a step asks of its kernel (null: the
 * reference): types, formats, what is fused, tactic. TN_ERROR_FORMAT, with the reason. */
tn_status tn_engine_check_step(tn_engine_loading *loading, tn_engine_step *step);

/* Notes which values are stored in a lower type, and checks that the network's inputs and outputs
 * are not. TN_ERROR_FORMAT. */
tn_status tn_engine_check_values(const tn_engine_loading *loading);

/* Finds the program and the kernels of its steps; where no stored one is for this machine, the log
 * says what is different, or, in exact loading, the error does: TN_ERROR_NOT_FOUND. */
tn_status tn_engine_choose_program(tn_engine_loading *loading, const tn_engine_options *options);
/* The engines of bodies; none in a helper process. TN_ERROR_UNSUPPORTED: a kernel with bodies runs
 * in one. */
tn_status tn_engine_load_bodies(const tn_engine_loading *loading);
void tn_engine_release_bodies(tn_engine *engine);
/* Null: the body has no engine here. */
tn_engine *tn_engine_find_body(const tn_engine *engine, const tn_body_graph *body);
/* An engine on bytes that outlive it, aligned to 64. */
tn_status tn_engine_load_lent(tn_runtime *runtime, const void *data, size_t bytes,
                              const tn_engine_options *options, tn_engine **out_engine);
/* Marks the steps whose kernels are plugin libraries', of an engine that isolates or serves. */
tn_status tn_engine_mark_isolated(tn_engine *engine);
/* The engine of a helper process, on the plan that another engine was loaded from: prepares the
 * isolated kernels of one profile alone. `note` hears of each before. */
tn_status tn_engine_load_serving(tn_runtime *runtime, const char *path,
                                 const tn_engine_options *options, uint32_t profile,
                                 tn_engine_note note, void *user, tn_engine **out_engine);

/* Prepares the kernels of all steps. What was prepared, and the kernels' libraries, are given back
 * by tn_engine_unprepare. */
tn_status tn_engine_prepare(tn_engine_loading *loading);
tn_status tn_engine_prepare_step(tn_engine_loading *loading, tn_engine_step *step);
void tn_engine_unprepare(tn_engine *engine);
/* Before the kernels are prepared: a stream. Nothing where the processor does it all. */
tn_status tn_engine_open_device(tn_engine *engine);
/* After they were: constants that kernels read in the device's memory; waits for all of it. */
tn_status tn_engine_upload_constants(tn_engine_loading *loading);
void tn_engine_close_device(tn_engine *engine);
/* Gives back constants that are shared (by value; null: none), of this engine or of a refit of it.
 * Their memory goes with the last engine that has them. */
void tn_engine_give_constants(const tn_engine *engine, tn_shared_weight *const *constants);
/* The shapes at the points of the profile. */
tn_status tn_engine_infer_profile(tn_engine_loading *loading);
/* Lowers the graph here, by rule. */
tn_status tn_engine_lower(tn_engine_loading *loading, uint32_t threads);
/* All that follows once there is a program. */
tn_status tn_engine_complete(tn_engine_loading *loading);
tn_engine *tn_engine_new(tn_runtime *runtime); /* null: no memory */
/* What an engine that stands in for `lender`, which outlives it, has of it. */
void tn_engine_borrow(tn_engine *engine, tn_engine *lender);
/* The engines of the further profiles, when the first one is complete. */
tn_status tn_engine_load_profiles(const tn_engine_loading *loading);
void tn_engine_release_profiles(tn_engine *engine);
/* The engine of a profile: itself, or one of those. */
static inline tn_engine *tn_engine_at_profile(tn_engine *engine, uint32_t profile) {
    return engine->profile_engines ? engine->profile_engines[profile] : engine;
}
/* The engine, of `engine`'s graph and kernels, that absorbs none of the nodes in `is_broken` (by
 * node) nor what `engine` does not absorb. Lent: it has the lifetime of `engine`. Where there is
 * one already it is that one, whatever it absorbs: its contexts ask it in turn. [thread: any] */
tn_status tn_engine_find_unfused(tn_engine *engine, const bool *is_broken, tn_engine **out_engine);
/* Finds what may be refitted (refit/engine_refit.c). */
tn_status tn_engine_find_refit(tn_engine *engine);
/* Whether the engine has data of its own for a constant: of one that was loaded all, of a refit
 * what is new in it. */
bool tn_engine_has_own(const tn_engine *engine, tn_tensor_id constant);
/* Gives back what a refit has, the loaded engine at last. */
void tn_engine_release_refits(tn_engine *engine);
/* The inputs and outputs as callers see them. */
tn_status tn_engine_make_ports(const tn_engine_loading *loading);
/* A description that does not hold a count of the engine, which must outlive it. */
tn_status tn_engine_describe_lent(tn_engine *engine, tn_description **out_description);
#endif
