/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of other programs: started (never by a bare fork, since the caller may have teams of
 * threads; no shell is between), watched and ended. And a program that is run to its end and
 * listened to.
 */
#ifndef TN_BASE_PROCESS_CHILD_PROCESS_H
#define TN_BASE_PROCESS_CHILD_PROCESS_H

#include "base/text.h"

#include <sys/types.h>

typedef struct tn_child_descriptor {
    int from, to; /* ours, and its own */
} tn_child_descriptor;
typedef struct tn_child_start {
    char *const *arguments; /* the program first; ends with null */
    bool is_on_path;        /* the program is looked for on PATH */
    bool has_group;         /* a group of its own, so that what it starts can be ended with it */
    bool has_empty_input;
    const tn_child_descriptor *descriptors;
    size_t descriptor_count;
} tn_child_start;
/* Starts it, with no signal blocked or ignored. 0, or an errno. */
int tn_child_process_start(const tn_child_start *start, pid_t *out_child);
/* Whether it has ended; then it is reaped. *out_how: as waitpid tells it, -1: nobody knows. */
bool tn_child_process_has_ended(pid_t child, int *out_how);
/* Ends it (or its group) whatever it does, and reaps it. */
void tn_child_process_end(pid_t child, bool has_group);
/* "was ended by signal 11 (Segmentation fault)", "called exit(0)" */
void tn_child_process_describe(int how, char *text, size_t bytes);

typedef struct tn_child_process {
    char *const *arguments; /* the program first, looked for on PATH; ends with null */
    double seconds;         /* then it is killed, with all that it started */
    size_t output_limit;    /* of what is kept; the rest is read and forgotten */
} tn_child_process;

/* Runs it with an empty standard input; both outputs go into `output`, zero bytes as '?'.
 * *out_exit_code gets what it exited with, or 128 and the signal that ended it. TN_ERROR_NOT_FOUND
 * (no such program, or it cannot be run), TN_ERROR_PLUGIN (killed: it took too long),
 * TN_ERROR_MEMORY, TN_ERROR_IO (no pipe or process to be had). */
tn_status tn_child_process_run(const tn_child_process *process, tn_text *output,
                               int *out_exit_code);

#endif
