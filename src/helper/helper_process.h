/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper process, a program of its own that does what might crash or never end: its descriptors
 * and its life. Processes are base/process/child_process.h's matter; what is said to it is that of
 * isolation/ (kernels) and of import/ (readers of models).
 */
#ifndef TN_HELPER_HELPER_PROCESS_H
#define TN_HELPER_HELPER_PROCESS_H

#include "base/memory.h"

#include <sys/types.h>

typedef struct tn_helper_process {
    pid_t id;   /* 0: there is none */
    int socket; /* ours; the process ends itself when it is closed */
    bool is_over, has_group;
    int how; /* as waitpid says it; -1: nobody knows */
} tn_helper_process;

/* The helper beside this library: DIR/tenon/tenon-isolate, DIR/../bin/tenon-isolate; or `named`,
 * where that is not null. In `arena`. TN_ERROR_NOT_FOUND. */
tn_status tn_helper_program(tn_arena *arena, const char *named, const char **out_path);

/* The helper's file descriptors: the socket, and two that mean what its work says. */
enum { TN_HELPER_SOCKET = 3, TN_HELPER_FIRST = 4, TN_HELPER_SECOND = 5 };
/* Starts `program` for some work ("serve"), in a process group of its own where it `has_group`.
 * TN_ERROR_IO. */
tn_status tn_helper_process_start(const char *program, const char *work, bool has_group, int first,
                                  int second, tn_helper_process *out_process);
/* Whether it has ended; then it is reaped. */
bool tn_helper_process_is_over(tn_helper_process *process);
/* Ends it whatever it does, and reaps it. A zeroed one is fine. */
void tn_helper_process_end(tn_helper_process *process);

/* --- in the helper --- */
/* Ends the process when the socket's other end is closed, whatever the rest of it does: a thread
 * looks. (A signal at the parent's death would come at the end of the thread that made the helper,
 * which is another thing.) False: no thread. */
bool tn_helper_watch(void);
/* The memory that TN_HELPER_FIRST is, which both sides read and write; null: there is none, or less
 * than `bytes`. It stays until the process ends. */
void *tn_helper_map_page(size_t bytes);
/* The work of a helper that reads a model (import/isolated_serve.c; run_only/ has none). The
 * program's exit code. */
int tn_helper_read(void);

#endif
