/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: a loaded plan, immutable, shared by threads. The context: one thread's running state
 * on it.
 *
 *     tn_engine_load -> tn_context_create -> set shapes -> bind -> tn_context_run
 */
#ifndef TENON_ENGINE_H
#define TENON_ENGINE_H

#include <tenon/builder.h>
#include <tenon/threads.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_engine tn_engine;
typedef struct tn_context tn_context;

typedef struct tn_engine_options {
    uint32_t size;
    uint32_t threads; /* of parallel_for and the numerical libraries, at most 1024; 0: as the plan
                         was built. For another number than that, kernels are chosen again, without
                         timing, and the log warns */
    uint32_t flags;   /* TN_ENGINE_... */
    uint32_t allowed_count;
    const char *const *
        allowed; /* content hashes (16 hexadecimal digits) or directories: only libraries so named
                    and Tenon's own load; null: those of the search path and those loaded already */
    const char *checked_dump; /* TN_ENGINE_CHECKED: the folder, made when it is needed, that gets
                                 the first bad node's tensors as .npy files; copied. Null: none */
    const char
        *device; /* "cpu", "cuda" (the first one), "cuda:1"; null: the one that the plan was
                    built for if it is here, else the processor (with a warning in the log) */
    /* TN_ENGINE_ISOLATED: the helper program (copied; null: tenon-isolate, which lies beside this
     * library), and the milliseconds that one callback may take (0: 10,000; UINT32_MAX: any). */
    const char *isolation_helper;
    uint32_t isolation_limit_ms;
    const tn_device_allocator
        *device_allocator; /* of the memory of the engine's device, for its constants and for its
                              contexts (tenon/context_memory.h); copied, must outlive both.
                              Null: the device's own */
    tn_threads *shared_threads; /* that its runs share with those of other engines (see
                                   tenon/threads.h); the engine holds one. Null: none */
} tn_engine_options;
enum {
    TN_ENGINE_EXACT =
        1u, /* refuse a library whose content differs from the one that the plan was built with, and
               a machine or a number of threads that the plan has no kernels chosen for */
    TN_ENGINE_CHECKED =
        2u, /* run guarded: each node on copies of its tensors between pages that cannot be
              accessed, outputs and workspace poisoned, inputs read-only. A run then fails
              (TN_ERROR_PLUGIN) at the first node whose code touches what is not its own, crashes,
              leaves outputs unwritten, or computes values that are not finite from ones that are;
              the error names node, operator, kernel and library. Much slower, and it allocates.
              While such a context lives, SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are caught on
              the threads that run it; a crash may leave the plugin's own locks and memory behind.
              See docs/guarded-running.md */
    TN_ENGINE_CHECKED_ANY_NUMBER =
        4u, /* with TN_ENGINE_CHECKED: numbers that are not finite are no fault */
    TN_ENGINE_ISOLATED =
        8u, /* kernels (and references) of plugin libraries are prepared, opened and run in a helper
              process, one a context, on shared memory. Its crash, its exit or a callback that takes
              too long is TN_ERROR_PLUGIN that names node, operator, kernel and library; that
              context then answers TN_ERROR_STATE, others go on. What a library does when it is
              loaded, its shape rules and what it accepts still run here, and so does what is linked
              in. Each call costs some microseconds, and inputs and outputs are copied. See
              docs/guarded-running.md */
    TN_ENGINE_VERIFY_ALL =
        16u /* verify the checksums of the whole file when it is loaded. Without it those of the
               description and of what the steps read are; what no step reads is never touched */
};

/* Loads a plan file: maps it, verifies the checksums of its description and of what the steps read
 * (TN_ENGINE_VERIFY_ALL: of all of it), finds and loads the libraries that its manifest names.
 * Engines of one runtime share the mapping of a file, what their kernels pack of equal constants,
 * and the copies of equal constants in a device's memory. The error of a missing one says what was
 * wanted, where it was searched, what was found and what would mend it. Where the plan was built
 * for another machine or another number of threads, or the kernels of a library have changed since,
 * kernels are chosen again without timing, and the log warns; TN_ENGINE_EXACT refuses. The file may
 * be removed or replaced by another while the engine lives, but must not be written to. `options`
 * may be null; the caller releases the engine, which holds its runtime. TN_ERROR_IO,
 * TN_ERROR_FORMAT, TN_ERROR_NOT_FOUND, TN_ERROR_UNSUPPORTED (an operator's version or state),
 * TN_ERROR_PLUGIN, TN_ERROR_ARGUMENT (the options), TN_ERROR_MEMORY, and what a kernel's `prepare`
 * fails with. [thread: any] */
