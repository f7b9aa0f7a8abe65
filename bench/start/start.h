/* SPDX-License-Identifier: Apache-2.0 */
/* What both programs of the start share: their input, and the line that they print. */
#ifndef TENON_BENCH_START_H
#define TENON_BENCH_START_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double start_now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* `count` floats of a file, or 0.5 each without one; null when they cannot be had. */
static inline float *start_input(const char *path, size_t count) {
    float *input = malloc(count * sizeof(float));
    FILE *file = path && input ? fopen(path, "rb") : NULL;
    size_t have = 0;
    if (file) {
        have = fread(input, sizeof(float), count, file);
        fclose(file);
    }
    for (size_t i = have; input && !path && i < count; i++)
        input[i] = 0.5f;
    if (path && have < count) {
        free(input);
        return NULL;
    }
    return input;
}

/* When the first result was there (milliseconds of the monotonic clock), the processor time and
 * the memory until then (kB: peak, private and of files), and a few numbers of the result. */
static inline void start_report(const float *output, size_t count) {
    const double at = start_now(CLOCK_MONOTONIC), worked = start_now(CLOCK_PROCESS_CPUTIME_ID);
    unsigned long peak = 0, anonymous = 0, files = 0;
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    while (status && fgets(line, sizeof(line), status)) {
        if (!strncmp(line, "VmHWM:", 6)) peak = strtoul(line + 6, NULL, 10);
        if (!strncmp(line, "RssAnon:", 8)) anonymous = strtoul(line + 8, NULL, 10);
        if (!strncmp(line, "RssFile:", 8)) files = strtoul(line + 8, NULL, 10);
    }
    if (status) fclose(status);
    printf("%.6f %.6f %lu %lu %lu", at, worked, peak, anonymous, files);
    for (size_t i = 0; i < count && i < 8; i++)
        printf(" %.7g", (double)output[i]);
    printf("\n");
    fflush(stdout);
}

#endif
