/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans side by side in one process: each is run a few times in every round, so that what changes
 * the machine's speed meets all of them. The first run of a round warms the caches and does not
 * count. A line a plan: the shortest and the median run, and the shortest time that the processor
 * worked on a run, which on one thread holds on a busy machine, too (on several it counts the
 * calling thread's).
 *
 *     tenon-bench-plans [--threads N] [--rounds R] PLAN...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <time.h>

enum { RUNS = 3 };

typedef struct timed_plan {
    const char *path;
    tn_engine *engine;
    tn_context *context;
    double *times_ms;
    double least_worked_ms;
    size_t count;
} timed_plan;

static double now_ms(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* Inputs of zeros in 32-bit floats, in the shapes that the plan is made for. */
static tn_status bind_inputs(timed_plan *plan) {
    for (uint32_t i = 0; i < tn_engine_input_count(plan->engine); i++) {
        const tn_port_info *info = tn_engine_input(plan->engine, i);
        const tn_profile_input *range = tn_engine_profile(plan->engine, i);
        uint64_t count = 1;
        if (!range || info->type != TN_F32) return TN_ERROR_UNSUPPORTED;
        for (uint32_t axis = 0; axis < range->rank; axis++)
            count *= (uint64_t)range->optimum[axis];
        float *data = calloc(count, sizeof *data);
        if (!data) return TN_ERROR_MEMORY;
        tn_status status = tn_context_set_shape(plan->context, i, range->rank, range->optimum);
        if (status == TN_OK)
            status = tn_context_bind_input(plan->context, i, data, count * sizeof *data);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static tn_status open_plan(tn_runtime *runtime, uint32_t threads, int rounds, timed_plan *plan) {
    const tn_engine_options options = {.size = sizeof options, .threads = threads};
    plan->times_ms = calloc((size_t)rounds * RUNS, sizeof *plan->times_ms);
    if (!plan->times_ms) return TN_ERROR_MEMORY;
    tn_status status = tn_engine_load(runtime, plan->path, &options, &plan->engine);
    if (status == TN_OK) status = tn_context_create(plan->engine, &plan->context);
    return status == TN_OK ? bind_inputs(plan) : status;
}

static tn_status run_round(timed_plan *plan) {
    tn_status status = tn_context_run(plan->context);
    for (int i = 0; i < RUNS && status == TN_OK; i++) {
        const double begin = now_ms(CLOCK_MONOTONIC), work = now_ms(CLOCK_THREAD_CPUTIME_ID);
        status = tn_context_run(plan->context);
        const double worked = now_ms(CLOCK_THREAD_CPUTIME_ID) - work;
        if (plan->count == 0 || worked < plan->least_worked_ms) plan->least_worked_ms = worked;
        plan->times_ms[plan->count++] = now_ms(CLOCK_MONOTONIC) - begin;
    }
    return status;
}

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_plan(timed_plan *plan) {
    qsort(plan->times_ms, plan->count, sizeof *plan->times_ms, compare_times);
    printf("%s min_ms=%.4f median_ms=%.4f worked_ms=%.4f runs=%zu\n", plan->path, plan->times_ms[0],
           plan->times_ms[plan->count / 2], plan->least_worked_ms, plan->count);
}

static void close_plan(timed_plan *plan) {
    tn_context_destroy(plan->context);
    tn_engine_release(plan->engine);
    free(plan->times_ms);
}

int main(int count, char **arguments) {
    uint32_t threads = 1;
    int rounds = 50, first = 1;
    tn_runtime *runtime = NULL;
    for (; first + 1 < count && strncmp(arguments[first], "--", 2) == 0; first += 2) {
        const int number = atoi(arguments[first + 1]);
        if (strcmp(arguments[first], "--threads") == 0 && number > 0)
            threads = (uint32_t)number;
        else if (strcmp(arguments[first], "--rounds") == 0 && number > 0)
            rounds = number;
        else
            first = count;
    }
    const int plan_count = first < count ? count - first : 0;
    timed_plan *plans = calloc((size_t)plan_count + 1, sizeof *plans);
    if (plan_count == 0 || !plans) {
        fprintf(stderr, "usage: tenon-bench-plans [--threads N] [--rounds R] PLAN...\n");
        return 2;
    }
    tn_status status = tn_runtime_create(NULL, &runtime);
    for (int i = 0; i < plan_count && status == TN_OK; i++) {
        plans[i].path = arguments[first + i];
        status = open_plan(runtime, threads, rounds, &plans[i]);
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < plan_count && status == TN_OK; i++)
            status = run_round(&plans[(i + round) % plan_count]);
    if (status != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_last_error()->where, tn_last_error()->message);
    for (int i = 0; i < plan_count; i++) {
        if (status == TN_OK) print_plan(&plans[i]);
        close_plan(&plans[i]);
    }
    free(plans);
    tn_runtime_release(runtime);
    return status == TN_OK ? 0 : 1;
}
