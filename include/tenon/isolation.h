/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper of isolated running (TN_ENGINE_ISOLATED in tenon/engine.h) and of isolated reading
 * (TN_IMPORT_ISOLATED in tenon/import.h): what the program tenon-isolate, or one of your own that
 * `isolation_helper` of tn_engine_options or tn_import_options names, does.
 */
#ifndef TENON_ISOLATION_H
#define TENON_ISOLATION_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The whole of a helper's main: runs the kernels, or reads the model, that the process which
 * started it asks for, until that one has no more use for it or is gone. Answers the exit code: 0;
 * 2 when nobody started it so (it says so on stderr). [thread: the main one, once] */
TN_EXPORT int tn_isolation_serve(int argument_count, char **arguments);

#ifdef __cplusplus
}
#endif
#endif
