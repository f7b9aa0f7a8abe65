/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller who has his tensors on the device and a stream of his own, and captures the call in a
 * graph of his own; and two devices at once. Declared in device_run.h.
 */
#include "device_run.h"

#include "base/status.h"
#include "engine/engine_private.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 4, PAIR_RUNS = 50 };

/* What the processor makes of the inputs of a seed; the caller frees it. */
static float *expect(network *on_cpu, uint32_t seed, size_t *out_count) {
    const float *data = NULL;
    network_fill(on_cpu, seed);
    network_must(tn_context_run(on_cpu->context), "the processor");
    *out_count = network_output(on_cpu, &data);
    float *kept = malloc(*out_count * sizeof(float) + 1);
    if (!kept) network_die("no memory");
    memcpy(kept, data, *out_count * sizeof(float));
    return kept;
}

static void check(const float *wanted, const float *found, size_t count, const char *what) {
    size_t outside = 0;
    const double error = network_error(wanted, found, count, 1e-3, 1e-5, &outside);
    if (outside > 0) network_die("%s: %zu of %zu outside, norm %.2g", what, outside, count, error);
}

typedef struct caller {
    network on_cpu, on_device;
    const tn_device *device;
    void *stream, *graph, *inputs[NETWORK_PORTS], *output;
    float *found;
    size_t count;
} caller;

static void call_device(const caller *c, tn_status status, const char *what) {
    if (status != TN_OK) network_die("%s: %s", what, c->device->last_error(c->device));
}

static void bind(caller *c) {
    network *n = &c->on_device;
    const tn_tensor *output = NULL;
    call_device(c, c->device->stream_create(c->device, &c->stream), "a stream");
    network_must(tn_context_set_stream(n->context, c->stream), "the stream");
    network_must(tn_context_reshape(n->context), "reshape");
    network_must(tn_context_output(n->context, 0, &output), "the output");
    const uint64_t bytes = output->bytes;
    c->count = (size_t)bytes / sizeof(float);
    c->found = calloc(c->count + 1, sizeof(float));
    if (!c->found) network_die("no memory");
    call_device(c, c->device->allocate(c->device, bytes, c->stream, &c->output), "memory");
    network_must(tn_context_bind_device_output(n->context, 0, c->output, bytes), "the output");
    for (uint32_t i = 0; i < n->input_count; i++) {
        const uint64_t size = n->input_counts[i] * sizeof(float);
        call_device(c, c->device->allocate(c->device, size, c->stream, &c->inputs[i]), "memory");
        network_must(tn_context_bind_device_input(n->context, i, c->inputs[i], size), "an input");
    }
}

static void send(caller *c, uint32_t seed) {
    const tn_device *d = c->device;
    network_fill(&c->on_device, seed);
    for (uint32_t i = 0; i < c->on_device.input_count; i++)
        call_device(c,
                    d->copy(d, c->inputs[i], c->on_device.inputs[i],
                            c->on_device.input_counts[i] * sizeof(float), TN_COPY_TO_DEVICE,
                            c->stream),
                    "a copy");
    call_device(c, d->fill(d, c->output, 0xff, c->count * sizeof(float), c->stream), "filling");
}

static void note_call(void *user) {
    __atomic_add_fetch((uint32_t *)user, 1, __ATOMIC_RELEASE);
}

/* The host is called behind the run, and finds by asking alone that it is over. */
static void expect_end(caller *c) {
    const double begin = device_run_now_us();
    bool is_done = false;
    uint32_t calls = 0;
    network_must(tn_context_call_when_done(c->on_device.context, note_call, &calls), "a call");
    while (!is_done && device_run_now_us() - begin < 20e6)
        network_must(tn_context_is_done(c->on_device.context, &is_done), "asking");
    if (!is_done) network_die("the run is not over after 20 s");
    if (__atomic_load_n(&calls, __ATOMIC_ACQUIRE) != 1) network_die("the host was not called");
}

static void fetch_and_check(caller *c, uint32_t seed, const char *what) {
    const tn_device *d = c->device;
    size_t count = 0;
    call_device(
        c, d->copy(d, c->found, c->output, c->count * sizeof(float), TN_COPY_TO_HOST, c->stream),
        "a copy");
    call_device(c, d->stream_wait(d, c->stream), "the wait");
    float *wanted = expect(&c->on_cpu, seed, &count);
    if (count != c->count) network_die("the outputs differ in size");
    check(wanted, c->found, count, what);
    free(wanted);
}

static void finish(caller *c) {
    tn_context_destroy(c->on_device.context);
    c->on_device.context = NULL;
    c->device->graph_destroy(c->device, c->graph);
    for (uint32_t i = 0; i < c->on_device.input_count; i++)
        c->device->deallocate(c->device, c->inputs[i], c->stream);
    c->device->deallocate(c->device, c->output, c->stream);
    call_device(c, c->device->stream_wait(c->device, c->stream), "the end");
    c->device->stream_destroy(c->device, c->stream);
    free(c->found);
    network_close(&c->on_device);
    network_close(&c->on_cpu);
}

