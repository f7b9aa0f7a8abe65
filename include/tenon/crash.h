/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crashes in plugins, named: for programs that want a crash to say in which node, kernel, library
 * and callback it happened before the process ends. The library installs no handler unless it is
 * asked to. To live on behind a crash is another matter: TN_ENGINE_CHECKED and TN_ENGINE_ISOLATED
 * (tenon/engine.h).
 */
#ifndef TENON_CRASH_H
#define TENON_CRASH_H

#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_crash_report_options {
    uint32_t size;
    int32_t descriptor; /* the file that gets the text, like 2 for stderr */
    const char *title;  /* before the first line, like "tenon"; null: "tenon" */
    const char *advice; /* the last lines: how to find out more; null: none. Both texts stay for the
                           process's lifetime */
} tn_crash_report_options;

/* From now on a crash of this process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) writes what the
 * thread was doing: the signal, node, operator, kernel, library and callback, and the file in
 * which the instruction lies. Then whoever handled the signal before gets it; by default the
 * process ends as it would have, with the same status and core dump. The handler allocates nothing
 * and takes no lock. The calling thread gets a stack for it, so that the overflow of its own is
 * named too. Calling it again changes the options. `options` may be null: stderr, no advice.
 * TN_ERROR_STATE when the system refuses. [thread: any, best the main one, before any work] */
TN_EXPORT tn_status tn_crash_report_start(const tn_crash_report_options *options);

#ifdef __cplusplus
}
#endif
#endif
