/* SPDX-License-Identifier: Apache-2.0 */
/* The time of each step of a run, for tenon bench --profile: as a table, as JSON, as a page. */
#ifndef TENON_BENCH_PROFILE_H
#define TENON_BENCH_PROFILE_H

#include "cli/cli.h"

typedef struct bench_times {
    double median_ms, min_ms, p99_ms;
    size_t runs;
} bench_times;

double bench_now_ms(void);
/* Runs the context with profiling for about half of `seconds`. */
int bench_profile_run(tn_context *context, double seconds);
void bench_profile_print(const tn_context *context);
/* The member "profile" of a JSON document, with a comma after it. */
void bench_profile_print_json(const tn_context *context);
/* The page of the context's report. */
int bench_profile_write_page(tn_runtime *runtime, const tn_context *context, const char *model,
                             const bench_times *times, const char *path);

#endif
