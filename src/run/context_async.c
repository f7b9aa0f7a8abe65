/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that its caller does not wait for, on a thread of the runtime's; waiting for it; and the
 * end of a run from elsewhere. Public side: tenon/async.h.
 */
#include "base/status.h"
#include "plugin/runtime.h"
#include "run/context_private.h"

#include <stddef.h>
#include <tenon/async.h>
#include <time.h>

bool tn_context_cancel(tn_context *context) {
    unsigned expected = TN_RUN_ACTIVE;
    return context && atomic_compare_exchange_strong_explicit(
                          &context->control.state.is, &expected, TN_RUN_CANCELLED,
                          memory_order_relaxed, memory_order_relaxed);
}

/* ----------------------------------------------------------------------------------------------
 * the run */

/* A later run that has ended meanwhile is the last one. */
static void note_end(tn_run_control *control, uint64_t number, tn_status status) {
    pthread_mutex_lock(&control->lock);
    if (number > control->ended) {
        control->ended = number;
        control->status = status;
        if (status != TN_OK) tn_error_save(&control->error);
    }
    pthread_mutex_unlock(&control->lock);
}

static void call_done(tn_run_control *control, void (*done)(void *user, tn_status status),
                      void *user, tn_status status) {
    tn_done_call own = {.thread = pthread_self()};
    pthread_mutex_lock(&control->lock);
    own.next = control->done_calls;
    control->done_calls = &own; /* cppcheck-suppress autoVariables ; off the list below */
    pthread_mutex_unlock(&control->lock);
    done(user, status);
    pthread_mutex_lock(&control->lock);
    tn_done_call **at = &control->done_calls;
    while (*at != &own)
        at = &(*at)->next;
    *at = own.next;
    pthread_mutex_unlock(&control->lock);
}

/* [holds the lock] */
static bool is_in_done(const tn_run_control *control) {
    for (const tn_done_call *call = control->done_calls; call; call = call->next)
        if (pthread_equal(call->thread, pthread_self())) return true;
    return false;
}

static void run_job(tn_host_job *job) {
    tn_context *context = (tn_context *)((char *)job - offsetof(tn_context, control.job));
    tn_run_control *control = &context->control;
    void (*done)(void *user, tn_status status) = control->done;
    void *user = control->user;
    const uint64_t number = control->begun;
    const tn_status status = tn_context_end_run(context, tn_context_run_queued(context));
    note_end(control, number, status);
    if (done) call_done(control, done, user, status);
    pthread_mutex_lock(&control->lock);
    control->pending--;
    const bool is_last = control->pending == 0 && control->is_destroyed;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
    if (is_last) tn_context_destroy(context);
}

static tn_status submit(tn_context *context) {
    tn_host_threads *threads = NULL;
    TN_TRY(tn_runtime_run_threads(context->engine->runtime, &threads));
    return tn_host_threads_submit(threads, &context->control.job);
}

tn_status tn_context_run_async(tn_context *context, void (*done)(void *user, tn_status status),
                               void *user) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    tn_run_control *control = &context->control;
    TN_TRY(tn_run_control_begin(control));
    control->job.function = run_job;
    control->done = done;
    control->user = user;
    pthread_mutex_lock(&control->lock);
    control->begun++;
    control->pending++;
    pthread_mutex_unlock(&control->lock);
    const tn_status status = submit(context);
    if (status == TN_OK) return TN_OK;
    pthread_mutex_lock(&control->lock);
    control->begun--;
    control->pending--;
    pthread_cond_broadcast(&control->changed);
    pthread_mutex_unlock(&control->lock);
    tn_run_control_reset(control);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * waiting */

static struct timespec in_ms(uint32_t milliseconds) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* [holds the lock] */
static bool wait_for_all(tn_run_control *control, uint32_t timeout_ms) {
    const struct timespec until = in_ms(timeout_ms == TN_WAIT_FOREVER ? 0 : timeout_ms);
    int waited = 0;
    while (control->pending > 0 && waited == 0)
        waited = timeout_ms == TN_WAIT_FOREVER
                     ? pthread_cond_wait(&control->changed, &control->lock)
                     : pthread_cond_timedwait(&control->changed, &control->lock, &until);
    return control->pending == 0;
}

/* [holds the lock] */
static tn_status wait_for_result(tn_run_control *control, uint32_t timeout_ms, bool *out_is_done) {
    if (control->begun == 0)
        return tn_fail(TN_ERROR_STATE, "no run was begun by tn_context_run_async");
    if (is_in_done(control))
        return tn_fail(TN_ERROR_STATE, "`done` of a run cannot wait for the context's runs, of "
                                       "which it is a part");
    const bool is_done = wait_for_all(control, timeout_ms);
    if (out_is_done) *out_is_done = is_done;
    if (is_done && control->status != TN_OK) tn_error_restore(&control->error);
    return is_done ? control->status : TN_OK;
}

tn_status tn_context_wait(tn_context *context, uint32_t timeout_ms, bool *out_is_done) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    if (!out_is_done && timeout_ms != TN_WAIT_FOREVER)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_context_wait with an end needs a pointer for is_done");
    pthread_mutex_lock(&context->control.lock);
    const tn_status status = wait_for_result(&context->control, timeout_ms, out_is_done);
    pthread_mutex_unlock(&context->control.lock);
    return status;
}

bool tn_context_close_runs(tn_context *context) {
    tn_run_control *control = &context->control;
    pthread_mutex_lock(&control->lock);
    if (is_in_done(control)) {
        control->is_destroyed = true;
        pthread_mutex_unlock(&control->lock);
        return false;
    }
    (void)wait_for_all(control, TN_WAIT_FOREVER);
    pthread_mutex_unlock(&control->lock);
    /* A run of another thread's that is not asynchronous tells nobody that it is over. */
    const struct timespec pause = {.tv_nsec = 100000};
    unsigned expected = TN_RUN_IDLE;
    while (!atomic_compare_exchange_strong(&control->state.is, &expected, TN_RUN_CLOSED)) {
        if (expected == TN_RUN_CLOSED) return true;
        expected = TN_RUN_IDLE;
        nanosleep(&pause, NULL);
    }
    return true;
}
