/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines on memory that somebody else owns: a plan in shared memory, in the program's own data, in
 * a package that is mapped already.
 */
#ifndef TENON_BORROWED_H
#define TENON_BORROWED_H

#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As tn_engine_load_bytes, but the bytes are not copied: weights are used where they are. `data` is
 * aligned to 64 bytes (TN_ERROR_ARGUMENT: it is not), and neither changes nor goes away before
 * `release` is called with `user`: once, on the thread that gives back the last count of the
 * engine, after everything else of it is gone. `release` may be null, and must not call Tenon.
 * Where loading fails it is not called: the bytes are the caller's again. With TN_ENGINE_ISOLATED
 * helper processes get a copy. [thread: any] */
TN_EXPORT tn_status tn_engine_load_borrowed(tn_runtime *runtime, const void *data, uint64_t bytes,
                                            const tn_engine_options *options,
                                            void (*release)(void *user), void *user,
                                            tn_engine **out_engine);

#ifdef __cplusplus
}
#endif
#endif
