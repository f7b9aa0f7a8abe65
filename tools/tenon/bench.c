/* SPDX-License-Identifier: Apache-2.0 */
/* tenon bench: times a model or plan, on one or several contexts. */
#include "cli/importers.h"
#include "bench_profile.h"
#include "cli/help_text.h"
#include "session/option_use.h"
#include "session/session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "usage: tenon bench MODEL|PLAN [options]\n"
    "  -t, --threads N       threads of the engine\n"
    "      --seconds S       how long to measure (default 1); 0: one inference\n"
    "      --contexts N      that run at once, each on a thread of its own\n"
    "      --shared-threads N   threads that they share: runs begin in the order in which they "
    "come, while there are any\n"
    "      --profile         the time of each node\n"
    "      --html FILE       with --profile: a page with the network, the time of each node and "
    "the "
    "memory\n"
    "  -i, --input NAME=FILE, -o, --output NAME=FILE   the values that are timed (also raw "
    "float32)\n"
    "  -O, --output-dir DIR  NAME.npy for every output\n" HELP_OF_IMAGES
    "  -s, --shape NAME=1x3x8x8   the shape of an input without a file (else the optimum that the "
    "plan was built for);\n"
    "                        of a model also NAME=MIN:OPT:MAX\n"
    "      --use-profile N   of a plan with several profiles: that one, at its optimum (default: "
    "the "
    "one that has the shapes,\n"
    "                        nearest to its optimum)\n"
    "  -p, --plugin LIB.so[@DOMAIN]  -P, --plugin-dir DIR   libraries of layers; of a model also "
    "those of "
    "TENON_PLUGIN_PATH\n"
    "      --device NAME  --exact  --allow-plugin HASH|DIR  --trust-embedded SHA256|all   as tenon "
    "run has them\n"
    "      --json            the times as one JSON document   -v, --verbose   log all\n"
    "with --isolate and --checked it says before what they cost: microseconds a call, times the "
    "time\n"
    "the last line is median_ms=F min_ms=F p99_ms=F runs=N\n"
    "      --isolate, --isolate-limit MS   a model is read, and plugins' kernels run, in a process "
    "of "
    "their own; the reading\n"
    "                            may take MS (default 60000), and each callback (default 10000)\n"
    "      --checked, --checked-dump DIR   guarded memory around each node; the first bad node's "
    "tensors go to DIR (default tenon-checked)\n" HELP_OF_MODELS
    "      --timing-seconds S   bound on the time spent measuring kernels\n"
    "example: tenon bench net.onnx --threads 1 --seconds 2 --profile\n";

typedef struct measurement {
    tn_context *context;
    double seconds;
    double *ms;
    size_t count, capacity;
    tn_status status;
    tn_error error;
    char message[512];
} measurement;

static bool keep(measurement *m, double ms) {
    if (m->count == m->capacity) {
        const size_t capacity = m->capacity ? m->capacity * 2 : 4096;
        double *larger = realloc(m->ms, capacity * sizeof(*larger));
        if (!larger) return false;
        m->ms = larger;
        m->capacity = capacity;
    }
    m->ms[m->count++] = ms;
    return true;
}

/* Runs until the time is over; the first runs, which take memory and warm caches, do not count. */
static void *measure(void *user) {
    measurement *m = user;
    const double begin = bench_now_ms();
    double before = begin;
    for (size_t i = 0; m->status == TN_OK; i++) {
        m->status = tn_context_run(m->context);
        const double after = bench_now_ms();
        const bool is_warm = i >= 2 && after - begin > m->seconds * 50;
        if (m->status == TN_OK && (is_warm || m->seconds == 0 || (i >= 2 && m->count == 0)) &&
            !keep(m, after - before))
            break;
        if (m->seconds == 0 || (m->count >= 3 && after - begin >= m->seconds * 1e3)) break;
        before = bench_now_ms();
    }
    if (m->status != TN_OK)
        snprintf(m->message, sizeof(m->message), "%s: %s", tn_last_error()->where,
                 tn_last_error()->message);
    return NULL;
}

