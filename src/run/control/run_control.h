/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context's runs: whether one is under way (graph/run_state.h), and those that nobody waits for.
 * context_async.c has the public functions (tenon/async.h).
 */
#ifndef TN_RUN_CONTROL_H
#define TN_RUN_CONTROL_H

#include "base/error_copy.h"
#include "device/cpu/host_threads.h"
#include "graph/run_state.h"

#include <pthread.h>
#include <stdbool.h>

/* A thread that calls `done`; lies on its stack. */
typedef struct tn_done_call {
    struct tn_done_call *next;
    pthread_t thread;
} tn_done_call;

typedef struct tn_run_control {
    tn_run_state state;
    /* Asynchronous runs. */
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    tn_host_job job;
    void (*done)(void *user, tn_status status);
    void *user;
    uint64_t begun, ended;    /* numbers of the last runs that did so, from 1 */
    uint32_t pending;         /* runs whose `done` has not returned */
    tn_done_call *done_calls; /* those at work */
    bool is_destroyed;        /* by `done`: as soon as none is pending */
    tn_status status;         /* of the run that ended last */
    tn_error_copy error;      /* where it failed */
} tn_run_control;

void tn_run_control_init(tn_run_control *control);
void tn_run_control_deinit(tn_run_control *control);
tn_status tn_run_control_fail_busy(void); /* TN_ERROR_STATE */
/* From idle to under way: TN_ERROR_STATE when it is not idle. */
static inline tn_status tn_run_control_begin(tn_run_control *control) {
    unsigned expected = TN_RUN_IDLE;
    const bool is_begun = atomic_compare_exchange_strong_explicit(
        &control->state.is, &expected, TN_RUN_ACTIVE, memory_order_acquire, memory_order_relaxed);
    return __builtin_expect(is_begun, 1) ? TN_OK : tn_run_control_fail_busy();
}
static inline bool tn_run_control_is_idle(const tn_run_control *control) {
    return atomic_load_explicit(&control->state.is, memory_order_acquire) == TN_RUN_IDLE;
}
/* TN_ERROR_STATE while a run is under way. */
static inline tn_status tn_run_control_check_idle(const tn_run_control *control) {
    return __builtin_expect(tn_run_control_is_idle(control), 1) ? TN_OK
                                                                : tn_run_control_fail_busy();
}
/* From under way to idle; false: it was cancelled, and stays so until tn_run_control_reset. */
static inline bool tn_run_control_end(tn_run_control *control) {
    unsigned expected = TN_RUN_ACTIVE;
    return atomic_compare_exchange_strong_explicit(&control->state.is, &expected, TN_RUN_IDLE,
                                                   memory_order_release, memory_order_relaxed);
}
void tn_run_control_reset(tn_run_control *control);

#endif
