/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of the public interface run: a chain of nodes of an operator of their own,
 * which can neither be fused nor lie in place, on one or two elements. By the public interface
 * alone, like any program; each program that includes this is the library of its operator.
 */
#ifndef TN_BENCH_STEP_H
#define TN_BENCH_STEP_H

#include <stdio.h>
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
TN_LIBRARY("bench_step", "1", step_operators, step_kernels)

/* --- the network --- */

/* `nodes` and `input` are the caller's. */
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

/* A context for one or two elements, its input and output bound. tear_down also after a failure. */
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

/* What comes out. */
static bool is_right(const bench *b) {
    return b->output[0] == b->input[0] + (float)b->nodes;
}

/* --- for what is measured --- */

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#endif
