/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `tenon plugin`, one file each. argv[0] is the verb. */
#ifndef TENON_PLUGIN_COMMAND_H
#define TENON_PLUGIN_COMMAND_H

#include "cli/cli.h"

int plugin_new(int argc, char **argv);
int plugin_build(int argc, char **argv);
int plugin_check(int argc, char **argv);
int plugin_bench(int argc, char **argv);
int plugin_list(tn_runtime *runtime, const cli_options *options);
int plugin_missing(tn_runtime *runtime, const cli_options *options);
int plugin_show(tn_runtime *runtime, const char *name, const cli_options *options);

/* The path of a program that lies beside this one, or in the package's own folder
 * (plugin_check.c). */
bool plugin_find_program(const char *name, char *path, size_t bytes);

#endif
