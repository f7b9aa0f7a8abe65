/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that the caller does not wait for, and the end of runs that are not wanted any more.
 *
 *     tn_context_run_async -> (other work) -> tn_context_wait
 *     tn_context_run, and from another thread or a signal handler: tn_context_cancel
 *
 * A run is under way from the call of tn_context_run until it returns, and from the call of
 * tn_context_run_async until its `done` is called. Meanwhile the context belongs to it: whatever
 * else is done with the context is TN_ERROR_STATE, changes nothing and hurts nothing, but for the
 * functions below and tn_context_destroy, which waits for the run.
 */
#ifndef TENON_ASYNC_H
#define TENON_ASYNC_H

#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends the run that is under way: before its next node, in the bodies of nodes, too, however often
 * they would still be repeated. Nothing more is enqueued on a device, and what is enqueued there is
 * waited for. True: a run was under way, and fails with TN_ERROR_CANCELLED (or with what it fails
 * with before), even where its last node was at work already; what is in its outputs is undefined,
 * and the context works on. False: there was none; this changes nothing, and the next run begins as
 * ever. A node's kernel is not interrupted. Null is fine.
 * [thread: any, and signal handlers; the context must not be destroyed meanwhile] */
TN_EXPORT bool tn_context_cancel(tn_context *context);

/* Begins what tn_context_run does on a thread of the runtime's and returns. Threads are started
 * when they are needed, at most tn_runtime_options.run_threads, and kept until the runtime goes;
 * further runs wait for one, in their order. What is bound must stay until the run is over.
 *
 * `done` (may be null) is called once, by that thread, when the run is over, with what
 * tn_context_run would have returned; tn_last_error says why there. The context is free then: in
 * `done` its outputs may be read, inputs bound, the next run begun, and the context destroyed (it
 * goes when `done` has returned), but not waited for. On a stream of the caller's
 * (tn_context_set_stream) the run is over when all is enqueued, as with tn_context_run.
 *
 * TN_ERROR_STATE: a run is under way; TN_ERROR_MEMORY: no thread can be started. `done` is not
 * called then. Errors of the run are `done`'s and tn_context_wait's. [thread: one at a time for one
 * context; `done`: any] */
TN_EXPORT tn_status tn_context_run_async(tn_context *context,
                                         void (*done)(void *user, tn_status status), void *user);

#define TN_WAIT_FOREVER UINT32_MAX
/* Waits until all asynchronous runs of the context are over and their `done` has returned, at most
 * so many milliseconds (0: only looks; TN_WAIT_FOREVER). Then *out_is_done is true, and this
 * answers what the last of them did, with its error as this thread's last one, as often as it is
 * asked. When the time is up first: TN_OK, and *out_is_done is false. `out_is_done` may be null,
 * with TN_WAIT_FOREVER alone. TN_ERROR_STATE: no asynchronous run was begun, or `done` of such a
 * run calls. [thread: any, several at once] */
TN_EXPORT tn_status tn_context_wait(tn_context *context, uint32_t timeout_ms, bool *out_is_done);

#ifdef __cplusplus
}
#endif
#endif
