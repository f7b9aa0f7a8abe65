/* SPDX-License-Identifier: Apache-2.0 */
/* One instruction at a time, by the processor's trap flag; see stepped.h. */
#include "worker/watch/stepped.h"
#include "worker/watch/heap.h"

#if defined(__x86_64__) && !TN_IS_SANITIZED

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

enum { MOST_STEPS = 30000, TRAP_FLAG = 0x100 };

static volatile struct {
    bool is_on, is_atomic;
    long steps;
} stepped;

/* A locked instruction, an exchange with memory, or one that compilers use for atomics alone: where
 * there is one thread the C library leaves the prefix out. */
static bool is_atomic(const uint8_t *code) {
    bool is_locked = false;
    while (*code == 0x66 || *code == 0xF2 || *code == 0xF3 || *code == 0x2E || *code == 0x36 ||
           *code == 0x3E || *code == 0x26 || *code == 0x64 || *code == 0x65 || *code == 0xF0)
        is_locked |= *code++ == 0xF0;
    if ((*code & 0xF0) == 0x40) code++;
    if (is_locked) return true;
    if (code[0] == 0x86 || code[0] == 0x87) return code[1] < 0xC0;
    return code[0] == 0x0F &&
           (code[1] == 0xB0 || code[1] == 0xB1 || code[1] == 0xC0 || code[1] == 0xC1);
}

static void step(int number, siginfo_t *info, void *context) {
    ucontext_t *at = context;
    (void)number, (void)info;
    if (stepped.is_on && stepped.steps++ < MOST_STEPS) {
        at->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
        if (is_atomic((const uint8_t *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP]))
            stepped.is_atomic = true;
    } else {
        at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    }
}

bool tn_stepped_is_on(void) {
    return stepped.is_on;
}

int tn_stepped_call(void (*function)(void *user), void *user) {
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2); /* stuck.c sets the flag of what it interrupts */
    if (sigaction(SIGTRAP, &action, &before) != 0) return TN_STEPPED_UNKNOWN;
    stepped.is_atomic = false;
    stepped.steps = 0;
    stepped.is_on = true;
    raise(SIGTRAP); /* the handler sets the flag, and each next trap keeps it */
    function(user);
    stepped.is_on = false;
    raise(SIGTRAP);
    sigaction(SIGTRAP, &before, NULL);
    if (stepped.is_atomic) return TN_STEPPED_ATOMIC;
    return stepped.steps > MOST_STEPS || stepped.steps < 16 ? TN_STEPPED_UNKNOWN : TN_STEPPED_PLAIN;
}

#else

bool tn_stepped_is_on(void) {
    return false;
}

int tn_stepped_call(void (*function)(void *user), void *user) {
    function(user);
    return TN_STEPPED_UNKNOWN;
}

#endif
