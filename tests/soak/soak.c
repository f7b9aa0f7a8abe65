/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Soak: `soak_run SECONDS THREADS [SEED]`. Threads create engines and contexts on shared plans, run
 * them with random shapes, and release them, until the time is over. Each result is compared with
 * the one that a context of its own computed before; the resident memory at the end with that after
 * the first quarter. Exit 0 when nothing differed and nothing grew. The plans are built here, from
 * the networks in models/, without timing, so that all machines run the same kernels.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tenon/tenon.h>

enum {
    CASES = 12,          /* sets of shapes of a network */
    RUNS_A_CONTEXT = 40, /* before a context is destroyed */
    MAXIMUM_THREADS = 64,
    MAXIMUM_ELEMENTS = 3 * 96 * 96,
    GROWTH_BYTES = 24 << 20 /* allocators keep what threads gave back: fragments, not leaks */
};

typedef struct input_range {
    const char *name;
    uint32_t rank;
    int64_t low[4], high[4];
} input_range;

typedef struct network {
    const char *file;
    uint32_t input_count;
    input_range inputs[2];
} network;

static const network networks[] = {
    {MODELS "/lenet.onnx", 1, {{"input", 4, {1, 1, 28, 28}, {9, 1, 28, 28}}}},
    {MODELS "/srcnn_resize.onnx",
     2,
     {{"image", 4, {1, 3, 5, 7}, {1, 3, 40, 40}}, {"size", 4, {1, 1, 9, 9}, {1, 1, 80, 80}}}},
};
enum { NETWORKS = sizeof(networks) / sizeof(networks[0]) };

/* One set of shapes, and what comes out. */
typedef struct shape_case {
    int64_t extents[2][4];
    double sum, squares;
} shape_case;

typedef struct soak {
    tn_runtime *runtime;
    tn_plan *plans[NETWORKS];
    tn_engine *engines[NETWORKS]; /* shared by all threads, beside those that threads load */
    shape_case cases[NETWORKS][CASES];
    float *values; /* of every input: the same, read from their beginning */
    struct timespec end;
    atomic_ullong runs, contexts, engines_loaded, failures;
} soak;

typedef struct worker {
    soak *all;
    pthread_t thread;
    uint64_t random;
} worker;

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

static double seconds_until(const struct timespec *end) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(end->tv_sec - now.tv_sec) + (double)(end->tv_nsec - now.tv_nsec) * 1e-9;
}

static uint64_t resident_bytes(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
        fclose(file);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void report(soak *all, const char *what) {
    const tn_error *error = tn_last_error();
    fprintf(stderr, "soak: %s: %s: %s\n", what, error->where, error->message);
    atomic_fetch_add(&all->failures, 1);
}

/* Runs a case and measures its first output. */
static tn_status run_case(const soak *all, tn_context *context, const network *net,
                          const shape_case *with, double *out_sum, double *out_squares) {
    const tn_tensor *output = NULL;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < net->input_count && status == TN_OK; i++) {
        status = tn_context_set_shape(context, i, net->inputs[i].rank, with->extents[i]);
        if (status == TN_OK)
            status =
                tn_context_bind_input(context, i, all->values, MAXIMUM_ELEMENTS * sizeof(float));
    }
    if (status == TN_OK) status = tn_context_run(context);
    if (status == TN_OK) status = tn_context_output(context, 0, &output);
    if (status != TN_OK) return status;
    const float *data = output->data;
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < output->bytes / sizeof(float); i++) {
        sum += data[i] * (double)(i % 7 + 1); /* an element in another position counts otherwise */
        squares += (double)data[i] * data[i];
    }
    *out_sum = sum;
    *out_squares = squares;
    return TN_OK;
}

static void run_context(soak *all, size_t which, tn_engine *engine, uint64_t *random) {
    const network *net = &networks[which];
    tn_context *context = NULL;
    if (tn_context_create(engine, &context) != TN_OK) {
        report(all, "a context");
        return;
    }
    atomic_fetch_add(&all->contexts, 1);
    for (size_t i = 0; i < RUNS_A_CONTEXT && seconds_until(&all->end) > 0; i++) {
        const shape_case *with = &all->cases[which][draw(random, CASES)];
        double sum = 0, squares = 0;
        if (run_case(all, context, net, with, &sum, &squares) != TN_OK) {
            report(all, net->file);
        } else if (memcmp(&sum, &with->sum, sizeof(sum)) != 0 ||
                   memcmp(&squares, &with->squares, sizeof(squares)) != 0) {
            fprintf(stderr, "soak: %s: sums %.17g %.17g, before %.17g %.17g\n", net->file, sum,
                    squares, with->sum, with->squares);
            atomic_fetch_add(&all->failures, 1);
        }
        atomic_fetch_add(&all->runs, 1);
    }
    tn_context_destroy(context);
}

static void *work(void *argument) {
    worker *self = argument;
    soak *all = self->all;
    while (seconds_until(&all->end) > 0) {
        const size_t which = draw(&self->random, NETWORKS);
        tn_engine *engine = NULL;
        if (draw(&self->random, 4) != 0) {
            run_context(all, which, all->engines[which], &self->random);
            continue;
        }
        uint64_t bytes;
        const void *plan = tn_plan_bytes(all->plans[which], &bytes);
        if (tn_engine_load_bytes(all->runtime, plan, bytes, NULL, &engine) != TN_OK) {
            report(all, "an engine");
            continue;
        }
        atomic_fetch_add(&all->engines_loaded, 1);
        run_context(all, which, engine, &self->random);
        tn_engine_release(engine);
    }
    return NULL;
}