TN_EXPORT tn_status tn_engine_load(tn_runtime *runtime, const char *path,
                                   const tn_engine_options *options, tn_engine **out_engine);
/* The same from memory; the bytes are copied, once for engines of the same bytes. */
TN_EXPORT tn_status tn_engine_load_bytes(tn_runtime *runtime, const void *data, uint64_t bytes,
                                         const tn_engine_options *options, tn_engine **out_engine);
/* The same without a copy: a plan in shared memory, in the program's own data, in a package that is
 * mapped. `data` is aligned to 64 bytes (TN_ERROR_ARGUMENT: it is not), and neither changes nor
 * goes away before `release` is called with `user`: once, on the thread that gives back the last
 * count of the engine, after everything else of it is gone. `release` may be null, and must not
 * call Tenon. Where loading fails it is not called: the bytes are the caller's again. With
 * TN_ENGINE_ISOLATED helper processes get a copy. [thread: any] */
TN_EXPORT tn_status tn_engine_load_borrowed(tn_runtime *runtime, const void *data, uint64_t bytes,
                                            const tn_engine_options *options,
                                            void (*release)(void *user), void *user,
                                            tn_engine **out_engine);
/* The same of a plan that was built in this program, from where its parts lie: nothing is copied or
 * verified. The engine counts the plan, which may be destroyed meanwhile. With TN_ENGINE_ISOLATED,
 * and of a plan that can be refitted, the plan's bytes are made first, as tn_plan_bytes makes them.
 * [thread: any] */
TN_EXPORT tn_status tn_engine_load_plan(tn_runtime *runtime, const tn_plan *plan,
                                        const tn_engine_options *options, tn_engine **out_engine);
/* What loading this plan would find, without stopping at the first thing that is missing: for each
 * operator whether it is there and in which library, for each library of the manifest where it was
 * found, with which content, or why not. It searches and loads libraries as tn_engine_load does.
 * One JSON document, to be freed by tn_text_free: {"operators": [{domain, name, version, library,
 * found, found_in | why}], "libraries": [{name, version, file, hash, needed, state:
 * same|other|missing, found_path, found_version, found_hash | why}], "programs": [{fingerprint,
 * threads, fits, why}], "fitting": programs that are for this machine (with none, kernels are
 * chosen again when the plan is loaded), "missing": operators that are not there}. TN_ERROR_IO,
 * TN_ERROR_FORMAT, TN_ERROR_MEMORY. [thread: any] */
TN_EXPORT tn_status tn_plan_explain(tn_runtime *runtime, const char *path,
                                    const tn_engine_options *options, char **out_json);
/* Counts are atomic; contexts hold one. Null is fine. [thread: any] */
TN_EXPORT tn_engine *tn_engine_retain(tn_engine *engine);
TN_EXPORT void tn_engine_release(tn_engine *engine);

TN_EXPORT uint32_t tn_engine_input_count(const tn_engine *engine);
TN_EXPORT uint32_t tn_engine_output_count(const tn_engine *engine);
TN_EXPORT const tn_port_info *tn_engine_input(const tn_engine *engine,
                                              uint32_t index); /* null past the end */
TN_EXPORT const tn_port_info *tn_engine_output(const tn_engine *engine, uint32_t index);
/* The index of a name: TN_ERROR_NOT_FOUND lists the names there are and the nearest one. */
TN_EXPORT tn_status tn_engine_find_input(const tn_engine *engine, const char *name,
                                         uint32_t *out_index);
TN_EXPORT tn_status tn_engine_find_output(const tn_engine *engine, const char *name,
                                          uint32_t *out_index);
/* The shapes that the plan was built for at an input: minimum, optimum and maximum, which are equal
 * where the input has one shape; its values, too, where the profile has them. Of a plan with
 * several profiles it is the first one (tenon/profiles.h). Has the lifetime of the engine. Null
 * past the end, and for an input that accepts any shape. [thread: any] */
