/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that ends in order when the user asks for it: the first SIGINT, SIGTERM or SIGHUP is noted,
 * and what shows progress (cli_show_progress) stops at its next step; the second one has its usual
 * effect at once.
 */
#ifndef TENON_TOOLS_CLI_INTERRUPT_H
#define TENON_TOOLS_CLI_INTERRUPT_H

#include <stdbool.h>

/* Signals that the process ignores, as under nohup, stay ignored. */
void cli_interrupt_begin(void);
bool cli_interrupt_is_asked(void);
/* The process ends by the signal that was asked with, if any: whoever started it sees that. */
void cli_interrupt_end(void);

#endif
