/* SPDX-License-Identifier: Apache-2.0 */
/* An empty folder that is the process' working folder, and its TMPDIR, for a moment: what is in it
 * afterwards was left there. */
#ifndef TN_CONFORMANCE_WORKER_PROCESS_FOLDER_H
#define TN_CONFORMANCE_WORKER_PROCESS_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tn_folder {
    char path[PATH_MAX];
    char before[PATH_MAX]; /* TMPDIR; "": there was none */
    int working;           /* the folder that was the process' */
} tn_folder;

/* Both by the main thread, with no other one at work. False: no folder could be made. */
bool tn_folder_enter(tn_folder *folder);
/* Goes back and takes the folder away. *out_name is the name of something that was in it; "":
 * nothing. */
void tn_folder_leave(tn_folder *folder, char *out_name, size_t bytes);

#endif
