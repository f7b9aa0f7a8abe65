/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of the C interface costs by itself: a network of one step (a plugin's, on one
 * element) is run, with and without setting shapes, binding memory and asking for the output before
 * each run. Prints the median and the least nanoseconds of a call, beside the kernel's own. It uses
 * the public interface alone, like any program.
 *
 *     tenon-bench-calls [--rounds N]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <time.h>

/* --- the layer: y = x + 1 --- */

static tn_status step_infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}

static tn_status step_run(tn_call *call) {
    const float *from = call->inputs[0]->data;
    float *to = call->outputs[0]->data;
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        to[i] = from[i] + 1;
    return TN_OK;
}

static const tn_port step_inputs[] = {TN_PORT("x", "f32", 0, "numbers")};
static const tn_port step_outputs[] = {TN_PORT("y", "f32", 0, "one more")};
static const tn_operator step_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "bench",
                                          .name = "Step",
                                          .doc = "y = x + 1",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(step_inputs),
                                          TN_OUTPUTS(step_outputs),
                                          .infer = step_infer,
                                          .reference = step_run};
static const tn_kernel step_kernel = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "bench",
                                      .op = "Step",
                                      .device = "cpu",
                                      .name = "plain",
                                      .run = step_run};
static const tn_operator *const step_operators[] = {&step_operator};
static const tn_kernel *const step_kernels[] = {&step_kernel};
TN_LIBRARY("bench_calls", "1", step_operators, step_kernels)

/* --- the network --- */

typedef struct bench {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    float input[2], output[2];
    int64_t extent;
} bench;

static tn_status set_up(bench *b) {
    static const int64_t any = -1, one = 1, two = 2;
    static const tn_profile_input profile = {.size = sizeof(profile),
                                             .rank = 1,
                                             .name = "x",
                                             .minimum = &one,
                                             .optimum = &one,
                                             .maximum = &two};
    static const tn_profile_input *const profiles[] = {&profile};
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = 1,
                                        .flags = TN_BUILD_NO_TIMING,
                                        .profile_input_count = 1,
                                        .profile_inputs = profiles};
    tn_tensor_id x = TN_NO_TENSOR, y = TN_NO_TENSOR;
    tn_status status = tn_runtime_create(NULL, &b->runtime);
    if (status == TN_OK) status = tn_runtime_register_library(b->runtime, tenon_library_1);
    if (status == TN_OK) status = tn_graph_create(b->runtime, "step", &b->graph);
    if (status == TN_OK) status = tn_graph_add_input(b->graph, "x", TN_F32, 1, &any, NULL, &x);
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "bench",
                                      .op = "Step",
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = &x};
    if (status == TN_OK) status = tn_graph_add_node(b->graph, &node, &y);
    if (status == TN_OK) status = tn_graph_add_output(b->graph, y, "y");
    if (status == TN_OK) status = tn_build(b->graph, &options, &b->plan);
    if (status != TN_OK) return status;
    uint64_t bytes;
    const void *data = tn_plan_bytes(b->plan, &bytes);
    status = tn_engine_load_bytes(b->runtime, data, bytes, NULL, &b->engine);
    if (status == TN_OK) status = tn_context_create(b->engine, &b->context);
    return status;
}

static void tear_down(bench *b) {
    tn_context_destroy(b->context);
    tn_engine_release(b->engine);
    tn_plan_destroy(b->plan);
    tn_graph_destroy(b->graph);
    tn_runtime_release(b->runtime);
}

/* --- the calls --- */

static tn_status set_shape(bench *b) {
    return tn_context_set_shape(b->context, 0, 1, &b->extent);
}
static tn_status set_other_shape(bench *b) {
    b->extent = 3 - b->extent;
    return tn_context_set_shape(b->context, 0, 1, &b->extent);
}
static tn_status bind_input(bench *b) {
    return tn_context_bind_input(b->context, 0, b->input, sizeof(b->input));
}
static tn_status bind_output(bench *b) {
    return tn_context_bind_output(b->context, 0, b->output, sizeof(b->output));
}
static tn_status run(bench *b) {
    return tn_context_run(b->context);
}
static tn_status ask_output(bench *b) {
    const tn_tensor *tensor;
    return tn_context_output(b->context, 0, &tensor);
}

enum { MOST_CALLS = 5, CALLS_A_ROUND = 2000, MOST_ROUNDS = 1000 };

static const struct row {
    const char *name;
    tn_status (*calls[MOST_CALLS])(bench *b);
} rows[] = {{"run", {run}},
            {"bind_input", {bind_input}},
            {"bind_output", {bind_output}},
            {"set_shape", {set_shape}},
            {"output", {ask_output}},
            {"bind_run_output", {bind_input, bind_output, run, ask_output}},
            {"shape_bind_run_output", {set_shape, bind_input, bind_output, run, ask_output}},
            {"other_shape_run", {set_other_shape, run}}};

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tn_status time_row(bench *b, const struct row *row, int rounds) {
    double times[MOST_ROUNDS];
    tn_status status = TN_OK;
    for (int round = 0; round < rounds && status == TN_OK; round++) {
        const double before = now_ns();
        for (int i = 0; i < CALLS_A_ROUND && status == TN_OK; i++)
            for (int call = 0; call < MOST_CALLS && row->calls[call] && status == TN_OK; call++)
                status = row->calls[call](b);
        times[round] = (now_ns() - before) / CALLS_A_ROUND;
    }
    if (status != TN_OK) return status;
    qsort(times, (size_t)rounds, sizeof(double), compare);
    printf("%s_ns=%.1f least=%.1f\n", row->name, times[rounds / 2], times[0]);
    return TN_OK;
}

int main(int argument_count, char **arguments) {
    bench b = {.input = {2, 3}, .extent = 1};
    const int rounds = argument_count == 3 && strcmp(arguments[1], "--rounds") == 0
                           ? atoi(arguments[2])
                           : (argument_count == 1 ? 100 : 0);
    if (rounds < 1 || rounds > MOST_ROUNDS)
        return fprintf(stderr, "usage: tenon-bench-calls [--rounds N]\n"), 2;
    tn_status status = set_up(&b);
    if (status == TN_OK) status = set_other_shape(&b);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && status == TN_OK; i++) {
        if (i == 0) status = bind_input(&b);
        if (i == 0 && status == TN_OK) status = bind_output(&b);
        if (status == TN_OK) status = time_row(&b, &rows[i], rounds);
    }
    const bool is_right = b.output[0] == b.input[0] + 1;
    if (status != TN_OK)
        fprintf(stderr, "tenon-bench-calls: %s %s\n", tn_last_error()->where,
                tn_last_error()->message);
    else if (!is_right)
        fprintf(stderr, "tenon-bench-calls: the result is %g\n", (double)b.output[0]);
    tear_down(&b);
    return status == TN_OK && is_right ? 0 : 1;
}
