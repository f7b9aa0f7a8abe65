/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller may do beside running, on a device, each held against the processor: other weights,
 * runs that are not waited for, memory of the caller's, strides, outputs that ask for memory,
 * weights of two engines, several profiles. Declared in device_run.h.
 */
#include "device_run.h"

#include "engine/engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    network on_cpu, on_device;
    const char *device;
} pair;

/* Both run on the inputs of a seed, the device by `run`, and give the same. */
static void compare(pair *p, uint32_t seed, tn_status (*run)(tn_context *), const char *what) {
    const float *wanted = NULL, *found = NULL;
    size_t outside = 0;
    network_fill(&p->on_cpu, seed);
    network_fill(&p->on_device, seed);
    network_must(tn_context_run(p->on_cpu.context), what);
    network_must(run(p->on_device.context), what);
    const size_t count = network_output(&p->on_cpu, &wanted);
    if (network_output(&p->on_device, &found) != count) network_die("%s: another size", what);
    const double error = network_error(wanted, found, count, 1e-3, 1e-5, &outside);
    if (outside > 0) network_die("%s: %zu of %zu outside, norm %.2g", what, outside, count, error);
}

/* ----------------------------------------------------------------------------------------------
 * other weights */

static void set_constants(tn_refit *refit) {
    for (uint32_t c = 0; c < tn_refit_count(refit); c++) {
        const tn_port_info *port = tn_refit_constant(refit, c);
        size_t count = 1;
        for (uint32_t i = 0; i < port->rank; i++)
            count *= (size_t)port->extents[i];
        float *data = malloc(count * sizeof(float) + 1);
        if (!data) network_die("no memory");
        uint32_t state = c + 1;
        for (size_t i = 0; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            data[i] = ((float)(state >> 16 & 1023) - 512.0f) / 8192.0f;
        }
        network_must(tn_refit_set(refit, port->name, port->type, port->rank, port->extents, data,
                                  count * sizeof(float)),
                     port->name);
        free(data);
    }
}

static double refit_one(network *n) {
    tn_refit *refit = NULL;
    tn_engine *engine = NULL;
    network_must(tn_refit_create(n->engine, &refit), "a refit");
    set_constants(refit);
    const double start = device_run_now_us();
    network_must(tn_refit_apply(refit, &engine), "applying a refit");
    const double us = device_run_now_us() - start;
    tn_refit_destroy(refit);
    tn_context_destroy(n->context);
    tn_engine_release(n->engine);
    n->engine = engine;
    network_open(n);
    return us;
}

static double other_weights(pair *p) {
    (void)refit_one(&p->on_cpu);
    const double us = refit_one(&p->on_device);
    for (uint32_t seed = 1; seed <= 3; seed++)
        compare(p, seed, tn_context_run, "a refit");
    return us;
}

/* ----------------------------------------------------------------------------------------------
 * runs that are not waited for */

static tn_status run_beside(tn_context *context) {
    bool is_done = false;
    const tn_status status = tn_context_run_async(context, NULL, NULL);
    if (status != TN_OK) return status;
    return tn_context_wait(context, TN_WAIT_FOREVER, &is_done);
}

static tn_status run_after_cancelled(tn_context *context) {
    for (int i = 0; i < 20; i++) {
        const tn_status begun = tn_context_run_async(context, NULL, NULL);
        if (begun != TN_OK) return begun;
        const bool was_running = tn_context_cancel(context);
        const tn_status status = tn_context_wait(context, TN_WAIT_FOREVER, NULL);
        if (status != (was_running ? TN_ERROR_CANCELLED : TN_OK))
            network_die("a cancelled run ended with %d", (int)status);
    }
    return tn_context_run(context);
}

/* ----------------------------------------------------------------------------------------------
 * memory of the caller's */

typedef struct lender {
    tn_device_handle *device;
    void *blocks[4];
    int asked, live;
} lender;

static void *take(void *user, uint64_t bytes, uint64_t alignment, void *stream) {
    lender *l = user;
    void *memory = NULL;
    (void)alignment, (void)stream;
    l->asked++;
    if (tn_device_allocate(l->device, bytes, NULL, &memory) == TN_OK) l->live++;
    return memory;
}
static void give(void *user, void *memory, void *stream) {
    lender *l = user;
    (void)stream;
    if (memory && tn_device_free(l->device, memory, NULL) == TN_OK) l->live--;
}
static void *lend(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) {
    lender *l = user;
    (void)output, (void)alignment;
    l->asked++;
    if (!l->blocks[0])
        network_must(tn_device_allocate(l->device, bytes, NULL, l->blocks), "memory");
    return l->blocks[0];
}

