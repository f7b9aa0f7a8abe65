/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping in order; see interrupt.h. */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))
static struct sigaction earlier[NUMBER_COUNT];
static volatile sig_atomic_t asked; /* the signal; 0: none */

static void restore(void) {
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        sigaction(numbers[i], &earlier[i], NULL);
}

static void note(int number) {
    asked = number;
    restore();
}

void cli_interrupt_begin(void) {
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        sigaction(numbers[i], NULL, &earlier[i]);
        if (earlier[i].sa_handler != SIG_IGN) sigaction(numbers[i], &action, NULL);
    }
}

bool cli_interrupt_is_asked(void) {
    return asked != 0;
}

void cli_interrupt_end(void) {
    restore();
    if (asked) raise(asked);
}
