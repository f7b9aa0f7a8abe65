/* SPDX-License-Identifier: Apache-2.0 */
/* tenon doctor MODEL|PLAN: whether what it needs is there (doctor_file.c). */
#ifndef TENON_DOCTOR_H
#define TENON_DOCTOR_H

#include "cli/cli.h"

/* Prints it; EXIT_FAULT when something is missing. */
int doctor_file(tn_runtime *runtime, const char *path, const cli_options *options);

/* The cores that this process may use. */
long doctor_core_count(void);

#endif
