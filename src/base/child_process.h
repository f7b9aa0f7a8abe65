/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is run, waited for and listened to; no shell is between. */
#ifndef TN_BASE_CHILD_PROCESS_H
#define TN_BASE_CHILD_PROCESS_H

#include "base/text.h"

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