static void memory_of_the_callers(pair *p) {
    network *n = &p->on_device;
    lender l = {0};
    network_must(tn_device_open(n->runtime, p->device, &l.device), "the device");
    const tn_device_allocator allocator = {
        .size = sizeof(allocator), .user = &l, .allocate = take, .deallocate = give};
    const tn_context_options options = {.size = sizeof(options), .device_allocator = &allocator};
    tn_context *kept = n->context;
    network_must(tn_context_create_with(n->engine, &options, &n->context), "a context");
    for (uint32_t i = 0; i < n->input_count; i++)
        network_must(
            tn_context_bind_input(n->context, i, n->inputs[i], n->input_counts[i] * sizeof(float)),
            "an input");
    for (uint32_t i = 0; i < n->input_count; i++)
        network_must(tn_context_set_shape(n->context, i, n->ranks[i], n->extents[i]), "a shape");
    for (uint32_t seed = 1; seed <= 3; seed++)
        compare(p, seed, tn_context_run, "memory of the caller's");
    if (l.asked == 0) network_die("the caller's allocator was not asked");
    /* an output that asks for memory of the device in each run */
    network_must(tn_context_set_device_output_allocator(n->context, 0, lend, &l), "an allocator");
    const int asked = l.asked;
    const float *wanted = NULL;
    for (int run = 1; run <= 3; run++) {
        network_must(tn_context_run(n->context), "an output that asks");
        if (l.asked != asked + run) network_die("the output was not asked for once in a run");
    }
    const size_t count = network_output(&p->on_cpu, &wanted);
    float *found = malloc(count * sizeof(float) + 1);
    if (!found) network_die("no memory");
    network_must(tn_device_copy_to_host(l.device, found, l.blocks[0], count * sizeof(float), NULL),
                 "a copy");
    size_t outside = 0;
    (void)network_error(wanted, found, count, 1e-3, 1e-5, &outside);
    if (outside > 0) network_die("an output that asks: %zu of %zu outside", outside, count);
    free(found);
    tn_context_destroy(n->context);
    if (l.live != 0) network_die("%d blocks of the caller's were not given back", l.live);
    network_must(tn_device_free(l.device, l.blocks[0], NULL), "freeing");
    tn_device_release(l.device);
    n->context = kept;
}

/* ----------------------------------------------------------------------------------------------
 * strides: each element of the first input and output a slot apart */

static void strides(pair *p) {
    network *n = &p->on_device;
    const tn_tensor *output = NULL;
    int64_t apart[TN_MAX_RANK] = {0};
    const size_t count = n->input_counts[0];
    float *x = calloc(2 * count, sizeof(float));
    const float *wanted = NULL;
    const size_t results = network_output(&p->on_cpu, &wanted);
    float *y = calloc(2 * results + 1, sizeof(float));
    if (!x || !y) network_die("no memory");
    int64_t step = 2;
    for (uint32_t i = n->ranks[0]; i-- > 0; step *= n->extents[0][i])
        apart[i] = step;
    network_must(tn_context_bind_input_strided(n->context, 0, x, 2 * count * sizeof(float),
                                               n->ranks[0], apart),
                 "strides of an input");
    network_must(tn_context_output(n->context, 0, &output), "the output");
    const uint32_t rank = output->rank;
    step = 2;
    for (uint32_t i = rank; i-- > 0; step *= output->shape[i])
        apart[i] = step;
    network_must(
        tn_context_bind_output_strided(n->context, 0, y, 2 * results * sizeof(float), rank, apart),
        "strides of an output");
    for (uint32_t seed = 4; seed <= 6; seed++) {
        size_t outside = 0;
        network_fill(&p->on_cpu, seed);
        network_fill(n, seed);
        for (size_t i = 0; i < count; i++)
            x[2 * i] = n->inputs[0][i];
        network_must(tn_context_run(p->on_cpu.context), "the processor");
        network_must(tn_context_run(n->context), "strides");
        (void)network_output(&p->on_cpu, &wanted);
        for (size_t i = 0; i < results; i++) {
            if (y[2 * i + 1] != 0) network_die("what lies between the elements was written");
            y[i] = y[2 * i]; /* packs them; reads are ahead of writes */
        }
        (void)network_error(wanted, y, results, 1e-3, 1e-5, &outside);
        if (outside > 0) network_die("strides: %zu of %zu outside", outside, results);
        memset(y, 0, 2 * results * sizeof(float));
    }
    free(x);
    free(y);
}

/* ----------------------------------------------------------------------------------------------
 * engines of one plan, and several profiles */

