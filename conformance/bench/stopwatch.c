/* SPDX-License-Identifier: Apache-2.0 */
/* Repeating until the shortest time is stable; see bench.h. */
#include "bench.h"
#include "base/clock.h"
#include "base/status.h"

#include <stdlib.h>

enum { SAMPLES = 4096 };

#define SAMPLE_NS     20e3 /* a look at the clock costs a five-hundredth of that */
#define LEAST_NS      20e6 /* what is measured at least, where the time allows it */
#define LEAST_SAMPLES 5

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct host_runs {
    tn_status (*body)(void *user);
    void *user;
    uint64_t repeats;
} host_runs;

/* One sample: `repeats` runs between two looks at the clock. */
static tn_status sample_host(void *user, double *out_ns) {
    const host_runs *runs = user;
    const double begin = (double)tn_now_ns();
    for (uint64_t i = 0; i < runs->repeats; i++) {
        const tn_status status = runs->body(runs->user);
        if (status != TN_OK) return status;
    }
    *out_ns = ((double)tn_now_ns() - begin) / (double)runs->repeats;
    return TN_OK;
}

static tn_status fill(tn_stopwatch *watch, tn_status (*sample)(void *user, double *out_ns),
                      void *user, uint64_t repeats, double *samples, size_t *inout_count) {
    double ns = 0, improved_at = 0, elapsed = 0;
    size_t count = *inout_count;
    tn_status status = TN_OK;
    const double begin = (double)tn_now_ns(), most = watch->seconds * 1e9;
    while (status == TN_OK && count < SAMPLES && (count == 0 || ns < most) && elapsed < most &&
           !watch->is_stable) {
        status = sample(user, &ns);
        if (status != TN_OK) break;
        elapsed = (double)tn_now_ns() - begin;
        samples[count++] = ns;
        watch->runs += repeats;
        if (ns < watch->best_ns * 0.99) improved_at = elapsed;
        if (count == 1 || ns < watch->best_ns) watch->best_ns = ns;
        watch->is_stable =
            elapsed >= LEAST_NS && count > LEAST_SAMPLES && improved_at * 2 < elapsed;
    }
    *inout_count = count;
    return status;
}

static void settle(tn_stopwatch *watch, double *samples, size_t count) {
    qsort(samples, count, sizeof(*samples), compare);
    watch->usual_ns = samples[count / 2];
}

tn_status tn_stopwatch_sample(tn_stopwatch *watch, tn_status (*sample)(void *user, double *out_ns),
                              void *user, uint64_t repeats) {
    double *samples = calloc(SAMPLES, sizeof(*samples));
    size_t count = 0;
    if (!samples) return tn_fail_memory("the times");
    watch->is_stable = false;
    watch->runs = 0;
    const tn_status status = fill(watch, sample, user, repeats, samples, &count);
    settle(watch, samples, count);
    free(samples);
    return status;
}

tn_status tn_stopwatch_measure(tn_stopwatch *watch, tn_status (*body)(void *user), void *user) {
    host_runs runs = {body, user, 1};
    double *samples = calloc(SAMPLES, sizeof(*samples));
    size_t count = 1;
    if (!samples) return tn_fail_memory("the times");
    watch->is_stable = false;
    tn_status status = sample_host(&runs, &samples[0]);
    const double ns = watch->best_ns = samples[0];
    watch->runs = 1;
    runs.repeats = ns > 0 && ns < SAMPLE_NS ? (uint64_t)(SAMPLE_NS / ns) + 1 : 1;
    if (status == TN_OK && ns < watch->seconds * 1e9)
        status = fill(watch, sample_host, &runs, runs.repeats, samples, &count);
    settle(watch, samples, count);
    free(samples);
    return status;
}
