/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which options have a use, by subcommand, by the kind of file and by the other options: an option
 * without one is an error that names it, before any work is done.
 */
#ifndef TENON_OPTION_USE_H
#define TENON_OPTION_USE_H

#include "cli/cli.h"

/* Checks the file (file_kind.h) of `options->arguments`, where the subcommand has one, and each
 * option that was given. Notes in `options` whether models will be read. EXIT_DONE, or the exit
 * code after having said why. */
int option_use_check(cli_options *options);

#endif
