/* SPDX-License-Identifier: Apache-2.0 */
/* What guarded calls of an engine's steps need to know, for contexts (run/execution_checked.c) and
 * for the helper process (isolation_serve.c). */
#ifndef TN_ENGINE_CHECKED_H
#define TN_ENGINE_CHECKED_H

#include "engine/engine_private.h"
#include "guard/checked_call.h"

/* Which values are constants and how many tensors a call has, into the options; *out_is_constant is
 * the caller's to free, in every case. TN_ERROR_MEMORY. */
tn_status tn_checked_describe(const tn_engine *engine, const tn_allocator *allocator,
                              tn_checked_options *options, bool **out_is_constant);

#endif
