/* SPDX-License-Identifier: Apache-2.0 */
/* Other contexts that run some shapes instead of this one: of another profile
 * (profiles/profile_contexts.c), or without fusions (unfused.c). */
#ifndef TN_RUN_STATE_STAND_IN_H
#define TN_RUN_STATE_STAND_IN_H

#include <tenon/engine.h>

typedef struct tn_context_profiles {
    tn_context **contexts; /* by profile: of a plan with several, null until one is needed; the
                              first is this one. Null: there is one profile */
    uint32_t now;          /* that the present shapes run with */
    uint32_t chosen;       /* by the caller; TN_PROFILE_AUTOMATIC */
} tn_context_profiles;

typedef struct tn_context_unfused {
    tn_context *context; /* for shapes that break a fusion; else null */
    bool is_now;         /* the present shapes are such */
    bool *is_broken;     /* by node: scratch of tn_unfused_find; null until it is needed */
} tn_context_unfused;

#endif
