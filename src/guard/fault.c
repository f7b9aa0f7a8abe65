/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of faults; see fault.h. Signal handlers belong to the process, so what this file
 * keeps is the process's too: the count of those who want them, what was there before, and each
 * thread's landing. All else is the watch's.
 */
#include "guard/fault.h"
#include "base/status.h"

#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

enum { WATCH_COUNT = 64 };

/* Where a thread goes on behind a fault. */
typedef struct landing {
    sigjmp_buf resume;
    struct landing *outer;
    tn_fault_watch *watch;
} landing;

/* A thread's innermost landing: a key and not thread-local storage, of which a host that opens the
 * library late has none left. Reading it neither locks nor allocates, so that a handler may. */
static pthread_key_t current_key;
static pthread_once_t current_once = PTHREAD_ONCE_INIT;
static bool has_current;

static void make_current(void) {
    has_current = pthread_key_create(&current_key, NULL) == 0;
}

static landing *get_current(void) {
    return has_current ? pthread_getspecific(current_key) : NULL;
}

static bool set_current(landing *to) {
    return has_current && pthread_setspecific(current_key, to) == 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned takers; /* under the lock, as is what was there before */
static tn_fault_handlers before;
/* Calls under watch, for threads without a landing (a numerical library's own). */
static _Atomic(tn_fault_watch *) watches[WATCH_COUNT];

/* ----------------------------------------------------------------------------------------------
 * the handler */

static bool is_write(const void *context) {
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    (void)context;
    return false;
#endif
}

static tn_guard *find_guard(const tn_fault_watch *watch, const void *address) {
    for (size_t i = 0; i < watch->guard_count; i++)
        if (watch->guards[i] && tn_guard_holds(watch->guards[i], address)) return watch->guards[i];
    return NULL;
}

static void note_fault(tn_fault_watch *watch, const tn_guard *hit, int number,
                       const siginfo_t *info, const void *context) {
    int nothing = 0;
    if (!atomic_compare_exchange_strong(&watch->state, &nothing, 1)) return;
    watch->hit = hit;
    watch->address = info->si_addr;
    watch->signal = number;
    watch->is_write = is_write(context);
    atomic_store(&watch->state, 2);
}

static bool go_on(tn_fault_watch *watch, int number, const siginfo_t *info, const void *context) {
    if (!watch || (number != SIGSEGV && number != SIGBUS)) return false;
    tn_guard *hit = find_guard(watch, info->si_addr);
    if (!hit) return false;
    note_fault(watch, hit, number, info, context);
    tn_guard_open(hit);
    return true;
}

static void handle(int number, siginfo_t *info, void *context) {
    landing *const to = get_current();
    if (go_on(to ? to->watch : NULL, number, info, context)) return;
    for (int i = 0; i < WATCH_COUNT && !to; i++)
        if (go_on(atomic_load(&watches[i]), number, info, context)) return;
    if (!to) {
        tn_fault_hand_on(&before, number, info, context);
        return;
    }
    note_fault(to->watch, NULL, number, info, context);
    siglongjmp(to->resume, 1);
}

tn_status tn_fault_take(void) {
    pthread_once(&current_once, make_current);
    if (!has_current) return tn_fail(TN_ERROR_STATE, "there is no key for a thread's own data");
    pthread_mutex_lock(&lock);
    const tn_status status = takers == 0 ? tn_fault_install(&before, handle) : TN_OK;
    if (status == TN_OK) takers++;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Whoever put a handler of his own over this one keeps it. */
void tn_fault_give_back(void) {
    pthread_mutex_lock(&lock);
    takers--;
    if (takers == 0) tn_fault_uninstall(&before, handle);
    pthread_mutex_unlock(&lock);
}

/* ----------------------------------------------------------------------------------------------
 * calls */

static _Atomic(tn_fault_watch *) *enter(tn_fault_watch *watch) {
    for (int i = 0; i < WATCH_COUNT; i++) {
        tn_fault_watch *nobody = NULL;
        if (atomic_compare_exchange_strong(&watches[i], &nobody, watch)) return &watches[i];
    }
    return NULL; /* then threads without a landing are not covered */
}

/* False: a fault ended it. */
__attribute__((noinline)) static bool run_landed(tn_fault_watch *watch, tn_callback run,
                                                 tn_call *call, tn_status *out_status) {
    landing here = {.outer = get_current(), .watch = watch};
    const bool is_first = sigsetjmp(here.resume, 0) == 0;
    if (is_first) *out_status = set_current(&here) ? run(call) : tn_fail_memory("a guarded call");
    set_current(here.outer);
    return is_first;
}

bool tn_fault_call(tn_fault_watch *watch, tn_callback run, tn_call *call, tn_status *out_status) {
    _Atomic(tn_fault_watch *) *const entry = enter(watch);
    const bool is_returned = run_landed(watch, run, call, out_status);
    if (entry) atomic_store(entry, NULL);
    return is_returned;
}

tn_status tn_fault_body(tn_fault_watch *watch, tn_body body, void *user, int64_t begin, int64_t end,
                        uint32_t thread) {
    landing here = {.outer = get_current(), .watch = watch};
    if (sigsetjmp(here.resume, 0) == 0) {
        const tn_status status =
            set_current(&here) ? body(user, begin, end, thread) : tn_fail_memory("a guarded call");
        set_current(here.outer);
        return status;
    }
    set_current(here.outer);
    return TN_ERROR_PLUGIN;
}

bool tn_fault_is_noted(const tn_fault_watch *watch) {
    return atomic_load(&watch->state) != 0;
}
