/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the first thread runs in a circle: `tenon plugin check` asks by SIGUSR2 when a test says
 * nothing for a while and no other thread is at work. The thread is then executed one instruction
 * at a time, and where its registers repeat, instruction by instruction, at two such moments,
 * nothing in it will ever change: it waits for a flag that nobody clears. What reads a clock, or
 * counts, does not repeat.
 */
#ifndef TN_CONFORMANCE_WORKER_WATCH_STUCK_H
#define TN_CONFORMANCE_WORKER_WATCH_STUCK_H

#include <stddef.h>

/* Called in a signal handler, with the number of instructions that repeat. */
typedef void (*tn_stuck_report)(size_t instructions);
/* From now on the signal is answered. Nothing where the processor cannot be asked. */
void tn_stuck_catch(tn_stuck_report report);

#endif