static uint32_t weights_of_two_engines(const pair *p) {
    uint64_t bytes = 0;
    uint32_t shared = 0;
    const void *data = tn_plan_bytes(p->on_device.plan, &bytes);
    const tn_engine_options options = {.size = sizeof(options), .device = p->device};
    tn_engine *engines[2];
    for (int i = 0; i < 2; i++)
        network_must(tn_engine_load_bytes(p->on_device.runtime, data, bytes, &options, &engines[i]),
                     "an engine");
    for (uint32_t v = 0; engines[0]->shared_constants && v < engines[0]->program->value_count;
         v++) {
        if (!engines[0]->shared_constants[v]) continue;
        if (engines[0]->device_constants[v] != engines[1]->device_constants[v])
            network_die("a constant lies twice on the device");
        shared++;
    }
    for (int i = 0; i < 2; i++)
        tn_engine_release(engines[i]);
    return shared;
}

/* The first extent of the first input as given, and twice as large, each with kernels of its own.
 */
static void several_profiles(pair *p) {
    network *n = &p->on_device;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    int64_t twice[TN_MAX_RANK];
    uint64_t bytes = 0;
    if (tn_graph_input(n->graph, 0)->extents[0] >= 0) return; /* the model has one shape */
    memcpy(twice, n->extents[0], sizeof(twice));
    twice[0] *= 2;
    const char *name = tn_graph_input(n->graph, 0)->name;
    const int64_t *const shapes[] = {n->extents[0], twice};
    tn_profile_input ranges[2];
    const tn_profile_input *inputs[2];
    tn_profile sets[2];
    const tn_profile *profiles[2];
    for (int i = 0; i < 2; i++) {
        ranges[i] = (tn_profile_input){.size = sizeof(ranges[i]),
                                       .rank = n->ranks[0],
                                       .name = name,
                                       .minimum = shapes[i],
                                       .optimum = shapes[i],
                                       .maximum = shapes[i]};
        inputs[i] = &ranges[i];
        sets[i] = (tn_profile){.size = sizeof(sets[i]), .input_count = 1, .inputs = &inputs[i]};
        profiles[i] = &sets[i];
    }
    const tn_builder_options build = {.size = sizeof(build),
                                      .threads = 1,
                                      .device = p->device,
                                      .timing_seconds = 30,
                                      .profile_count = 2,
                                      .profiles = profiles};
    network_must(tn_build(n->graph, &build, &plan), "two profiles");
    const tn_engine_options options = {.size = sizeof(options), .device = p->device};
    const void *data = tn_plan_bytes(plan, &bytes);
    network_must(tn_engine_load_bytes(n->runtime, data, bytes, &options, &engine), "two profiles");
    network_must(tn_context_create(engine, &context), "a context");
    const size_t count = n->input_counts[0];
    float *x = aligned_alloc(64, (2 * count * sizeof(float) + 63) / 64 * 64);
    if (!x) network_die("no memory");
    for (uint32_t seed = 1; seed <= 4; seed++) {
        const uint32_t profile = seed % 2;
        const float *wanted = NULL;
        const tn_tensor *output = NULL;
        size_t outside = 0;
        network_fill(&p->on_cpu, seed);
        for (uint32_t i = 0; i <= profile; i++)
            memcpy(x + i * count, p->on_cpu.inputs[0], count * sizeof(float));
        network_must(tn_context_set_shape(context, 0, n->ranks[0], shapes[profile]), "a shape");
        network_must(tn_context_bind_input(context, 0, x, (profile + 1) * count * sizeof(float)),
                     "an input");
        network_must(tn_context_run(p->on_cpu.context), "the processor");
        network_must(tn_context_run(context), "a profile");
        if (tn_context_get_profile(context) != profile) network_die("the other profile ran");
        network_must(tn_context_output(context, 0, &output), "the output");
        const size_t results = network_output(&p->on_cpu, &wanted);
        for (uint32_t i = 0; i <= profile; i++) {
            (void)network_error(wanted, (const float *)output->data + i * results, results, 1e-3,
                                1e-5, &outside);
            if (outside > 0) network_die("profiles: %zu of %zu outside", outside, results);
        }
    }
    free(x);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

int device_run_abilities(network_options *o, const char *device, int argc, char **argv) {
    pair p = {.device = device};
    (void)argc, (void)argv;
    o->build_flags |= TN_BUILD_REFIT;
    network_load(&p.on_cpu, o, "cpu", NULL);
    network_load(&p.on_device, o, device, NULL);
    network_open(&p.on_cpu);
    network_open(&p.on_device);
    const uint32_t shared = weights_of_two_engines(&p);
    for (uint32_t seed = 1; seed <= 3; seed++)
        compare(&p, seed, run_beside, "a run that is waited for later");
    compare(&p, 4, run_after_cancelled, "a run after cancelled ones");
    several_profiles(&p);
    memory_of_the_callers(&p);
    const double us = other_weights(&p);
    memory_of_the_callers(&p);
    strides(&p);
    network_close(&p.on_device);
    network_close(&p.on_cpu);
    printf("ok %u constants shared by two engines, a refit of all in %.2f ms\n", shared, us / 1e3);
    return 0;
}
