/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a context's runs. Declared in run_control.h. */
#include "run/control/run_control.h"
#include "base/status.h"

void tn_run_control_init(tn_run_control *control) {
    pthread_condattr_t monotonic;
    atomic_init(&control->state.is, TN_RUN_IDLE);
    pthread_mutex_init(&control->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&control->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void tn_run_control_deinit(tn_run_control *control) {
    pthread_cond_destroy(&control->changed);
    pthread_mutex_destroy(&control->lock);
}

tn_status tn_run_control_fail_busy(void) {
    return tn_fail(TN_ERROR_STATE, "a run of the context is under way: wait for it "
                                   "(tn_context_wait), or end it (tn_context_cancel)");
}

void tn_run_control_reset(tn_run_control *control) {
    atomic_store_explicit(&control->state.is, TN_RUN_IDLE, memory_order_release);
}
