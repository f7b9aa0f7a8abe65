/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole network in 32-bit floats and in lower precision, side by side: builds both plans with
 * measured kernels, runs them in turn, and prints the medians, their ratio, the loss of the
 * outputs (sum |y - y32| / sum |y32|), and the steps of both with their times. For 8 bits the
 * scales come from the largest magnitudes over a few random inputs in 0..1.
 *
 *     tenon-bench-precision MODEL.onnx [--precision int8|fp16|bf16] [--threads N] [--seconds S]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/calibrate.h>
#include <tenon/tenon.h>
#include <time.h>

enum { BATCHES = 4, INPUTS = 8, TIMES = 200000 };

typedef struct side {
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    double *times_ns;
    size_t count;
} side;

typedef struct bench {
    tn_runtime *runtime;
    tn_graph *graph;
    uint32_t threads;
    double seconds;
    tn_tensor tensors[INPUTS];
    int64_t shapes[INPUTS][TN_MAX_RANK];
    float *data[INPUTS];
    size_t counts[INPUTS];
    side sides[2];
} bench;

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Unknown extents are 1. */
static tn_status make_inputs(bench *b) {
    if (tn_graph_input_count(b->graph) > INPUTS) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < tn_graph_input_count(b->graph); i++) {
        const tn_port_info *info = tn_graph_input(b->graph, i);
        b->counts[i] = 1;
        for (uint32_t k = 0; k < info->rank; k++) {
            b->shapes[i][k] = info->extents[k] < 1 ? 1 : info->extents[k];
            b->counts[i] *= (size_t)b->shapes[i][k];
        }
        if (info->type != TN_F32) return TN_ERROR_UNSUPPORTED;
        b->data[i] = malloc(b->counts[i] * sizeof(float));
        if (!b->data[i]) return TN_ERROR_MEMORY;
        b->tensors[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                    .type = TN_F32,
                                    .rank = info->rank,
                                    .data = b->data[i],
                                    .bytes = b->counts[i] * sizeof(float),
                                    .shape = b->shapes[i],
                                    .name = info->name};
    }
    return TN_OK;
}

static tn_status read_batch(void *user, uint64_t index, const tn_tensor **out_inputs) {
    bench *b = user;
    uint32_t state = 1234567u + (uint32_t)index;
    for (uint32_t i = 0; i < tn_graph_input_count(b->graph); i++) {
        for (size_t k = 0; k < b->counts[i]; k++) {
            state = state * 1664525u + 1013904223u;
            b->data[i][k] = (float)(state >> 8) / (float)(1 << 24);
        }
        out_inputs[i] = &b->tensors[i];
    }
    return TN_OK;
}

static tn_status make_side(bench *b, side *s, const tn_builder_options *options) {
    const tn_tensor *inputs[INPUTS];
    uint64_t bytes;
    s->times_ns = malloc(TIMES * sizeof(*s->times_ns));
    if (!s->times_ns) return TN_ERROR_MEMORY;
    tn_status status = tn_build(b->graph, options, &s->plan);
    if (status != TN_OK) return status;
    const void *data = tn_plan_bytes(s->plan, &bytes);
    status = tn_engine_load_bytes(b->runtime, data, bytes, NULL, &s->engine);
    if (status == TN_OK) status = tn_context_create(s->engine, &s->context);
    if (status == TN_OK) status = read_batch(b, 0, inputs);
    for (uint32_t i = 0; i < tn_graph_input_count(b->graph) && status == TN_OK; i++) {
        status = tn_context_set_shape(s->context, i, b->tensors[i].rank, b->shapes[i]);
        if (status == TN_OK)
            status = tn_context_bind_input(s->context, i, b->data[i], b->counts[i] * sizeof(float));
    }
    return status;
}

static tn_status measure(bench *b) {
    const double end = now_ns() + b->seconds * 1e9;
    tn_status status = TN_OK;
    /* Rounds of 20 runs, so that each side works in caches of its own. */
    while (now_ns() < end && status == TN_OK) {
        for (int i = 0; i < 2; i++) {
            side *s = &b->sides[i];
            for (int k = 0; k < 20 && status == TN_OK && s->count < TIMES; k++) {
                const double begin = now_ns();
                status = tn_context_run(s->context);
                s->times_ns[s->count++] = now_ns() - begin;
            }
        }
    }
    return status;
}

