/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine can do at most, measured as a kernel would meet it: on the same threads, with
 * the same footprint. A copy is the least that a kernel can do with its bytes, and chains of
 * multiply-add in registers the most that it can compute.
 */
#include "bench.h"
#include "base/status.h"
#include "device/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define LIMIT_SECONDS 0.2

/* ----------------------------------------------------------------------------------------------
 * copies */

typedef struct copy {
    struct tn_workers *workers;
    tn_thread_pool pool;
    char *from, *to;
    int64_t bytes;
} copy;

static tn_status copy_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const copy *c = user;
    (void)thread;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
    return TN_OK;
}

static tn_status copy_once(void *user) {
    copy *c = user;
    return c->pool.parallel_for(&c->pool, c->bytes, 65536, copy_range, c);
}

static tn_status measure_copy(copy *c, uint32_t threads, double *inout_bytes_a_second) {
    tn_stopwatch watch = {.seconds = LIMIT_SECONDS};
    tn_cpu_pool_init(&c->pool, threads, c->workers, false);
    TN_TRY(tn_stopwatch_measure(&watch, copy_once, c));
    const double found = 2.0 * (double)c->bytes / (watch.best_ns * 1e-9);
    if (found > *inout_bytes_a_second) *inout_bytes_a_second = found;
    return TN_OK;
}

/* Few bytes are copied faster by one thread than by many: the limit is the better of the two. */
tn_status tn_limits_copy(const tn_runtime *runtime, uint32_t threads, size_t bytes,
                         double *out_bytes_a_second) {
    const size_t half = (bytes / 2 + 4096) / 64 * 64;
    copy c = {.workers = tn_runtime_workers(runtime),
              .from = aligned_alloc(64, half),
              .to = aligned_alloc(64, half),
              .bytes = (int64_t)half};
    double best = 0;
    tn_status status = c.from && c.to ? TN_OK : tn_fail_memory("a copy");
    if (status == TN_OK) {
        memset(c.from, 1, half);
        memset(c.to, 2, half);
        status = measure_copy(&c, 1, &best);
    }
    if (status == TN_OK && threads > 1) status = measure_copy(&c, threads, &best);
    if (status == TN_OK) *out_bytes_a_second = best;
    free(c.from);
    free(c.to);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * arithmetic */

/* Twelve independent chains hide the latency of two units of up to six cycles. */
enum { CHAINS = 12, STEPS = 2000, THREADS_AT_MOST = 1024 };

typedef float (*chains_function)(float x, float y);

#ifdef __x86_64__
/* The sum of the chains, so that none of them can be left out. */
__attribute__((target("avx512f"))) static float chains_avx512(float x, float y) {
    __m512 sums[CHAINS], factor = _mm512_set1_ps(x), term = _mm512_set1_ps(y);
    for (int i = 0; i < CHAINS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (int step = 0; step < STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
    }
    for (int i = 1; i < CHAINS; i++)
        sums[0] = _mm512_add_ps(sums[0], sums[i]);
    return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) static float chains_avx2(float x, float y) {
    __m256 sums[CHAINS], factor = _mm256_set1_ps(x), term = _mm256_set1_ps(y);
    for (int i = 0; i < CHAINS; i++)
        sums[i] = _mm256_set1_ps((float)i);
    for (int step = 0; step < STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
    }
    for (int i = 1; i < CHAINS; i++)
        sums[0] = _mm256_add_ps(sums[0], sums[i]);
    return _mm256_cvtss_f32(sums[0]);
}
#endif

/* Four floats at a time, multiplied and then added: what baseline x86-64 has. */
typedef float four __attribute__((vector_size(16)));

static float chains_plain(float x, float y) {
    four sums[CHAINS], factor = {x, x, x, x}, term = {y, y, y, y};
    for (int i = 0; i < CHAINS; i++)
        sums[i] = factor * (float)i;
    for (int step = 0; step < STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            sums[i] = sums[i] * factor + term;
    }
    for (int i = 1; i < CHAINS; i++)
        sums[0] += sums[i];
    return sums[0][0];
}

typedef struct arithmetic {
    struct tn_workers *workers;
    tn_thread_pool pool;
    chains_function chains;
    volatile float x, y, sink[THREADS_AT_MOST]; /* the compiler is not to know the numbers */
} arithmetic;

static tn_status compute_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    arithmetic *a = user;
    for (int64_t i = begin; i < end; i++)
        a->sink[thread % THREADS_AT_MOST] = a->chains(a->x, a->y);
    return TN_OK;
}

static tn_status compute_once(void *user) {
    arithmetic *a = user;
    return a->pool.parallel_for(&a->pool, 16 * (int64_t)a->pool.threads, 16, compute_range, a);
}

static tn_status measure_arithmetic(arithmetic *a, int lanes, uint32_t threads,
                                    double *inout_operations_a_second) {
    tn_stopwatch watch = {.seconds = LIMIT_SECONDS};
    tn_cpu_pool_init(&a->pool, threads, a->workers, false);
    TN_TRY(tn_stopwatch_measure(&watch, compute_once, a));
    const double operations = 2.0 * lanes * CHAINS * STEPS * 16.0 * (double)a->pool.threads;
    const double found = operations / (watch.best_ns * 1e-9);
    if (found > *inout_operations_a_second) *inout_operations_a_second = found;
    return TN_OK;
}

tn_status tn_limits_arithmetic(const tn_runtime *runtime, uint32_t threads,
                               double *out_operations_a_second, const char **out_name) {
    arithmetic a = {
        .workers = tn_runtime_workers(runtime), .chains = chains_plain, .x = 0.999f, .y = 0.001f};
    int lanes = 4;
    double best = 0;
    *out_name = "multiply and add of 4 floats";
#ifdef __x86_64__
    if (tn_runtime_has_features(runtime, "avx512f")) {
        a.chains = chains_avx512;
        lanes = 16;
        *out_name = "FMA of 16 floats";
    } else if (tn_runtime_has_features(runtime, "avx2,fma")) {
        a.chains = chains_avx2;
        lanes = 8;
        *out_name = "FMA of 8 floats";
    }
#endif
    TN_TRY(measure_arithmetic(&a, lanes, 1, &best));
    if (threads > 1) TN_TRY(measure_arithmetic(&a, lanes, threads, &best));
    *out_operations_a_second = best;
    return TN_OK;
}
