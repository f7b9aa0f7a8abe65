/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A locale with decimal commas, as programs set that speak their user's language: what reads or
 * writes numbers as text by strtod or printf then finds "0" in "0.5". It is made here, for machines
 * have few locales or none.
 */
#ifndef TN_CONFORMANCE_WORKER_PROCESS_COMMAS_H
#define TN_CONFORMANCE_WORKER_PROCESS_COMMAS_H

#include <stdbool.h>

/* The process' numbers have commas from now on; false: this C library reads no such locale. */
bool tn_commas_begin(void);
void tn_commas_end(void); /* numbers are as before */

#endif