static int compare_times(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_us(side *s) {
    qsort(s->times_ns, s->count, sizeof(*s->times_ns), compare_times);
    return s->count ? s->times_ns[s->count / 2] / 1e3 : 0;
}

static tn_status print_loss(bench *b) {
    double worst = 0;
    for (uint32_t o = 0; o < tn_engine_output_count(b->sides[0].engine); o++) {
        const tn_tensor *wanted, *found;
        double error = 0, sum = 0;
        tn_status status = tn_context_output(b->sides[0].context, o, &wanted);
        if (status == TN_OK) status = tn_context_output(b->sides[1].context, o, &found);
        if (status != TN_OK) return status;
        for (size_t i = 0; i < wanted->bytes / sizeof(float) && wanted->type == TN_F32; i++) {
            const double y = (double)((const float *)wanted->data)[i];
            error += fabs((double)((const float *)found->data)[i] - y);
            sum += fabs(y);
        }
        worst = fmax(worst, sum > 0 ? error / sum : 0);
    }
    printf("loss %.5f\n", worst);
    return TN_OK;
}

static tn_status print_profile(side *s, const char *name) {
    enum { RUNS = 50 };
    tn_status status = tn_context_set_profiling(s->context, true);
    for (int run = 0; run < RUNS && status == TN_OK; run++)
        status = tn_context_run(s->context);
    printf("%s:\n", name);
    for (uint32_t i = 0; i < tn_context_profile_count(s->context); i++) {
        const tn_profile_entry *entry = tn_context_profile(s->context, i);
        printf("  %10.2f us  %s  %s  %s\n", (double)entry->minimum_ns / 1e3, entry->node, entry->op,
               entry->kernel);
    }
    return status;
}

static tn_status bench_model(bench *b, uint32_t precision, const char *name) {
    const tn_batches batches = {
        .size = sizeof(batches), .count = BATCHES, .read = read_batch, .user = b};
    tn_builder_options options = {.size = sizeof(options), .threads = b->threads};
    const tn_calibrate_options calibrate = {.size = sizeof(calibrate),
                                            .calibrator = TN_CALIBRATOR_MIN_MAX,
                                            .build = &options,
                                            .batches = &batches};
    tn_calibration *scales = NULL;
    tn_status status = make_inputs(b);
    if (status == TN_OK) status = tn_calibrate(b->graph, &calibrate, &scales, NULL);
    if (status == TN_OK) status = make_side(b, &b->sides[0], &options);
    options.precision = precision;
    options.calibration = scales;
    if (status == TN_OK) status = make_side(b, &b->sides[1], &options);
    if (status == TN_OK) status = measure(b);
    if (status == TN_OK) status = print_loss(b);
    if (status == TN_OK) status = print_profile(&b->sides[0], "fp32");
    if (status == TN_OK) status = print_profile(&b->sides[1], name);
    if (status == TN_OK) {
        const double wide = median_us(&b->sides[0]), narrow = median_us(&b->sides[1]);
        printf("fp32_us=%.2f %s_us=%.2f ratio=%.3f\n", wide, name, narrow, narrow / wide);
    }
    tn_calibration_destroy(scales);
    return status;
}

int main(int argc, char **argv) {
    static bench b = {.threads = 1, .seconds = 2};
    const char *model = NULL, *name = "int8";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            b.threads = (uint32_t)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            b.seconds = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--precision") == 0 && i + 1 < argc)
            name = argv[++i];
        else
            model = argv[i];
    }
    const uint32_t precision = strcmp(name, "fp16") == 0   ? TN_PRECISION_F16
                               : strcmp(name, "bf16") == 0 ? TN_PRECISION_BF16
                                                           : TN_PRECISION_I8;
    if (!model) {
        fprintf(stderr, "usage: tenon-bench-precision MODEL.onnx [--precision int8|fp16|bf16] "
                        "[--threads N] [--seconds S]\n");
        return 2;
    }
    tn_status status = tn_runtime_create(NULL, &b.runtime);
    if (status == TN_OK) status = tn_graph_load_onnx(b.runtime, model, &b.graph);
    if (status == TN_OK) status = bench_model(&b, precision, name);
    if (status != TN_OK)
        fprintf(stderr, "tenon-bench-precision: %s: %s\n", model, tn_last_error()->message);
    for (int i = 0; i < 2; i++) {
        tn_context_destroy(b.sides[i].context);
        tn_engine_release(b.sides[i].engine);
        tn_plan_destroy(b.sides[i].plan);
        free(b.sides[i].times_ns);
    }
    for (int i = 0; i < INPUTS; i++)
        free(b.data[i]);
    tn_graph_destroy(b.graph);
    tn_runtime_release(b.runtime);
    return status != TN_OK;
}
