/* SPDX-License-Identifier: Apache-2.0 */
/* The call of save, load and upgrade. For state.c and upgrade.c. */
#ifndef TN_PLAN_STATE_PRIVATE_H
#define TN_PLAN_STATE_PRIVATE_H

#include "plan/state.h"

/* `call` is first: a callback that gets it finds the rest behind it. */
typedef struct tn_plan_state_call {
    tn_call call;
    tn_call_scope scope;
    uint32_t from; /* upgrade */
} tn_plan_state_call;

/* Must not be moved afterwards. */
void tn_plan_state_call_init(tn_plan_state_call *state, const tn_plan_node_context *context);

#endif
