/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What later runs cost beside their work: the device's table is replaced by one that counts, for
 * the engine and for its kernels. And the profile beside the clock. Declared in device_run.h.
 */
#include "device_run.h"

#include "engine/engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 20, WARM_RUNS = 3, TIMED_RUNS = 100 };

/* One program, one device: what it was, what counts instead. */
static tn_device real, counting;
static struct counts {
    unsigned allocations, deallocations, pinned, streams, events, waits, captures, graphs;
} counts;

static tn_status count_allocate(const tn_device *device, uint64_t bytes, void *stream,
                                void **out_memory) {
    counts.allocations++;
    return real.allocate(device, bytes, stream, out_memory);
}
static void count_deallocate(const tn_device *device, void *memory, void *stream) {
    counts.deallocations++;
    real.deallocate(device, memory, stream);
}
static tn_status count_host_allocate(const tn_device *device, uint64_t bytes, void **out_memory) {
    counts.pinned++;
    return real.host_allocate(device, bytes, out_memory);
}
static tn_status count_stream(const tn_device *device, void **out_stream) {
    counts.streams++;
    return real.stream_create(device, out_stream);
}
static tn_status count_event(const tn_device *device, void **out_event) {
    counts.events++;
    return real.event_create(device, out_event);
}
static tn_status count_wait(const tn_device *device, void *stream) {
    counts.waits++;
    return real.stream_wait(device, stream);
}
static tn_status count_capture(const tn_device *device, void *stream) {
    counts.captures++;
    return real.capture_begin(device, stream);
}
static tn_status count_graph(const tn_device *device, void *graph, void *stream) {
    counts.graphs++;
    return real.graph_launch(device, graph, stream);
}

static void put_counting(tn_engine *engine) {
    memcpy(&real, engine->device, sizeof(real)); /* of this very version */
    counting = real;
    counting.allocate = count_allocate;
    counting.deallocate = count_deallocate;
    if (real.host_allocate) counting.host_allocate = count_host_allocate;
    counting.stream_create = count_stream;
    counting.event_create = count_event;
    counting.stream_wait = count_wait;
    if (real.capture_begin) {
        counting.capture_begin = count_capture;
        counting.graph_launch = count_graph;
    }
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        if (engine->steps[i].step->is_device) engine->steps[i].prepared.call.device = &counting;
    engine->device = &counting;
}

/* The table's functions are the device's own again before it is closed. */
static void take_counting_back(tn_engine *engine, const tn_device *device) {
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        if (engine->steps[i].step->is_device) engine->steps[i].prepared.call.device = device;
    engine->device = device;
}

static bool has_host_steps(const tn_engine *engine) {
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        if (engine->program->steps[i].kind == TN_STEP_KERNEL &&
            !engine->program->steps[i].is_device && !engine->program->steps[i].is_host)
            return true;
    return false;
}

/* So many runs after others: what they counted, and whether that is as it should be. */
static bool check_runs(tn_context *context, const char *what, unsigned least_waits,
                       unsigned most_waits) {
    tn_context_statistics before = {.size = sizeof(before)}, after = before;
    for (int i = 0; i < WARM_RUNS; i++)
        network_must(tn_context_run(context), what);
    tn_context_get_statistics(context, &before);
    counts = (struct counts){0};
    for (int i = 0; i < RUNS; i++)
        network_must(tn_context_run(context), what);
    tn_context_get_statistics(context, &after);
    const struct counts c = counts;
    const bool is_fine = after.allocations == before.allocations && c.allocations == 0 &&
                         c.deallocations == 0 && c.pinned == 0 && c.streams == 0 && c.events == 0 &&
                         c.captures == 0 && c.waits >= least_waits && c.waits <= most_waits;
    printf("%s %s: %d runs: %u allocations, %u on the device, %u waits, %u graphs; ",
           is_fine ? "ok" : "FAIL", what, RUNS,
           (unsigned)(after.allocations - before.allocations) + c.pinned,
           c.allocations + c.deallocations, c.waits, c.graphs);
    return is_fine;
}

int device_run_steady(network_options *options, const char *name, int argc, char **argv) {
    network n;
    void *stream = NULL;
    (void)argc, (void)argv;
    network_load(&n, options, name, NULL);
    const tn_device *device = n.engine->device;
    put_counting(n.engine);
    network_open(&n);
    bool is_fine =
        check_runs(n.context, "own stream", RUNS, has_host_steps(n.engine) ? 2 * RUNS : RUNS);
    network_must(real.stream_create(&counting, &stream), "a stream");
    network_must(tn_context_set_stream(n.context, stream), "a stream");
    is_fine &= check_runs(n.context, "caller's stream", 0, has_host_steps(n.engine) ? RUNS : 0);
    network_must(real.stream_wait(device, stream), "the end");
    network_must(tn_context_set_stream(n.context, NULL), "no stream");
    printf("\n");
    tn_context_destroy(n.context);
    n.context = NULL;
    real.stream_destroy(device, stream);
    take_counting_back(n.engine, device);
    network_close(&n);
    return is_fine ? 0 : 1;
}

/* ----------------------------------------------------------------------------------------------
 * the profile */

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of one run with its copies and its wait, in microseconds. */
static double median_us(tn_context *context) {
    static double us[TIMED_RUNS];
    for (int i = 0; i < TIMED_RUNS; i++) {
        const double before = device_run_now_us();
        network_must(tn_context_run(context), "a run");
        us[i] = device_run_now_us() - before;
    }
    qsort(us, TIMED_RUNS, sizeof(us[0]), compare);
    return us[TIMED_RUNS / 2];
}

int device_run_profile(network_options *options, const char *name, int argc, char **argv) {
    network n;
    double sum = 0;
    const double most = argc > 0 ? strtod(argv[0], NULL) : 2;
    network_load(&n, options, name, NULL);
    network_open(&n);
    (void)median_us(n.context); /* clocks settle */
    const double plain = median_us(n.context);
    network_must(tn_context_set_profiling(n.context, true), "profiling");
    const double profiled = median_us(n.context);
    const uint32_t count = tn_context_profile_count(n.context);
    for (uint32_t i = 0; i < count; i++) {
        const tn_profile_entry *entry = tn_context_profile(n.context, i);
        sum += (double)entry->total_ns / 1e3 / (double)entry->runs;
    }
    const bool is_fine = count > 0 && sum > 0 && sum <= most * plain;
    printf("%s %u steps, sum %.1f us; a run %.1f us, profiled %.1f us\n", is_fine ? "ok" : "FAIL",
           count, sum, plain, profiled);
    network_close(&n);
    return is_fine ? 0 : 1;
}