TN_EXPORT const tn_profile_input *tn_engine_profile(const tn_engine *engine, uint32_t input);
/* The nodes as they will run, in order: name, kernel, formats. JSON, owned by the engine, which
 * makes it when it is asked for first; "{}" where there is no memory for it. [thread: any] */
TN_EXPORT const char *tn_engine_report(const tn_engine *engine);

/* A context, which holds its engine; the caller destroys it. TN_ERROR_MEMORY, and what a kernel's
 * `open` fails with. While a run of it is under way all that another thread does with it is
 * TN_ERROR_STATE (functions that answer no status: nothing, 0 or null), but for tenon/async.h and
 * destroy, which waits for the run. Its memory: tenon/context_memory.h. [thread: one at a time for
 * one context; contexts of one engine run side by side] */
TN_EXPORT tn_status tn_context_create(tn_engine *engine, tn_context **out_context);
TN_EXPORT void tn_context_destroy(tn_context *context); /* null is fine */

/* Sets the shape of an input; inputs with fixed shapes need none. TN_ERROR_SHAPE (not as declared),
 * TN_ERROR_RANGE (outside the profile, or all of them): the input keeps the shape that it had. */
TN_EXPORT tn_status tn_context_set_shape(tn_context *context, uint32_t input, uint32_t rank,
                                         const int64_t *extents);
/* Lends the memory of an input: at least as many bytes of linear elements as its shape says, read
 * anew at each run; it must live until the run is over; it may be an output's too (see there).
 * Memory that is aligned to 64 bytes is read in place, other memory is copied first. At reshape or
 * run: TN_ERROR_STATE when nothing is bound, TN_ERROR_ARGUMENT when it is too small. Null is
 * allowed for an input of which only the shape is read. Strings: their elements, and behind them
 * their heap, which is all the rest of `bytes` (tenon/plugin/string.h); it is never copied. At run:
 * TN_ERROR_RANGE names the first element that is not within the heap. */
TN_EXPORT tn_status tn_context_bind_input(tn_context *context, uint32_t input, const void *data,
                                          uint64_t bytes);
/* Memory of the context's own for an input, bound to it, for the caller to fill before each run:
 * what a device copies from fastest. It lives until the next call for this input or the context's
 * end. TN_ERROR_MEMORY: what was lent before may be gone. */
TN_EXPORT tn_status tn_context_lend_input(tn_context *context, uint32_t input, uint64_t bytes,
                                          void **out_data);
/* Lends memory for an output, at least as large as it becomes; null: the context keeps one of its
 * own. Memory that is aligned to 64 bytes is written in place where a step computes the output,
 * other memory is copied into. When a run fails, what is in it is undefined.
 *
 * Outputs must not overlap one another. One may overlap inputs: it is then computed elsewhere and
 * copied there when the run has read them. Nothing is copied for a state: where the output is an
 * input with TN_PORT_ALIAS updates to it alone (tenon/plugin/view.h), nothing else reads the input,
 * and both are bound to the same pointer, aligned to 64 bytes, the kernels update it there; the
 * same holds for memory of the device, where all of them run on it. What lies behind the output's
 * bytes is left alone. */
TN_EXPORT tn_status tn_context_bind_output(tn_context *context, uint32_t output, void *data,
                                           uint64_t bytes);
/* Lends a stream of the engine's device: everything is enqueued there, and run returns without
 * waiting for it where all of the network runs on the device; outputs are there when the caller has
 * waited for the stream. Null: a stream of the context's own, which run waits for. TN_ERROR_STATE:
 * the engine runs on the processor, which has no stream but null. */
TN_EXPORT tn_status tn_context_set_stream(tn_context *context, void *stream);
/* The same in the memory of the engine's device, in the order of the stream. It is read and written
 * where it is by kernels of the device. An input that the processor reads is copied to the host
 * when run is called, which then waits for what is on the stream; an output that the processor
 * computes is copied to where it is bound at the end. Other calls that bind the same input or
 * output take this back. For an engine on the processor it is tn_context_bind_input and
 * tn_context_bind_output. At run, TN_ERROR_STATE: the stream is being captured, and something (the
 * error says which node or input) is done by the processor, which a graph would not repeat. */
