/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that are looked at; see watched_pool.h. */
#include "worker/thread/watched_pool.h"
#include "worker/libc/locks.h"
#include "worker/thread/thread_state.h"
#include "worker/watch/heap.h"
#include "worker/watch/stepped.h"
#include "worker/watch/trace.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FIRST_RANGES = 6, EVERY = 64 };

typedef struct loop {
    tn_body body;
    void *user;
    pthread_t caller;
    const char *callback;
} loop;

static atomic_uint test; /* of its number alone */

/* Of this thread. */
static _Thread_local struct {
    const loop *in; /* null: no range is under way here */
    uint32_t thread;
    unsigned test, ranges;
} here;

void tn_watched_pool_begin_test(void) {
    atomic_fetch_add_explicit(&test, 1, memory_order_relaxed);
}

static bool is_asked_now(void) {
    const unsigned now = atomic_load_explicit(&test, memory_order_relaxed);
    if (here.test != now) here.ranges = 0;
    here.test = now;
    const unsigned ranges = here.ranges++;
    return ranges < FIRST_RANGES || ranges % EVERY == 0;
}

static const char *whose_thread(const loop *l) {
    return pthread_equal(l->caller, pthread_self()) ? "the calling thread (in a range)"
                                                    : "a worker thread";
}

static tn_status look_at_range(const loop *l, int64_t begin, int64_t end, uint32_t thread) {
    char what[200];
    tn_thread_state before;
    const size_t locks = tn_locks_enter();
    tn_heap_enter();
    tn_thread_state_note(is_asked_now(), &before);
    const tn_status status = l->body(l->user, begin, end, thread);
    tn_heap_leave();
    if (tn_thread_state_changed(&before, what, sizeof(what)))
        tn_trace_broken("environment", "%s leaves %s of parallel_for with %s", l->callback,
                        whose_thread(l), what);
    if (tn_locks_leave(locks, what, sizeof(what)))
        tn_trace_broken("environment", "%s leaves %s of parallel_for with %s", l->callback,
                        whose_thread(l), what);
    return status;
}

/* Where instructions are looked at one by one, those of this file would be among them. */
static tn_status do_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const loop *l = user;
    here.in = l;
    here.thread = thread;
    const tn_status status = tn_stepped_is_on() ? l->body(l->user, begin, end, thread)
                                                : look_at_range(l, begin, end, thread);
    here.in = NULL;
    return status;
}

static tn_status watched(const tn_thread_pool *pool, int64_t count, int64_t grain, tn_body body,
                         void *user) {
    const tn_watched_pool *own = (const tn_watched_pool *)(const void *)pool;
    if (here.in) { /* one range, here: nobody waits for anybody */
        tn_trace_broken("threads",
                        "%s calls parallel_for in a range of another parallel_for: the threads are "
                        "at work already, and both have the same numbers of threads",
                        here.in->callback);
        return body(user, 0, count, here.thread);
    }
    const char *callback = tn_trace_callback();
    loop l = {.body = body,
              .user = user,
              .caller = pthread_self(),
              .callback = callback ? callback : "a callback"};
    return own->inner->parallel_for(own->inner, count, grain, do_range, &l);
}

void tn_watched_pool_init(tn_watched_pool *out_pool, const tn_thread_pool *inner) {
    *out_pool = (tn_watched_pool){.pool = *inner, .inner = inner};
    out_pool->pool.parallel_for = watched;
}
