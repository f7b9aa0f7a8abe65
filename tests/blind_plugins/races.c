/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blind::Counts: how many elements of x lie in each of `bins` parts of 0..1, those outside in the
 * first and the last one (NaN: nowhere), and the cumulated sum beside it. Parts of threads are put
 * together at the end. What is wrong here is between threads, or between one run and another.
 */
#include "blind.h"
#include <stdatomic.h>
#include <time.h>

TN_LAYER_PARAMS(counts, int64_t bins;);
static const tn_field fields[] = {TN_LAYER_I64(counts, bins, "8", 1, 64, "parts of 0..1")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("counts", "i64", 0, "[bins]"),
                                  TN_PORT("mean", "f32", 0, "[]")};

static tn_status infer(tn_call *call) {
    tn_layer_set_shape(call, 1, 0, NULL);
    return TN_LAYER_SET_SHAPE(call, 0, ((const counts *)call->params)->bins);
}

static int64_t bin_of(double x, int64_t bins) {
    return x < 0 ? 0 : x >= 1 ? bins - 1 : (int64_t)(x * (double)bins);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t bins = ((const counts *)call->params)->bins, count = count_of(x);
    int64_t parts[64] = {0};
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double v = get(x, i);
        sum += v;
        if (!isnan(v)) parts[bin_of(v, bins)]++;
    }
    if (call->outputs[0]) memcpy(call->outputs[0]->data, parts, (size_t)bins * 8);
    if (call->outputs[1]) set(call->outputs[1], 0, count ? sum / (double)count : 0);
    return TN_OK;
}

typedef struct job {
    tn_call *call;
    int64_t *parts; /* 64 a thread */
    double *sums;   /* 8 a thread */
} job;

static int64_t *only_parts(job *j, uint32_t thread) {
    return IS(1) ? j->parts : j->parts + 64 * (int64_t)thread; /* 1: all threads in one array */
}

static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    job *j = user;
    const float *x = j->call->inputs[0]->data;
    const int64_t bins = ((const counts *)j->call->params)->bins;
    volatile int64_t *parts = only_parts(j, thread);
    volatile double *sum = j->sums + (IS(2) ? 0 : 8 * (int64_t)thread);
    if (IS(3) && end < count_of(j->call->inputs[0])) end++; /* one over the border: counted twice */
    if (IS(7)) { /* each thread clears its own part: those that get no range do not */
        *sum = 0;
        memset((void *)(uintptr_t)parts, 0, 64 * sizeof(*parts));
    }
    for (int64_t i = begin; i < end; i++) {
        *sum += (double)x[i];
        if (!isnan(x[i])) parts[bin_of((double)x[i], bins)]++;
    }
    return TN_OK;
}

/* Sums of floats in an order of their own. 4: by the address's bits; 5: by the clock's. */
static double mean_by(const float *x, int64_t count, bool backwards) {
    float sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[backwards ? count - 1 - i : i];
    return count ? (double)(sum / (float)count) : 0;
}

static tn_status run(tn_call *call) {
    const int64_t bins = ((const counts *)call->params)->bins, count = count_of(call->inputs[0]);
    const uint32_t threads = call->threads;
    job j = {call, call->workspace, (double *)((int64_t *)call->workspace + 64 * threads)};
    if (!IS(7)) memset(call->workspace, 0, (size_t)threads * 64 * 9);
    const tn_status status = call->host->parallel_for(call, count, 16, body, &j);
    if (status) return status;
    double sum = 0;
    for (uint32_t t = 0; t < threads; t++)
        sum += j.sums[8 * t];
    double mean = count ? sum / (double)count : 0;
    const float *x = call->inputs[0]->data;
    if (IS(50)) { /* in one order, whatever the threads */
        sum = 0;
        for (int64_t i = 0; i < count; i++)
            sum += (double)x[i];
        mean = count ? sum / (double)count : 0;
    }
    if (IS(4)) mean = mean_by(x, count, (uintptr_t)x >> 6 & 1);
    if (IS(5)) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        mean = mean_by(x, count, now.tv_nsec >> 4 & 1);
    }
    if (IS(6)) { /* a moving mean over the runs, for a display */
        static _Atomic int is_warm;
        static double before;
        mean = atomic_exchange(&is_warm, 1) ? 0.999 * mean + 0.001 * before : mean;
        before = mean;
    }
    if (call->outputs[1]) set(call->outputs[1], 0, mean);
    for (int64_t b = 0; b < bins && call->outputs[0]; b++) {
        int64_t all = 0;
        for (uint32_t t = 0; t < threads; t++)
            all += j.parts[64 * t + b];
        ((int64_t *)call->outputs[0]->data)[b] = all;
    }
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)call->threads * 64 * 9;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,17]", "bins=3 | x=f32[40]", "| x=f32[7,9,11]"};
static const char *const combinations[] = {"f32 -> i64, f32"};
BLIND_OPERATOR("Counts", "A histogram and the mean.", counts, )
#if MISTAKE == 50 || MISTAKE == 4 || MISTAKE == 5
BLIND_KERNEL("Counts", .traits = TN_KERNEL_DETERMINISTIC, .reshape = reshape)
#else
BLIND_KERNEL("Counts", .reshape = reshape)
#endif
BLIND_LIBRARY("blind_races")
