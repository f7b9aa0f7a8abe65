/* SPDX-License-Identifier: Apache-2.0 */
/* Which step of its engine's program an entry of a context's profile is of. */
#ifndef TN_RUN_PROFILE_STEPS_H
#define TN_RUN_PROFILE_STEPS_H

#include <tenon/engine.h>

/* `index` below tn_context_profile_count. */
uint32_t tn_context_profile_step(const tn_context *context, uint32_t index);

#endif