static int compare_double(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* What guards and helper processes cost: against the same network without them, by the shortest
 * runs, which other work on the machine disturbs least. */
typedef struct overhead {
    double plain_ms; /* 0: not measured */
    uint64_t calls;  /* of isolated kernels in a run */
} overhead;

static void print_overhead(const overhead *cost, double ms, const cli_options *options) {
    const double us = cost->calls ? (ms - cost->plain_ms) * 1e3 / (double)cost->calls : 0;
    const double times = cost->plain_ms > 0 ? ms / cost->plain_ms : 0;
    if (cost->plain_ms <= 0) return;
    if (options->json) {
        printf("\"plain_min_ms\": %.6f, ", cost->plain_ms);
        if (options->isolate)
            printf("\"isolated_us_per_call\": %.3f, \"isolated_calls_per_run\": %llu, ", us,
                   (unsigned long long)cost->calls);
        if (options->checked) printf("\"checked_times\": %.3f, ", times);
        return;
    }
    if (options->isolate)
        printf("isolated: %.3f us a call, %llu calls a run; without it min_ms=%.6f\n", us,
               (unsigned long long)cost->calls, cost->plain_ms);
    if (options->checked)
        printf("checked: %.1f times the time without; without it min_ms=%.6f\n", times,
               cost->plain_ms);
}

static int sum_up(measurement *all, uint32_t count, bench_times *out_times) {
    measurement merged = {0};
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i].count; k++) {
            if (!keep(&merged, all[i].ms[k])) return cli_fault("no memory for the times");
        }
    }
    if (merged.count == 0) return cli_fault("nothing was measured");
    qsort(merged.ms, merged.count, sizeof(double), compare_double);
    *out_times = (bench_times){.median_ms = merged.ms[merged.count / 2],
                               .min_ms = merged.ms[0],
                               .p99_ms = merged.ms[merged.count * 99 / 100],
                               .runs = merged.count};
    free(merged.ms);
    return EXIT_DONE;
}

static void print_times(const bench_times *times, const tn_context *context,
                        const cli_options *options, const overhead *cost) {
    if (options->json) {
        printf("{");
        if (options->profile) bench_profile_print_json(context);
        print_overhead(cost, times->min_ms, options);
        printf("\"median_ms\": %.6f, \"min_ms\": %.6f, \"p99_ms\": %.6f, \"runs\": %zu}\n",
               times->median_ms, times->min_ms, times->p99_ms, times->runs);
        return;
    }
    if (options->profile) bench_profile_print(context);
    print_overhead(cost, times->min_ms, options);
    printf("median_ms=%.6f min_ms=%.6f p99_ms=%.6f runs=%zu\n", times->median_ms, times->min_ms,
           times->p99_ms, times->runs);
}

/* The same network without guards and helper processes, on one context. */
static int measure_plain(tn_runtime *runtime, const cli_options *options, double *out_ms) {
    cli_options plain = *options;
    plain.no_timing |= options->isolate; /* as it was built here */
    plain.checked = plain.isolate = false;
    int code = EXIT_FAULT;
    tn_engine *engine = session_engine(runtime, options->arguments[0], &plain, true, &code);
    if (!engine) return code;
    const uint32_t inputs = tn_engine_input_count(engine);
    file_tensor *tensors = calloc(inputs + 1u, sizeof(*tensors));
    measurement m = {.seconds = options->seconds};
    code = tensors ? EXIT_DONE : cli_fault("no memory");
    if (code == EXIT_DONE && tn_context_create(engine, &m.context) != TN_OK)
        code = cli_fail("bench");
    if (code == EXIT_DONE) code = session_bind_inputs(engine, m.context, &plain, true, tensors);
    if (code == EXIT_DONE) measure(&m);
    if (m.status != TN_OK) code = cli_fault("%s", m.message);
    if (m.count > 0) {
        qsort(m.ms, m.count, sizeof(double), compare_double);
        *out_ms = m.ms[0];
    }
    tn_context_destroy(m.context);
    for (uint32_t i = 0; tensors && i < inputs; i++)
        file_tensor_free(&tensors[i]);
    free(tensors);
    free(m.ms);
    tn_engine_release(engine);
    return code;
}

