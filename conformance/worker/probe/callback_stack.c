/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of callbacks; see callback_stack.h. */
#include "worker/probe/callback_stack.h"
#include "worker/watch/heap.h"

#include <pthread.h>

#if defined(__GLIBC__) && !TN_IS_SANITIZED

#include <fenv.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

/* The contract's, and for what the caller's own frames and the C library's switch take. Below it
 * more than a callback is likely to step over without touching what lies between. */
enum { STACK_BYTES = 256 << 10, SWITCH_BYTES = 4096, GUARD_BYTES = 16 << 20 };

static char *stack; /* its lowest byte; null: not made yet */
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_there;

static struct {
    tn_callback callback;
    tn_call *call;
    tn_status status;
    fenv_t arithmetic; /* as the callback leaves it: the switch back would restore it */
    ucontext_t outside, inside;
} at;

static void enter(void) {
    at.status = at.callback(at.call);
    fegetenv(&at.arithmetic);
}

static bool make(void) {
    const size_t bytes = GUARD_BYTES + STACK_BYTES + SWITCH_BYTES;
    if (stack) return true;
    char *map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return false;
    if (mprotect(map + GUARD_BYTES, STACK_BYTES + SWITCH_BYTES, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, bytes);
        return false;
    }
    stack = map + GUARD_BYTES;
    return true;
}

tn_status tn_callback_stack_call(tn_callback callback, tn_call *call) {
    if (is_there || tn_heap_is_sanitized() || pthread_mutex_trylock(&in_use) != 0)
        return callback(call);
    tn_status status;
    if (make() && getcontext(&at.inside) == 0) {
        at.callback = callback;
        at.call = call;
        at.inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES + SWITCH_BYTES};
        at.inside.uc_link = &at.outside;
        makecontext(&at.inside, enter, 0);
        is_there = true;
        (void)swapcontext(&at.outside, &at.inside);
        fesetenv(&at.arithmetic);
        is_there = false;
        status = at.status;
    } else {
        status = callback(call);
    }
    pthread_mutex_unlock(&in_use);
    return status;
}

char *tn_callback_stack_end(void) {
    return is_there ? stack + STACK_BYTES + SWITCH_BYTES : NULL;
}

#else

tn_status tn_callback_stack_call(tn_callback callback, tn_call *call) {
    return callback(call);
}

char *tn_callback_stack_end(void) {
    return NULL;
}

#endif
