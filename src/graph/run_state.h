/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a run is active and whether it is to end: what everything that executes nodes asks
 * between two of them. Contexts have one each (run/control/run_control.h); the contexts of bodies,
 * and what computes bodies by references, ask that of the outermost one.
 */
#ifndef TN_GRAPH_RUN_STATE_H
#define TN_GRAPH_RUN_STATE_H

#include "base/status.h"

#include <stdatomic.h>

/* While nodes are executed it is one of the first two, so that the loop over them asks for anything
 * but 0. */
enum { TN_RUN_ACTIVE, TN_RUN_CANCELLED, TN_RUN_IDLE, TN_RUN_CLOSED };

typedef struct tn_run_state {
    atomic_uint is; /* TN_RUN_... */
} tn_run_state;

static inline bool tn_run_is_cancelled(const tn_run_state *state) {
    return __builtin_expect(
        atomic_load_explicit(&state->is, memory_order_relaxed) == TN_RUN_CANCELLED, 0);
}

static inline tn_status tn_run_fail_cancelled(void) {
    return tn_fail(TN_ERROR_CANCELLED, "the run was cancelled (tn_context_cancel)");
}

/* Null: nobody can end it. */
static inline tn_status tn_run_check(const tn_run_state *state) {
    return state && tn_run_is_cancelled(state) ? tn_run_fail_cancelled() : TN_OK;
}

#endif
