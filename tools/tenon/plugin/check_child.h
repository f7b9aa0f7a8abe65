/* SPDX-License-Identifier: Apache-2.0 */
/* The process of tenon-check that runs now, and its lines as they come. */
#ifndef TENON_TOOL_PLUGIN_CHECK_CHILD_H
#define TENON_TOOL_PLUGIN_CHECK_CHILD_H

#include "plugin/check_run.h"

#include <sys/types.h>

enum { CHECK_LINE_LIMIT = 16384 };

typedef struct check_child {
    pid_t process;
    int from;
    char line[CHECK_LINE_LIMIT];
    size_t length;
    bool is_watched; /* whether it still gets anywhere: not where it waits for a device */
    char waits[128]; /* what it waits for without an end; "": it does not */
} check_child;

/* Seconds of the monotonic clock. */
double check_now(void);
/* Starts one behind the first from - 1 tests; false: errno says why not. */
bool check_child_start(check_child *c, const check_options *options, size_t from);
/* The next line without its end, within `seconds`; 1: there is one, 0: the end, -1: too late, or it
 * would wait for ever. */
int check_child_read(check_child *c, double seconds, char *out_line);
/* How it ended; it is killed when it has not. */
int check_child_stop(check_child *c);

#endif
