/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refit: new data for constants of a plan that is built already, without building it again. Which
 * ones is said when it is built (tn_builder_options.refit, TN_BUILD_REFIT); kernels stay as they
 * were chosen. An engine does not change: applying makes another one, which shares all that the new
 * data does not reach with the old one, and new contexts are made on it.
 *
 *     tn_refit_create -> tn_refit_set ... -> tn_refit_apply -> tn_context_create
 *     tn_refit_create_for_plan -> tn_refit_set ... -> tn_refit_save
 */
#ifndef TENON_REFIT_H
#define TENON_REFIT_H

#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_refit tn_refit;

/* The constants of an engine that can be refitted, by name, type and shape, in the plan's order:
 * all those of the network and of the bodies in it. A name stands for one constant, wherever it is
 * read. They have the lifetime of the engine; null past the end. [thread: any] */
TN_EXPORT uint32_t tn_engine_refit_count(const tn_engine *engine);
TN_EXPORT const tn_port_info *tn_engine_refit_constant(const tn_engine *engine, uint32_t index);

/* A refit of an engine, which it holds, or of a plan file, for which no library is loaded and no
 * machine has to be there. TN_ERROR_UNSUPPORTED: nothing in it can be refitted, with what a build
 * has to be told; TN_ERROR_IO, TN_ERROR_NOT_FOUND, TN_ERROR_FORMAT (a file), TN_ERROR_MEMORY.
 * [thread: any; a refit serves one thread at a time] */
TN_EXPORT tn_status tn_refit_create(tn_engine *engine, tn_refit **out_refit);
TN_EXPORT tn_status tn_refit_create_for_plan(tn_runtime *runtime, const char *path,
                                             tn_refit **out_refit);
TN_EXPORT void tn_refit_destroy(tn_refit *refit); /* null is fine */

/* As of an engine. */
TN_EXPORT uint32_t tn_refit_count(const tn_refit *refit);
TN_EXPORT const tn_port_info *tn_refit_constant(const tn_refit *refit, uint32_t index);

/* Gives a constant new data, which is copied: `bytes` of linear elements. Given again, the later
 * data counts; what is not given stays as the engine or plan has it. TN_ERROR_NOT_FOUND (with the
 * nearest name), TN_ERROR_TYPE and TN_ERROR_SHAPE (they must be those of the constant; one of
 * 32-bit floats takes 16-bit ones, too, which a build widens: TN_BUILD_KEEP_HALF),
 * TN_ERROR_ARGUMENT (`bytes` is not what they take), TN_ERROR_MEMORY: nothing is changed. */
TN_EXPORT tn_status tn_refit_set(tn_refit *refit, const char *name, tn_type type, uint32_t rank,
                                 const int64_t *extents, const void *data, uint64_t bytes);
/* The same for every constant, with the constant of that name in a graph: another checkpoint of the
 * model, read as the one that was built. `out_count` (or null) gets how many differ from what the
 * engine or plan has. TN_ERROR_NOT_FOUND names a constant that the graph lacks: nothing is changed
 * then. */
TN_EXPORT tn_status tn_refit_set_all(tn_refit *refit, const tn_graph *graph, uint32_t *out_count);

/* The engine with the data that was set (where none of it is new: the same engine); the one that
 * the refit was made of stays as it is, its contexts go on with the old data, also while this runs,
 * and on failure nothing is left behind. Steps that read none of that data are shared, the others
 * are prepared again (on the thread that calls); where kernels no longer accept what they were
 * chosen for, or run isolated, the plan is loaded once more as a whole, and where that chooses
 * kernels again the log warns. The new engine can be refitted again. The refit can be used further:
 * it then is one of the same engine as before. Errors are those of tn_engine_load; TN_ERROR_STATE:
 * it was made for a plan file. The caller releases the engine. */
TN_EXPORT tn_status tn_refit_apply(tn_refit *refit, tn_engine **out_engine);
/* Writes the plan with the data that was set, as tn_plan_save does; all else in it stays: kernels,
 * profiles, measured times. TN_ERROR_IO, TN_ERROR_NOT_FOUND (the folder), TN_ERROR_MEMORY. */
TN_EXPORT tn_status tn_refit_save(const tn_refit *refit, const char *path);

#ifdef __cplusplus
}
#endif
#endif
