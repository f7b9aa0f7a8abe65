/* SPDX-License-Identifier: Apache-2.0 */
/* The time of each step of a run; see bench_profile.h. */
#include "bench_profile.h"
#include "report/report_page.h"
#include "text/json_print.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

int bench_profile_run(tn_context *context, double seconds) {
    if (tn_context_set_profiling(context, true) != TN_OK) return cli_fail("bench");
    const double begin = bench_now_ms();
    for (int i = 0; i < 3 || (bench_now_ms() - begin < seconds * 500 && i < 1000); i++) {
        if (tn_context_run(context) != TN_OK) return cli_fail("bench");
    }
    return EXIT_DONE;
}

void bench_profile_print(const tn_context *context) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < tn_context_profile_count(context); i++)
        total += tn_context_profile(context, i)->minimum_ns;
    printf("%-28s %-20s %-20s %12s %6s\n", "node", "operator", "kernel", "min_us", "%");
    for (uint32_t i = 0; i < tn_context_profile_count(context); i++) {
        const tn_profile_entry *entry = tn_context_profile(context, i);
        printf("%-28.28s %-20s %-20s %12.2f %6.1f\n", entry->node, entry->op, entry->kernel,
               (double)entry->minimum_ns / 1e3,
               100.0 * (double)entry->minimum_ns / (double)(total ? total : 1));
    }
}

void bench_profile_print_json(const tn_context *context) {
    printf("\"profile\": [");
    for (uint32_t i = 0; i < tn_context_profile_count(context); i++) {
        const tn_profile_entry *entry = tn_context_profile(context, i);
        json_print_member(i > 0 ? ", {" : "{", "node", entry->node);
        json_print_member(", ", "operator", entry->op);
        json_print_member(", ", "kernel", entry->kernel);
        printf(", \"min_ns\": %llu, \"total_ns\": %llu, \"runs\": %llu}",
               (unsigned long long)entry->minimum_ns, (unsigned long long)entry->total_ns,
               (unsigned long long)entry->runs);
    }
    printf("], ");
}

/* The context's report with the times of whole runs as its first member. */
static char *join(const char *report, const bench_times *times) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return NULL;
    fprintf(file,
            "{\"run\": {\"median_ms\": %.6f, \"min_ms\": %.6f, \"p99_ms\": %.6f, \"runs\": %zu},%s",
            times->median_ms, times->min_ms, times->p99_ms, times->runs, report + 1);
    if (fclose(file) == 0) return text;
    free(text);
    return NULL;
}

int bench_profile_write_page(tn_runtime *runtime, const tn_context *context, const char *model,
                             const bench_times *times, const char *path) {
    char *report = NULL;
    if (tn_context_report(context, &report) != TN_OK) return cli_fail(model);
    char *joined = join(report, times);
    tn_text_free(runtime, report);
    if (!joined) return cli_fault("no memory for the report");
    const bool is_written = report_page_write(path, model, "run", joined);
    free(joined);
    return is_written ? EXIT_DONE : EXIT_FAULT;
}
