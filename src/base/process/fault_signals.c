/* SPDX-License-Identifier: Apache-2.0 */
/* Installing handlers of faults, and handing a fault on; see fault_signals.h. */
#include "base/process/fault_signals.h"
#include "base/status.h"

static const int signals[TN_FAULT_SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

void tn_fault_hand_on(const tn_fault_handlers *handlers, int number, siginfo_t *info,
                      void *context) {
    const struct sigaction *action = NULL;
    for (int i = 0; i < TN_FAULT_SIGNALS; i++)
        if (signals[i] == number) action = &handlers->actions[i];
    if (!action || action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
        const struct sigaction plain = {.sa_handler = SIG_DFL};
        sigaction(number, &plain, NULL); /* the instruction faults again, and ends the process */
        if (number == SIGABRT || info->si_code <= 0) raise(number);
    } else if (action->sa_flags & SA_SIGINFO) {
        action->sa_sigaction(number, info, context);
    } else {
        action->sa_handler(number);
    }
}

tn_status tn_fault_install(tn_fault_handlers *out_before,
                           void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_sigaction = handler,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < TN_FAULT_SIGNALS; i++)
        if (sigaction(signals[i], &action, &out_before->actions[i]) != 0)
            return tn_fail(TN_ERROR_STATE, "signal handlers cannot be installed");
    return TN_OK;
}

void tn_fault_uninstall(const tn_fault_handlers *before,
                        void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction now;
    for (int i = 0; i < TN_FAULT_SIGNALS; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_sigaction == handler)
            sigaction(signals[i], &before->actions[i], NULL);
}

void tn_fault_set_stack(void *memory, tn_fault_stack *out_before) {
    const stack_t stack = {.ss_sp = memory, .ss_size = TN_FAULT_STACK_BYTES};
    stack_t old = {0};
    out_before->is_set = sigaltstack(&stack, &old) == 0;
    out_before->before = old.ss_sp;
    out_before->before_bytes = old.ss_size;
    out_before->before_flags = old.ss_flags;
}

void tn_fault_restore_stack(const tn_fault_stack *before_it) {
    const stack_t stack = {.ss_sp = before_it->before,
                           .ss_size = before_it->before_bytes,
                           .ss_flags = before_it->before_flags & SS_DISABLE};
    if (before_it->is_set) sigaltstack(&stack, NULL);
}
