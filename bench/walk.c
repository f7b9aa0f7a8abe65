/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walk costs: a chain of 1,000 nodes of a plugin's operator that can neither be fused nor
 * lie in place, on one element. Prints nanoseconds a node, those of the kernel when it is called
 * directly in a loop, and the difference; and the allocations that were counted in runs with the
 * same shape and with two shapes in turn. It uses the public interface alone, like any program.
 *
 *     tenon-bench-walk [--nodes N] [--limit NANOSECONDS]
 *
 * Exit: 0; 1 when something fails, the difference is not below the limit, or a run allocates.
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
TN_LIBRARY("bench_walk", "1", step_operators, step_kernels)

/* --- the network --- */

typedef struct bench {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    uint32_t nodes;
    float input[2], output[2];
} bench;

static tn_status add_chain(bench *b) {
    const int64_t any = -1;
    tn_tensor_id tensor = TN_NO_TENSOR;
    tn_status status = tn_graph_add_input(b->graph, "x", TN_F32, 1, &any, NULL, &tensor);
    for (uint32_t i = 0; i < b->nodes && status == TN_OK; i++) {
        const tn_tensor_id input = tensor;
        const tn_node_description node = {.size = sizeof(node),
                                          .domain = "bench",
                                          .op = "Step",
                                          .input_count = 1,
                                          .output_count = 1,
                                          .inputs = &input};
        status = tn_graph_add_node(b->graph, &node, &tensor);
    }
    return status == TN_OK ? tn_graph_add_output(b->graph, tensor, "y") : status;
}

static tn_status set_up(bench *b) {
    static const int64_t one = 1, two = 2;
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
    tn_status status = tn_runtime_create(NULL, &b->runtime);
    if (status == TN_OK) status = tn_runtime_register_library(b->runtime, tenon_library_1);
    if (status == TN_OK) status = tn_graph_create(b->runtime, "chain", &b->graph);
    if (status == TN_OK) status = add_chain(b);
    if (status == TN_OK) status = tn_build(b->graph, &options, &b->plan);
    if (status != TN_OK) return status;
    uint64_t bytes;
    const void *data = tn_plan_bytes(b->plan, &bytes);
    status = tn_engine_load_bytes(b->runtime, data, bytes, NULL, &b->engine);
    if (status == TN_OK) status = tn_context_create(b->engine, &b->context);
    if (status == TN_OK) status = tn_context_bind_input(b->context, 0, b->input, sizeof(b->input));
    if (status == TN_OK)
        status = tn_context_bind_output(b->context, 0, b->output, sizeof(b->output));
    return status;
}

static void tear_down(bench *b) {
    tn_context_destroy(b->context);
    tn_engine_release(b->engine);
    tn_plan_destroy(b->plan);
    tn_graph_destroy(b->graph);
    tn_runtime_release(b->runtime);
}

/* --- the figures --- */

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t allocations(const bench *b) {
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(b->context, &statistics);
    return statistics.allocations;
}

static tn_status run_with(bench *b, int64_t extent) {
    const tn_status status = tn_context_set_shape(b->context, 0, 1, &extent);
    return status == TN_OK ? tn_context_run(b->context) : status;
}

enum { ROUNDS = 30, RUNS_A_ROUND = 100 };

/* The shortest of several rounds, a node. */
static tn_status time_walk(bench *b, double *out_ns) {
    tn_status status = run_with(b, 1);
    *out_ns = 1e30;
    for (int round = 0; round < ROUNDS && status == TN_OK; round++) {
        const double before = now_ns();
        for (int i = 0; i < RUNS_A_ROUND && status == TN_OK; i++)
            status = tn_context_run(b->context);
        const double ns = (now_ns() - before) / RUNS_A_ROUND / b->nodes;
        if (ns < *out_ns) *out_ns = ns;
    }
    return status;
}

/* The kernel alone, through a pointer that the compiler cannot see through. */
static double time_kernel(const bench *b) {
    int64_t extent = 1, stride = 1;
    float data[2] = {0};
    tn_tensor tensors[2];
    for (int i = 0; i < 2; i++)
        tensors[i] = (tn_tensor){.size = sizeof(tn_tensor),
                                 .type = TN_F32,
                                 .rank = 1,
                                 .data = &data[i],
                                 .bytes = sizeof(float),
                                 .shape = &extent,
                                 .strides = &stride};
    const tn_tensor *const inputs[] = {&tensors[0]};
    tn_tensor *const outputs[] = {&tensors[1]};
    tn_call call = {.size = sizeof(call),
                    .input_count = 1,
                    .output_count = 1,
                    .inputs = inputs,
                    .outputs = outputs};
    tn_status (*volatile run)(tn_call *) = step_run;
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        const double before = now_ns();
        for (uint32_t i = 0; i < b->nodes * RUNS_A_ROUND; i++)
            run(&call);
        const double ns = (now_ns() - before) / RUNS_A_ROUND / b->nodes;
        if (ns < best) best = ns;
    }
    return best;
}

/* Allocations of ten runs after both shapes were seen. */
static tn_status count_allocations(bench *b, bool alternates, uint64_t *out_count) {
    tn_status status = run_with(b, 1);
    if (status == TN_OK) status = run_with(b, 2);
    const uint64_t before = allocations(b);
    for (int i = 0; i < 10 && status == TN_OK; i++)
        status = run_with(b, alternates ? 1 + i % 2 : 2);
    *out_count = allocations(b) - before;
    return status;
}

static bool is_right(const bench *b) {
    return b->output[0] == b->input[0] + (float)b->nodes;
}

static int measure(bench *b, double limit) {
    double walk = 0, kernel = 0;
    uint64_t same = 0, alternating = 0;
    tn_status status = set_up(b);
    if (status == TN_OK) status = time_walk(b, &walk);
    if (status == TN_OK) status = count_allocations(b, false, &same);
    if (status == TN_OK) status = count_allocations(b, true, &alternating);
    if (status != TN_OK) {
        fprintf(stderr, "tenon-bench-walk: %s %s\n", tn_last_error()->where,
                tn_last_error()->message);
        return 1;
    }
    if (!is_right(b)) {
        fprintf(stderr, "tenon-bench-walk: the result is %g, expected %g\n", (double)b->output[0],
                (double)b->input[0] + b->nodes);
        return 1;
    }
    kernel = time_kernel(b);
    printf("walk_ns=%.1f kernel_ns=%.1f beyond_ns=%.1f nodes=%u allocations=%llu "
           "allocations_alternating=%llu\n",
           walk, kernel, walk - kernel, b->nodes, (unsigned long long)same,
           (unsigned long long)alternating);
    return walk - kernel < limit && same == 0 && alternating == 0 ? 0 : 1;
}

int main(int argument_count, char **arguments) {
    bench b = {.nodes = 1000, .input = {2, 3}};
    double limit = 1e30;
    for (int i = 1; i < argument_count; i += 2) {
        const char *value = i + 1 < argument_count ? arguments[i + 1] : NULL;
        if (value && strcmp(arguments[i], "--nodes") == 0 && atoi(value) > 0) {
            b.nodes = (uint32_t)atoi(value);
        } else if (value && strcmp(arguments[i], "--limit") == 0 && atof(value) > 0) {
            limit = atof(value);
        } else {
            fprintf(stderr, "usage: tenon-bench-walk [--nodes N] [--limit NANOSECONDS]\n");
            return 2;
        }
    }
    const int code = measure(&b, limit);
    tear_down(&b);
    return code;
}