TN_EXPORT tn_status tn_context_bind_device_input(tn_context *context, uint32_t input,
                                                 const void *device_data, uint64_t bytes);
TN_EXPORT tn_status tn_context_bind_device_output(tn_context *context, uint32_t output,
                                                  void *device_data, uint64_t bytes);
/* Lends a count: of the input's extent along `axis`, which is a capacity, only the first *count are
 * there. It is read by the kernels at each run, and never by the host: another number changes
 * neither shapes nor memory, and what was captured is launched again (a cache that grows, bound to
 * an input and an output, see tn_context_bind_output; see docs/dynamic-shapes.md). `count` is
 * memory of the host, of the device for an engine there, aligned to 8 bytes; inputs with one
 * pointer have one count. The caller keeps it within 0 and the capacity. Outputs whose extent
 * follows the count have tn_tensor.counted. Null: all of the input is there. At reshape or run:
 * TN_ERROR_UNSUPPORTED names the first node that is not right for any count. */
TN_EXPORT tn_status tn_context_bind_count(tn_context *context, uint32_t input, uint32_t axis,
                                          int64_t *count);
/* Infers all shapes and asks the kernels for the memory that they need; run does it when it was not
 * done. The last eight sets of shapes are found again. Inputs whose values decide shapes must be
 * bound; their values are compared at each run, and outside the profile's they are TN_ERROR_RANGE.
 * TN_ERROR_STATE names an input whose shape is not set. After a failure the context works on. */
TN_EXPORT tn_status tn_context_reshape(tn_context *context);
/* Runs. The second and later runs with the same shapes, or with shapes that come in turn, allocate
 * nothing, take no lock and hash nothing. The error of a failing kernel names node, operator,
 * kernel and library; the context works on. TN_ERROR_CANCELLED: tn_context_cancel ended it
 * (tenon/async.h). Exempt are networks with an output sized by run: there
 * shapes are inferred and memory is taken while it runs. */
TN_EXPORT tn_status tn_context_run(tn_context *context);
/* Whether all is done that the last run has left on the stream, without waiting: on a stream of the
 * caller's (tn_context_set_stream) run returns before. What the caller has enqueued there between
 * the run and the first of these calls counts, too. True where run has waited itself, and before
 * the first one. TN_ERROR_DEVICE: some of it failed; TN_ERROR_UNSUPPORTED: the device cannot be
 * asked; TN_ERROR_STATE: the stream is being captured. */
TN_EXPORT tn_status tn_context_is_done(tn_context *context, bool *out_is_done);
/* Has function(user) called once, when all is done that is on the stream now: by a thread of the
 * device's, where it must not wait long, nor call the device or this context; or before this
 * returns, where run has waited itself. Where the device is lost before, it may not be called:
 * tn_context_is_done then fails. Errors as there. */
TN_EXPORT tn_status tn_context_call_when_done(tn_context *context, void (*function)(void *user),
                                              void *user);
/* An output after reshape (its shape; data is null) and after run (its data). In networks with an
 * output sized by run it is there after run alone. Linear; the tensor lives until the context's
 * next reshape. One that is no dense tensor has its items by tenon/border.h. The heap of strings is
 * the context's, or what is bound to an input, and is valid until the next run, also where the
 * elements are in memory of the caller's. TN_ERROR_STATE before. */
TN_EXPORT tn_status tn_context_output(tn_context *context, uint32_t output,
                                      const tn_tensor **out_tensor);

/* Times of the steps in the order in which they run: of a node with what is fused into it, or of a
 * conversion between formats ("reformat", `node` names the tensor). Turn it on (which begins anew),
 * run some times, read. Off, it costs nothing. Entries and their texts are the context's, and live
 * until its next reshape or run. TN_ERROR_MEMORY. */
typedef struct tn_profile_entry {
    uint32_t size;
    const char *node, *op, *kernel;
    uint64_t runs, total_ns, minimum_ns;
} tn_profile_entry;
TN_EXPORT tn_status tn_context_set_profiling(tn_context *context, bool is_on);
TN_EXPORT uint32_t tn_context_profile_count(const tn_context *context);
TN_EXPORT const tn_profile_entry *tn_context_profile(const tn_context *context,
                                                     uint32_t index); /* null past the end */

