/* SPDX-License-Identifier: Apache-2.0 */
/* One thread's own state; see thread_state.h. */
#include "worker/thread/thread_state.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

/* ----------------------------------------------------------------------------------------------
 * floats */

#if defined(__x86_64__)

enum { STATUS_FLAGS = 0x3F, ROUNDING = 0x6000, TRAPS = 0x1F80 }; /* of MXCSR */

/* Without the flags of what happened, which any instruction sets. */
static uint32_t get_arithmetic(void) {
    return _mm_getcsr() & ~(uint32_t)STATUS_FLAGS;
}

static void set_arithmetic(uint32_t arithmetic) {
    _mm_setcsr(arithmetic);
}

static const char *name_arithmetic(uint32_t changed) {
    return changed & ROUNDING ? "another rounding mode"
           : changed & TRAPS  ? "other floating-point exceptions that trap"
                              : "another treatment of subnormal numbers";
}

/* The control word of x87, by which long double is computed. */
static uint32_t get_long_arithmetic(void) {
    uint16_t word = 0;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

static void set_long_arithmetic(uint32_t arithmetic) {
    const uint16_t word = (uint16_t)arithmetic;
    __asm__ volatile("fldcw %0" : : "m"(word));
}

#else

static uint32_t get_arithmetic(void) {
    return (uint32_t)fegetround();
}

static void set_arithmetic(uint32_t arithmetic) {
    fesetround((int)arithmetic);
}

static const char *name_arithmetic(uint32_t changed) {
    (void)changed;
    return "another rounding mode";
}

static uint32_t get_long_arithmetic(void) {
    return 0;
}

static void set_long_arithmetic(uint32_t arithmetic) {
    (void)arithmetic;
}

#endif

/* ----------------------------------------------------------------------------------------------
 * what is a number: of the thread, though the calls are named after the process */

enum { IO_PRIORITY_OF_THREAD = 1 };

static int get_nice(void) {
    return getpriority(PRIO_PROCESS, 0);
}
static void set_nice(int value) {
    setpriority(PRIO_PROCESS, 0, value);
}

static int get_policy(void) {
    return sched_getscheduler(0);
}
static void set_policy(int value) {
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(value)};
    sched_setscheduler(0, value, &lowest);
}

static int get_real_time(void) {
    struct sched_param now = {0};
    return sched_getparam(0, &now) == 0 ? now.sched_priority : 0;
}
static void set_real_time(int value) {
    const struct sched_param before = {.sched_priority = value};
    sched_setparam(0, &before);
}

static int get_io_priority(void) {
    return (int)syscall(SYS_ioprio_get, IO_PRIORITY_OF_THREAD, 0);
}
static void set_io_priority(int value) {
    syscall(SYS_ioprio_set, IO_PRIORITY_OF_THREAD, 0, value);
}

/* -1 where it may not be asked for. */
static int get_memory_policy(void) {
    int mode = 0;
    return syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0 ? mode : -1;
}
static void set_memory_policy(int value) {
    if (value >= 0) syscall(SYS_set_mempolicy, value, NULL, 0);
}

static int get_timer_slack(void) {
    return prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}
static void set_timer_slack(int value) {
    prctl(PR_SET_TIMERSLACK, (unsigned long)value, 0, 0, 0);
}

static int get_cancelling(void) {
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_setcancelstate(state, NULL);
    return state;
}
static void set_cancelling(int value) {
    pthread_setcancelstate(value, NULL);
}

static int get_cancel_type(void) {
    int type = 0;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcanceltype(type, NULL);
    return type;
}
static void set_cancel_type(int value) {
    pthread_setcanceltype(value, NULL);
}

static int get_parent_signal(void) {
    int number = 0;
    return prctl(PR_GET_PDEATHSIG, &number, 0, 0, 0) == 0 ? number : 0;
}
static void set_parent_signal(int value) {
    prctl(PR_SET_PDEATHSIG, (unsigned long)value, 0, 0, 0);
}

static int get_no_privileges(void) {
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}
static void set_no_privileges(int value) {
    (void)value; /* it cannot be taken back */
}

