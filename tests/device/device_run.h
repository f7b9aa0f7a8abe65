/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of device_run.c: each prints one line and answers the program's exit. */
#ifndef TN_TESTS_DEVICE_RUN_H
#define TN_TESTS_DEVICE_RUN_H

#include "network.h"

double device_run_now_us(void);

/* --- steady.c --- */
int device_run_steady(network_options *options, const char *device, int argc, char **argv);
int device_run_profile(network_options *options, const char *device, int argc, char **argv);
/* --- caller.c --- */
int device_run_caller(network_options *options, const char *device, int argc, char **argv);
int device_run_pair(network_options *options, const char *device, int argc, char **argv);
/* --- abilities.c --- */
int device_run_abilities(network_options *options, const char *device, int argc, char **argv);
/* --- memory.c --- */
int device_run_memory(network_options *options, const char *device, int argc, char **argv);
/* --- shared.c --- */
int device_run_shared(network_options *options, const char *device, int argc, char **argv);
/* --- bad.c --- */
int device_run_bad(network_options *options, const char *device, int argc, char **argv);

#endif
