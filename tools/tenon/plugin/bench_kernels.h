/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tenon-kernel-bench said, line by line, as tables or as one JSON document. Starting it is
 * plugin_bench.c's matter; the lines are described in conformance/bench/worker.c.
 */
#ifndef TENON_BENCH_KERNELS_H
#define TENON_BENCH_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One kernel in one combination on the current case. */
typedef struct bench_row {
    char *kernel, *library, *combination, *why; /* why: left out or failed, else null */
    bool is_own, is_failed, is_stable;
    double bytes, best_ns, usual_ns, runs;
} bench_row;

typedef struct bench_machine {
    double threads, operations_a_second, bytes_a_second;
    char *name, *device; /* device: "" is the processor */
} bench_machine;

typedef struct bench_case {
    char *op, *text;
    double number, bytes, operations, copy_bytes_a_second;
    bool is_grown;
    bench_row *rows;
    size_t count, capacity;
} bench_case;

typedef struct bench_kernels {
    bool is_json, is_done, has_open, has_failed;
    bench_machine machine;
    bench_case current; /* printed and emptied when the next begins */
    size_t case_count;
    char *error; /* the first thing that went wrong beside the kernels, or null */
} bench_kernels;

/* Takes one line (changed in place), and prints a case when it is complete; false: no memory. */
bool bench_kernels_take(bench_kernels *all, char *line);
/* Prints what is left, and the end of the document. */
void bench_kernels_end(bench_kernels *all);
void bench_kernels_free(bench_kernels *all);

#endif