/* The steps of a context as one JSON document in the words of tn_plan_report: "nodes" and
 * "reformats" with types, formats and the shapes that the context has now, the shortest times that
 * profiling measured (0 where it was off), and as "memory" what lies where in the context's memory,
 * between which steps, workspaces included. Networks with an output sized by run take their memory
 * step by step: there "memory" is empty. To be freed by tn_text_free. TN_ERROR_MEMORY. */
TN_EXPORT tn_status tn_context_report(const tn_context *context, char **out_json);

/* Counted since the context was made, of Tenon's own allocator. */
typedef struct tn_context_statistics {
    uint32_t size;
    uint64_t allocations; /* all that this context ever made */
    uint64_t arena_bytes, runs, reshapes, shape_cache_hits;
    uint64_t waits;          /* of the host for a device */
    uint64_t isolated_calls; /* of kernels in the helper process */
    uint64_t graph_launches; /* captured pieces of the network that a device did at once */
} tn_context_statistics;
TN_EXPORT void tn_context_get_statistics(const tn_context *context,
                                         tn_context_statistics *out_statistics);

/* Libraries that a plan embeds: put there by who builds it, and loaded by who trusts them, by the
 * SHA-256 of their files. Loading a plan executes nothing of what it embeds.
 *
 *     tn_build -> tn_plan_embed_libraries -> tn_plan_save
 *     tn_runtime_load_embedded -> tn_engine_load
 */

/* Another plan, with the files of the libraries that the plan's manifest, and those of bodies in
 * it, name; those that come with Tenon, and those that were linked in, have no need to be there.
 * The libraries must be loaded in the plan's runtime, and their files be as they were when they
 * were loaded. What is said of them (SHA-256, bytes) is in tn_plan_inspect. A Tenon that knows
 * nothing of embedded libraries looks for them on its search path. `plan` stays as it is. The
 * caller destroys the new one. TN_ERROR_NOT_FOUND (a library was unloaded, or its file has gone),
 * TN_ERROR_IO, TN_ERROR_PLUGIN (the file has other content now), TN_ERROR_MEMORY. [thread: any] */
TN_EXPORT tn_status tn_plan_embed_libraries(const tn_plan *plan, tn_plan **out_plan);

typedef struct tn_embedded_options {
    uint32_t size;
    uint32_t flags; /* TN_EMBEDDED_... */
    uint32_t trusted_count;
    uint32_t reserved;          /* 0 */
    const char *const *trusted; /* SHA-256 of libraries that may be loaded, 64 hexadecimal digits */
    const char *cache_folder;   /* null: $XDG_CACHE_HOME/tenon/embedded, or
                                   $HOME/.cache/tenon/embedded. Made (0700) where it is not there;
                                   must be the user's own, and not writable by others */
} tn_embedded_options;

enum {
    TN_EMBEDDED_TRUST_ALL = 1u /* whatever the plan embeds: it is trusted like the program itself */
};

/* Loads those libraries that a plan file embeds and the caller trusts, as tn_runtime_load_library
 * does; they run in this process. Each is written into the cache folder under its SHA-256, which is
 * verified before and after. The others are left alone: loading the plan then says which are
 * wanted. tn_engine_options.allowed holds for these libraries, too. Without options none is
 * trusted. `out_count` (may be null): how many were loaded. TN_ERROR_ARGUMENT: a text that is no
 * SHA-256; TN_ERROR_FORMAT: the plan is damaged, or a library does not have its SHA-256;
 * TN_ERROR_IO: the cache folder; TN_ERROR_NOT_FOUND (the file), TN_ERROR_MEMORY, and those of
 * tn_runtime_load_library. Libraries that were loaded before a failure stay. [thread: any] */
TN_EXPORT tn_status tn_runtime_load_embedded(tn_runtime *runtime, const char *path,
                                             const tn_embedded_options *options,
                                             uint32_t *out_count);
/* The same of a plan's bytes, which are not needed after the call. */
TN_EXPORT tn_status tn_runtime_load_embedded_bytes(tn_runtime *runtime, const void *data,
                                                   uint64_t bytes,
                                                   const tn_embedded_options *options,
                                                   uint32_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