/* A network of which the processor does a part cannot be captured, and says so; the stream is as it
 * was. */
static bool capture(caller *c) {
    call_device(c, c->device->capture_begin(c->device, c->stream), "a capture");
    const tn_status status = tn_context_run(c->on_device.context);
    const bool is_refused =
        status == TN_ERROR_STATE && strstr(tn_last_error()->message, "runs on the processor");
    if (!is_refused) network_must(status, "a run that is captured");
    call_device(c, c->device->capture_end(c->device, c->stream, &c->graph), "the capture's end");
    if (!is_refused) return true;
    send(c, SEEDS);
    tn_error_copy refusal;
    tn_error_save(&refusal);
    network_must(tn_context_run(c->on_device.context), "a run after a refused capture");
    fetch_and_check(c, SEEDS, "a run after a refused capture");
    tn_error_restore(&refusal);
    return false;
}

int device_run_caller(network_options *options, const char *name, int argc, char **argv) {
    caller c = {0};
    (void)argc, (void)argv;
    network_load(&c.on_cpu, options, "cpu", NULL);
    network_load(&c.on_device, options, name, NULL);
    network_open(&c.on_cpu);
    network_open(&c.on_device);
    c.device = c.on_device.engine->device;
    bind(&c);
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        send(&c, seed);
        network_must(tn_context_run(c.on_device.context), "a run on the caller's memory");
        expect_end(&c);
        fetch_and_check(&c, seed, "the caller's memory and stream");
    }
    if (!capture(&c)) {
        printf("ok %d runs on the caller's memory and stream, a capture refused: %s\n", SEEDS,
               tn_last_error()->where);
        finish(&c);
        return 0;
    }
    for (uint32_t seed = 11; seed < 11 + SEEDS; seed++) {
        send(&c, seed);
        call_device(&c, c.device->graph_launch(c.device, c.graph, c.stream), "the caller's graph");
        fetch_and_check(&c, seed, "the caller's graph");
    }
    finish(&c);
    printf("ok %d runs on the caller's memory and stream, %d launches of the caller's graph\n",
           SEEDS, SEEDS);
    return 0;
}

/* ----------------------------------------------------------------------------------------------
 * two devices */

typedef struct worker {
    network n;
    float *wanted[SEEDS];
    size_t count;
    char failure[300]; /* "": none */
    double us;         /* of one run */
} worker;

static bool is_as_wanted(const worker *w, uint32_t seed) {
    size_t outside = 0;
    const tn_tensor *output = NULL;
    if (tn_context_output(w->n.context, 0, &output) != TN_OK) return false;
    (void)network_error(w->wanted[seed], output->data, w->count, 1e-3, 1e-5, &outside);
    return outside == 0;
}

static void *work(void *user) {
    worker *w = user;
    const double begin = device_run_now_us();
    for (uint32_t i = 0; i < PAIR_RUNS && !w->failure[0]; i++) {
        network_fill(&w->n, i % SEEDS);
        if (tn_context_run(w->n.context) != TN_OK)
            snprintf(w->failure, sizeof(w->failure), "%s", tn_last_error()->message);
        else if (!is_as_wanted(w, i % SEEDS))
            snprintf(w->failure, sizeof(w->failure), "run %u gives another result", i);
    }
    w->us = (device_run_now_us() - begin) / PAIR_RUNS;
    return NULL;
}

int device_run_pair(network_options *options, const char *name, int argc, char **argv) {
    static worker workers[2];
    network on_cpu;
    pthread_t threads[2];
    if (argc < 1) network_die("pair needs another device");
    network_must(tn_runtime_find_device(options->runtime, argv[0]), argv[0]);
    network_load(&on_cpu, options, "cpu", NULL);
    network_load(&workers[0].n, options, name, NULL);
    network_load(&workers[1].n, options, argv[0], workers[0].n.plan);
    network_open(&on_cpu);
    for (int i = 0; i < 2; i++) {
        network_open(&workers[i].n);
        for (uint32_t seed = 0; seed < SEEDS; seed++)
            workers[i].wanted[seed] = expect(&on_cpu, seed, &workers[i].count);
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) network_die("no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    const bool is_fine = !workers[0].failure[0] && !workers[1].failure[0];
    printf("%s %d runs each: %s %s, %s %s\n", is_fine ? "ok" : "FAIL", PAIR_RUNS, name,
           workers[0].failure, argv[0], workers[1].failure);
    for (int i = 0; i < 2; i++) {
        for (uint32_t seed = 0; seed < SEEDS; seed++)
            free(workers[i].wanted[seed]);
        network_close(&workers[i].n);
    }
    network_close(&on_cpu);
    return is_fine ? 0 : 1;
}
