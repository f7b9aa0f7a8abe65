/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a loop's second thread takes to begin: nanoseconds from the call of parallel_for until
 * the body runs on the other thread, and until the call returns, when the caller has paused before
 * each loop for the time that begins the row. A worker that looks for work is there at once, one
 * that sleeps is woken by the operating system; between two kernels of a run lie microseconds.
 *
 *     tenon-bench-loops [LOOPS]
 *
 * For the runtime's workers and for an OpenMP team, each of two threads; least, median and 99th
 * percentile. The caller works on its part until the other one has begun, at most 20 ms; loops in
 * which it has not are counted.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/workers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_LOOPS = 100000, PATIENCE_NS = 20000000 };

typedef struct loop {
    uint64_t begin_ns;
    atomic_ullong other_ns; /* when the other thread began; 0: not yet */
} loop;

static tn_status note_begin(void *user, int64_t begin, int64_t end, uint32_t thread) {
    loop *now = user;
    (void)begin, (void)end;
    if (thread > 0) {
        unsigned long long expected = 0;
        atomic_compare_exchange_strong(&now->other_ns, &expected, tn_now_ns());
        return TN_OK;
    }
    while (atomic_load_explicit(&now->other_ns, memory_order_relaxed) == 0 &&
           tn_now_ns() < now->begin_ns + PATIENCE_NS)
        tn_pause();
    return TN_OK;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *what, uint64_t *ns, int count) {
    qsort(ns, (size_t)count, sizeof(*ns), compare);
    printf("  %s least %.2f median %.2f p99 %.2f us", what, (double)ns[0] * 1e-3,
           (double)ns[count / 2] * 1e-3, (double)ns[(int)(0.99 * count)] * 1e-3);
}

static void pause_for(uint64_t ns) {
    const uint64_t until = tn_now_ns() + ns;
    while (tn_now_ns() < until)
        tn_pause();
}

static void measure(const tn_thread_pool *pool, const char *name, uint64_t pause_ns, int loops) {
    static uint64_t begins[MOST_LOOPS], ends[MOST_LOOPS];
    int count = 0, alone = 0;
    for (int i = 0; i < loops; i++) {
        loop now = {0};
        pause_for(pause_ns);
        now.begin_ns = tn_now_ns();
        if (pool->parallel_for(pool, 2, 1, note_begin, &now) != TN_OK) return;
        const uint64_t end = tn_now_ns(), other = atomic_load(&now.other_ns);
        if (other == 0) {
            alone++;
            continue;
        }
        begins[count] = other - now.begin_ns;
        ends[count++] = end - now.begin_ns;
    }
    printf("%-8s after %4.0f us:", name, (double)pause_ns * 1e-3);
    if (count > 0) {
        print_times("begins", begins, count);
        print_times("; ends", ends, count);
    }
    printf("; alone %d of %d\n", alone, loops);
}

int main(int argument_count, char **arguments) {
    static const uint64_t pauses[] = {1000, 10000, 40000, 200000, 1000000};
    const int loops = argument_count > 1 ? atoi(arguments[1]) : 2000;
    tn_workers *workers = NULL;
    if (loops < 1 || loops > MOST_LOOPS)
        return fprintf(stderr, "usage: tenon-bench-loops [LOOPS up to %d]\n", MOST_LOOPS), 2;
    if (tn_workers_create(tn_allocator_default(), &workers) != TN_OK) return 1;
    for (int is_openmp = 0; is_openmp < 2; is_openmp++) {
        tn_thread_pool pool;
        tn_cpu_pool_init(&pool, 2, workers, is_openmp);
        for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++)
            measure(&pool, is_openmp ? "OpenMP" : "workers", pauses[i], loops);
    }
    tn_workers_destroy(workers);
    return 0;
}
