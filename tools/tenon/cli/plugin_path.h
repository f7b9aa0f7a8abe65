/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of TENON_PLUGIN_PATH, whose libraries are loaded for models and for lists of what
 * there is. (Of a plan, the core finds the libraries there by their content.) */
#ifndef TENON_PLUGIN_PATH_H
#define TENON_PLUGIN_PATH_H

#include "cli.h"

/* Loads every library of every folder, behind those that the options named. One that does not load,
 * or has what another one gave already, is a warning; a folder that is not there is passed over. */
void plugin_path_load(tn_runtime *runtime, const cli_options *options);
/* A line each: the folder, and how many libraries it has, or that it is not there. */
void plugin_path_print(void);

#endif
