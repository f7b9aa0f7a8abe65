/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The networks of the tests of the run-only library: write_plans.c builds them with the whole
 * library and keeps what they compute, test_run_only.c loads them with the run-only one.
 */
#ifndef TN_TESTS_RUN_ONLY_NETWORKS_H
#define TN_TESTS_RUN_ONLY_NETWORKS_H

#include <stdio.h>
#include <tenon/tenon.h>

/* The files of a network, NAME.plan and NAME.out. */
#define RUN_ONLY_FILE(name, ending) RUN_ONLY_FOLDER "/" name ending

typedef struct run_only_bytes {
    unsigned char *data; /* freed by the caller */
    size_t count;
} run_only_bytes;

/* Runs the engine on inputs that depend on their shapes alone; unknown extents become `extent`.
 * All outputs, one after the other; TN_ERROR_MEMORY, or what the run fails with. */
tn_status run_only_compute(tn_engine *engine, int64_t extent, run_only_bytes *out_bytes);

#endif
