/* SPDX-License-Identifier: Apache-2.0 */
/* Circles of instructions, by the processor's trap flag; see stuck.h. */
#include "worker/watch/stuck.h"
#include "worker/watch/heap.h"
#include "worker/watch/stepped.h"

#if defined(__x86_64__) && !TN_IS_SANITIZED

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { STEPS = 16384, MOST_PERIOD = 2048, TRAP_FLAG = 0x100, RESUME_FLAG = 0x10000 };

static struct {
    tn_stuck_report report;
    bool is_on;
    size_t steps;
    uint64_t seen[STEPS]; /* the registers after each step */
    uint64_t circle;      /* of the last time; 0: there was none */
    struct sigaction before;
} stuck;

static uint64_t mix(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t hash_registers(const ucontext_t *at) {
    uint64_t hash = 0, halves[2];
    for (int i = 0; i <= REG_RIP; i++)
        hash = mix(hash, (uint64_t)at->uc_mcontext.gregs[i]);
    hash =
        mix(hash, (uint64_t)at->uc_mcontext.gregs[REG_EFL] & ~(uint64_t)(TRAP_FLAG | RESUME_FLAG));
    for (size_t i = 0; at->uc_mcontext.fpregs && i < 16; i++) {
        memcpy(halves, &at->uc_mcontext.fpregs->_xmm[i], sizeof(halves));
        hash = mix(mix(hash, halves[0]), halves[1]);
    }
    return hash;
}

/* The smallest number of steps after which all of the second half repeats; 0: none. */
static size_t find_period(void) {
    for (size_t period = 1; period <= MOST_PERIOD; period++) {
        size_t i = STEPS - 1;
        while (i > STEPS / 2 && stuck.seen[i] == stuck.seen[i - period])
            i--;
        if (i == STEPS / 2) return period;
    }
    return 0;
}

static void judge(void) {
    const size_t period = find_period();
    uint64_t circle = 0; /* the same wherever it begins */
    for (size_t i = 0; i < period; i++)
        circle += stuck.seen[STEPS - 1 - i];
    const bool is_again = period > 0 && circle == stuck.circle;
    stuck.circle = period > 0 ? circle : 0;
    if (is_again) stuck.report(period);
}

/* The next instruction may sleep, or block the signal of the next step. */
static bool is_call_of_system(const ucontext_t *at) {
    const uint8_t *code = (const uint8_t *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP];
    return code[0] == 0x0F && code[1] == 0x05 && at->uc_mcontext.gregs[REG_RAX] != SYS_sched_yield;
}

static void step(int number, siginfo_t *info, void *context) {
    ucontext_t *at = context;
    (void)number, (void)info;
    if (stuck.steps < STEPS && !is_call_of_system(at)) {
        stuck.seen[stuck.steps++] = hash_registers(at);
        at->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
        return;
    }
    at->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    sigaction(SIGTRAP, &stuck.before, NULL);
    if (stuck.steps == STEPS) judge();
    stuck.is_on = false;
}

/* The flag is the interrupted thread's as soon as this returns. It is not set within `step`, where
 * the trap is blocked and would end the process. */
static void begin(int number, siginfo_t *info, void *context) {
    ucontext_t *at = context;
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)number, (void)info;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    if (stuck.is_on || is_call_of_system(at) || tn_stepped_is_on() ||
        sigaction(SIGTRAP, &action, &stuck.before) != 0)
        return;
    stuck.is_on = true;
    stuck.steps = 0;
    at->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

void tn_stuck_catch(tn_stuck_report report) {
    struct sigaction action = {.sa_sigaction = begin,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    stuck.report = report;
    sigaction(SIGUSR2, &action, NULL);
}

#else

#include <signal.h>

void tn_stuck_catch(tn_stuck_report report) {
    (void)report;
    signal(SIGUSR2, SIG_IGN);
}

#endif