static const struct number {
    const char *what;
    int (*get)(void);
    void (*set)(int value);
} numbers[TN_THREAD_NUMBERS] = {
    {"another scheduling policy", get_policy, set_policy},
    {"another real-time priority", get_real_time, set_real_time},
    {"another priority (nice)", get_nice, set_nice},
    {"another priority of input and output", get_io_priority, set_io_priority},
    {"another memory policy", get_memory_policy, set_memory_policy},
    {"another timer slack", get_timer_slack, set_timer_slack},
    {"another state of cancelling", get_cancelling, set_cancelling},
    {"another type of cancelling", get_cancel_type, set_cancel_type},
    {"another signal at the parent's end", get_parent_signal, set_parent_signal},
    {"fewer privileges (no_new_privs)", get_no_privileges, set_no_privileges},
};

/* ---------------------------------------------------------------------------------------------- */

static void note_whole(tn_thread_state *state) {
    sigemptyset(&state->blocked);
    CPU_ZERO(&state->processors);
    pthread_sigmask(SIG_BLOCK, NULL, &state->blocked);
    sched_getaffinity(0, sizeof(state->processors), &state->processors);
    sigaltstack(NULL, &state->handlers_stack);
    for (int i = 0; i < TN_THREAD_NUMBERS; i++)
        state->numbers[i] = numbers[i].get();
    prctl(PR_GET_NAME, state->name);
}

void tn_thread_state_note(bool is_whole, tn_thread_state *out_state) {
    out_state->arithmetic = get_arithmetic();
    out_state->long_arithmetic = get_long_arithmetic();
    out_state->locale = uselocale((locale_t)0);
    out_state->is_whole = is_whole;
    if (is_whole) note_whole(out_state);
}

static bool is_same_stack(const stack_t *a, const stack_t *b) {
    const bool is_none = a->ss_flags & SS_DISABLE;
    return is_none
               ? b->ss_flags & SS_DISABLE
               : a->ss_sp == b->ss_sp && a->ss_size == b->ss_size && !(b->ss_flags & SS_DISABLE);
}

static bool has_other_mask(const tn_thread_state *before, const tn_thread_state *now, char *what,
                           size_t bytes) {
    for (int i = 1; i < _NSIG; i++) {
        const int is_blocked = sigismember(&now->blocked, i);
        if (is_blocked == sigismember(&before->blocked, i)) continue;
        pthread_sigmask(SIG_SETMASK, &before->blocked, NULL);
        snprintf(what, bytes, "another signal mask (signal %d is %s)", i,
                 is_blocked ? "blocked" : "let through");
        return true;
    }
    return false;
}

static bool has_changed_whole(const tn_thread_state *before, char *what, size_t bytes) {
    tn_thread_state now;
    note_whole(&now);
    if (has_other_mask(before, &now, what, bytes)) return true;
    if (!CPU_EQUAL(&now.processors, &before->processors)) {
        sched_setaffinity(0, sizeof(before->processors), &before->processors);
        snprintf(what, bytes, "other processors to run on (%d in place of %d)",
                 CPU_COUNT(&now.processors), CPU_COUNT(&before->processors));
        return true;
    }
    if (!is_same_stack(&before->handlers_stack, &now.handlers_stack)) {
        sigaltstack(&before->handlers_stack, NULL);
        snprintf(what, bytes, "another stack for signal handlers (sigaltstack)");
        return true;
    }
    for (int i = 0; i < TN_THREAD_NUMBERS; i++) {
        if (now.numbers[i] == before->numbers[i]) continue;
        numbers[i].set(before->numbers[i]);
        snprintf(what, bytes, "%s", numbers[i].what);
        return true;
    }
    if (strcmp(now.name, before->name) == 0) return false;
    prctl(PR_SET_NAME, before->name);
    snprintf(what, bytes, "another name (%.15s)", now.name);
    return true;
}

bool tn_thread_state_changed(const tn_thread_state *before, char *what, size_t bytes) {
    const uint32_t arithmetic = get_arithmetic();
    if (arithmetic != before->arithmetic) {
        set_arithmetic(before->arithmetic);
        snprintf(what, bytes, "%s", name_arithmetic(arithmetic ^ before->arithmetic));
        return true;
    }
    if (get_long_arithmetic() != before->long_arithmetic) {
        set_long_arithmetic(before->long_arithmetic);
        snprintf(what, bytes, "another rounding or precision of long double");
        return true;
    }
    if (uselocale((locale_t)0) != before->locale) {
        uselocale(before->locale);
        snprintf(what, bytes, "another locale (uselocale)");
        return true;
    }
    return before->is_whole && has_changed_whole(before, what, bytes);
}
