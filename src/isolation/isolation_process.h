/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper process of a context, a program of its own: its descriptors and its life. Processes
 * are base/child_process.h's matter. What is said to it is isolation.c's matter.
 */
#ifndef TN_ISOLATION_ISOLATION_PROCESS_H
#define TN_ISOLATION_ISOLATION_PROCESS_H

#include "base/memory.h"

#include <sys/types.h>

typedef struct tn_isolation_process {
    pid_t id;   /* 0: there is none */
    int socket; /* ours; the process ends itself when it is closed */
    bool is_over;
    int how; /* as waitpid says it; -1: nobody knows */
} tn_isolation_process;

/* Starts `program` with the page's and the plan's descriptors. TN_ERROR_IO. */
tn_status tn_isolation_process_start(const char *program, int page, int plan,
                                     tn_isolation_process *out_process);
/* Whether it has ended; then it is reaped. */
bool tn_isolation_process_is_over(tn_isolation_process *process);
/* Ends it whatever it does, and reaps it. A zeroed one is fine. */
void tn_isolation_process_end(tn_isolation_process *process);

#endif
