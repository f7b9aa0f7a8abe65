/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which callback each thread is in, for a process that asked for it (tenon/crash.h): when it
 * crashes, node, operator, kernel, library and callback are named before it ends. Unless it asked,
 * a mark costs one load. Crashes that become answers are guard/fault.h's.
 */
#ifndef TN_PLUGIN_CRASH_H
#define TN_PLUGIN_CRASH_H

#include <stdatomic.h>
#include <tenon/crash.h>

/* What a thread is doing, from enter to leave; lies on its stack. Marks nest. */
typedef struct tn_crash_mark {
    _Atomic(const tn_call *) call; /* null: the library's own callback, not a node's */
    const char *callback;          /* "prepare"; null: the call's kernel or reference runs */
    const char *path;              /* of the library, where there is no call */
    struct tn_crash_mark *outer;
    void *slot; /* the thread's; null: not watched */
} tn_crash_mark;

extern atomic_bool tn_crash_is_watched; /* whether the process asked for it */

void tn_crash_push(tn_crash_mark *mark);
void tn_crash_pop(const tn_crash_mark *mark);

/* [thread: the one that does the work between them] */
static inline void tn_crash_enter(tn_crash_mark *mark, const tn_call *call, const char *callback,
                                  const char *path) {
    mark->slot = NULL;
    if (!atomic_load_explicit(&tn_crash_is_watched, memory_order_relaxed)) return;
    atomic_init(&mark->call, call);
    mark->callback = callback;
    mark->path = path;
    tn_crash_push(mark);
}

static inline void tn_crash_leave(const tn_crash_mark *mark) {
    if (mark->slot) tn_crash_pop(mark);
}

/* The mark goes over to another call. */
static inline void tn_crash_set_call(tn_crash_mark *mark, const tn_call *call) {
    atomic_store_explicit(&mark->call, call, memory_order_relaxed);
}

#endif