static int measure_overhead(tn_runtime *runtime, const cli_options *options,
                            const tn_context *context, overhead *out_cost) {
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    if (!options->checked && !options->isolate) return EXIT_DONE;
    tn_context_get_statistics(context, &statistics);
    if (statistics.runs > 0) out_cost->calls = statistics.isolated_calls / statistics.runs;
    return measure_plain(runtime, options, &out_cost->plain_ms);
}

static int measure_all(tn_runtime *runtime, tn_engine *engine, const cli_options *options,
                       measurement *all, pthread_t *threads, file_tensor *tensors) {
    const uint32_t inputs = tn_engine_input_count(engine);
    for (uint32_t i = 0; i < options->contexts; i++) {
        all[i].seconds = options->seconds;
        if (tn_context_create(engine, &all[i].context) != TN_OK) return cli_fail("bench");
        const int code =
            session_bind_inputs(engine, all[i].context, options, true, tensors + i * inputs);
        if (code != EXIT_DONE) return code;
    }
    uint32_t started = 1;
    while (started < options->contexts &&
           pthread_create(&threads[started], NULL, measure, &all[started]) == 0)
        started++;
    measure(&all[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < started; i++) {
        if (all[i].status != TN_OK) return cli_fault("%s", all[i].message);
    }
    int code = session_write_outputs(engine, all[0].context, options);
    if (code == EXIT_DONE && options->profile)
        code = bench_profile_run(all[0].context, options->seconds);
    overhead cost = {0};
    bench_times times = {0};
    if (code == EXIT_DONE) code = measure_overhead(runtime, options, all[0].context, &cost);
    if (code == EXIT_DONE) code = sum_up(all, started, &times);
    if (code == EXIT_DONE && options->html)
        code = bench_profile_write_page(runtime, all[0].context, options->arguments[0], &times,
                                        options->html);
    if (code == EXIT_DONE) print_times(&times, all[0].context, options, &cost);
    return code;
}

static int bench(tn_runtime *runtime, tn_engine *engine, const cli_options *options) {
    const size_t inputs = tn_engine_input_count(engine);
    measurement *all = calloc(options->contexts, sizeof(*all));
    pthread_t *threads = calloc(options->contexts, sizeof(*threads));
    file_tensor *tensors = calloc(inputs * options->contexts + 1, sizeof(*tensors));
    int code = all && threads && tensors
                   ? measure_all(runtime, engine, options, all, threads, tensors)
                   : cli_fault("no memory");
    for (uint32_t i = 0; all && i < options->contexts; i++) {
        tn_context_destroy(all[i].context);
        free(all[i].ms);
    }
    for (size_t i = 0; tensors && i < inputs * options->contexts; i++)
        file_tensor_free(&tensors[i]);
    free(tensors);
    free(threads);
    free(all);
    return code;
}

int command_bench(int argc, char **argv) {
    cli_options options;
    int code =
        cli_options_read(argc, argv, "pPwsbiodtcTYSnfOxajLCmkNFEKMIJvBGQUXqzZeH0678", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
        importers_print_options();
    } else if (code == EXIT_DONE && (options.argument_count != 1 || options.contexts < 1)) {
        code = cli_usage("bench takes one model or plan and at least one context (tenon bench -h)");
    } else if (code == EXIT_DONE && (code = option_use_check(&options)) == EXIT_DONE) {
        tn_runtime *runtime = cli_runtime(&options, &code);
        tn_engine *engine =
            runtime ? session_engine(runtime, options.arguments[0], &options, true, &code) : NULL;
        if (engine) code = bench(runtime, engine, &options);
        tn_engine_release(engine);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