/* The plan, the shared engine, and each case's result in a context of its own. */
static tn_status prepare(soak *all, size_t which, uint64_t *random) {
    const network *net = &networks[which];
    tn_profile_input ranges[2];
    const tn_profile_input *profile[2];
    tn_graph *graph = NULL;
    for (uint32_t i = 0; i < net->input_count; i++) {
        ranges[i] = (tn_profile_input){.size = sizeof(ranges[i]),
                                       .rank = net->inputs[i].rank,
                                       .name = net->inputs[i].name,
                                       .minimum = net->inputs[i].low,
                                       .optimum = net->inputs[i].high,
                                       .maximum = net->inputs[i].high};
        profile[i] = &ranges[i];
    }
    const tn_builder_options options = {.size = sizeof(options),
                                        .flags = TN_BUILD_NO_TIMING,
                                        .threads = 1,
                                        .profile_input_count = net->input_count,
                                        .profile_inputs = profile};
    tn_status status = tn_graph_load_onnx(all->runtime, net->file, &graph);
    if (status == TN_OK) status = tn_build(graph, &options, &all->plans[which]);
    tn_graph_destroy(graph);
    if (status != TN_OK) return status;
    uint64_t bytes;
    const void *plan = tn_plan_bytes(all->plans[which], &bytes);
    status = tn_engine_load_bytes(all->runtime, plan, bytes, NULL, &all->engines[which]);
    for (size_t k = 0; k < CASES && status == TN_OK; k++) {
        shape_case *with = &all->cases[which][k];
        tn_context *context = NULL;
        for (uint32_t i = 0; i < net->input_count; i++)
            for (uint32_t d = 0; d < net->inputs[i].rank; d++) {
                const int64_t low = net->inputs[i].low[d], high = net->inputs[i].high[d];
                with->extents[i][d] = low + draw(random, (uint32_t)(high - low + 1));
            }
        status = tn_context_create(all->engines[which], &context);
        if (status == TN_OK) status = run_case(all, context, net, with, &with->sum, &with->squares);
        tn_context_destroy(context);
    }
    return status;
}

static void sleep_until_left(const struct timespec *end, double seconds) {
    const double left = seconds_until(end) - seconds;
    if (left > 0) usleep((useconds_t)((left < 900 ? left : 900) * 1e6));
    if (left > 900) sleep_until_left(end, seconds);
}

/* False: memory grew. */
static bool watch(soak *all, worker *workers, size_t thread_count, double seconds) {
    sleep_until_left(&all->end, seconds * 3 / 4);
    const uint64_t before = resident_bytes();
    for (size_t i = 0; i < thread_count; i++)
        pthread_join(workers[i].thread, NULL);
    const uint64_t after = resident_bytes();
    printf("%llu runs, %llu contexts, %llu engines, %llu failures; resident memory %.1f MB after a "
           "quarter, %.1f MB at the end\n",
           atomic_load(&all->runs), atomic_load(&all->contexts), atomic_load(&all->engines_loaded),
           atomic_load(&all->failures), (double)before / 1e6, (double)after / 1e6);
    return after < before + GROWTH_BYTES;
}

int main(int argument_count, char **arguments) {
    static soak all;
    static worker workers[MAXIMUM_THREADS];
    const double seconds = argument_count > 2 ? atof(arguments[1]) : 0;
    const int thread_count = argument_count > 2 ? atoi(arguments[2]) : 0;
    uint64_t random = argument_count > 3 ? strtoull(arguments[3], NULL, 10) : 1;
    if (seconds <= 0 || thread_count < 1 || thread_count > MAXIMUM_THREADS)
        return fprintf(stderr, "usage: soak_run SECONDS THREADS [SEED]\n"), 2;
    all.values = aligned_alloc(64, MAXIMUM_ELEMENTS * sizeof(float));
    if (!all.values || tn_runtime_create(NULL, &all.runtime) != TN_OK) return 1;
    for (size_t i = 0; i < MAXIMUM_ELEMENTS; i++)
        all.values[i] = (float)draw(&random, 1000) / 1000;
    for (size_t i = 0; i < NETWORKS; i++)
        if (prepare(&all, i, &random) != TN_OK) return report(&all, networks[i].file), 1;
    clock_gettime(CLOCK_MONOTONIC, &all.end);
    all.end.tv_sec += (time_t)seconds;
    for (int i = 0; i < thread_count; i++) {
        workers[i] = (worker){.all = &all, .random = random + (uint64_t)i};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) return 1;
    }
    const bool is_steady = watch(&all, workers, (size_t)thread_count, seconds);
    if (!is_steady) fprintf(stderr, "soak: resident memory grew\n");
    for (size_t i = 0; i < NETWORKS; i++) {
        tn_engine_release(all.engines[i]);
        tn_plan_destroy(all.plans[i]);
    }
    tn_runtime_release(all.runtime);
    free(all.values);
    return is_steady && atomic_load(&all.failures) == 0 && atomic_load(&all.runs) > 0 ? 0 : 1;
}
