/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of refits share: networks whose constants come from a seed, and a run of an engine
 * on numbers that are always the same.
 */
#ifndef TN_TESTS_REFIT_NETS_H
#define TN_TESTS_REFIT_NETS_H

#include <tenon/plugin/body.h> /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "base/status.h"
#include "graph/graph.h"

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

static inline void must(tn_status status) {
    if (status != TN_OK)
        fail_msg("%s %s: %s", tn_status_name(status), tn_last_error()->where,
                 tn_last_error()->message);
}

#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})
#define IDS(...)   ((const tn_tensor_id[]){__VA_ARGS__})

enum { NET_CAPACITY = 1 << 16, NET_OUTPUTS = 4096 };

/* Another number for each name, index and seed. */
static inline float net_number(const char *name, size_t index, uint32_t seed) {
    uint32_t hash = 2166136261u + seed * 40503u;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    hash = (hash ^ (uint32_t)index) * 16777619u;
    hash ^= hash >> 15;
    return (float)(hash % 2001) / 2000.0f - 0.5f;
}

/* A constant of numbers about `middle`. */
static inline tn_tensor_id net_constant(tn_graph *graph, const char *name, uint32_t seed,
                                        float middle, uint32_t rank, const int64_t *shape) {
    static _Thread_local float values[NET_CAPACITY];
    tn_tensor_id id = TN_NO_TENSOR;
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= (size_t)shape[i];
    assert_true(count <= NET_CAPACITY);
    for (size_t i = 0; i < count; i++)
        values[i] = middle + (middle == 0 ? 1.0f : 0.5f) * net_number(name, i, seed);
    must(tn_graph_add_constant(graph, name, TN_F32, rank, shape, values, count * sizeof(float),
                               &id));
    return id;
}

static inline tn_attribute net_integers(const char *name, uint64_t count, const int64_t *items) {
    return (tn_attribute){.size = sizeof(tn_attribute),
                          .type = TN_FIELD_I64S,
                          .name = name,
                          .count = count,
                          .items = items};
}

static inline tn_attribute net_integer(const char *name, int64_t i) {
    return (tn_attribute){.size = sizeof(tn_attribute), .type = TN_FIELD_I64, .name = name, .i = i};
}

static inline tn_tensor_id net_node_of(tn_graph *graph, const char *domain, uint32_t version,
                                       const char *op, const char *name, uint32_t input_count,
                                       const tn_tensor_id *inputs, uint32_t attribute_count,
                                       const tn_attribute *given) {
    const tn_attribute *attributes[4];
    tn_tensor_id id = TN_NO_TENSOR;
    for (uint32_t i = 0; i < attribute_count; i++)
        attributes[i] = &given[i];
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .version = version,
                                      .op = op,
                                      .name = name,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .output_count = 1,
                                      .attribute_count = attribute_count,
                                      .attributes = attributes};
    must(tn_graph_add_node(graph, &node, &id));
    return id;
}

static inline tn_tensor_id net_node(tn_graph *graph, const char *op, const char *name,
                                    uint32_t input_count, const tn_tensor_id *inputs) {
    return net_node_of(graph, "", 17, op, name, input_count, inputs, 0, NULL);
}

static inline tn_tensor_id net_input(tn_graph *graph, uint32_t rank, const int64_t *shape) {
    tn_tensor_id id = TN_NO_TENSOR;
    must(tn_graph_add_input(graph, "x", TN_F32, rank, shape, NULL, &id));
    return id;
}

/* --- networks --- */

static inline tn_tensor_id net_conv(tn_graph *graph, const char *name, tn_tensor_id x,
                                    int64_t channels, int64_t outputs, uint32_t seed) {
    char weights[32], bias[32];
    snprintf(weights, sizeof(weights), "%s.w", name);
    snprintf(bias, sizeof(bias), "%s.b", name);
    const tn_attribute attributes[] = {net_integers("kernel_shape", 2, SHAPE(5, 5)),
                                       net_integers("pads", 4, SHAPE(2, 2, 2, 2))};
    const tn_tensor_id w = net_constant(graph, weights, seed, 0, 4, SHAPE(outputs, channels, 5, 5));
    const tn_tensor_id b = net_constant(graph, bias, seed, 0, 1, SHAPE(outputs));
    return net_node_of(graph, "", 17, "Conv", name, 3, IDS(x, w, b), 2, attributes);
}

static inline tn_tensor_id net_pool(tn_graph *graph, const char *name, tn_tensor_id x) {
    const tn_attribute attributes[] = {net_integers("kernel_shape", 2, SHAPE(2, 2)),
                                       net_integers("strides", 2, SHAPE(2, 2))};
    return net_node_of(graph, "", 17, "MaxPool", name, 1, IDS(x), 2, attributes);
}

/* LeNet's layers, with a normalisation and a PRelu. */
static inline void net_lenet(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 4, SHAPE(2, 1, 28, 28));
    tn_tensor_id y = net_conv(graph, "conv1", x, 1, 6, seed);
    const tn_tensor_id scale = net_constant(graph, "bn.scale", seed, 1, 1, SHAPE(6)),
                       bias = net_constant(graph, "bn.bias", seed, 0, 1, SHAPE(6)),
                       mean = net_constant(graph, "bn.mean", seed, 0, 1, SHAPE(6)),
                       variance = net_constant(graph, "bn.var", seed, 2, 1, SHAPE(6));
    y = net_node(graph, "BatchNormalization", "bn", 5, IDS(y, scale, bias, mean, variance));
    const tn_tensor_id slope = net_constant(graph, "prelu.slope", seed, 0.25f, 3, SHAPE(6, 1, 1));
    y = net_node(graph, "PRelu", "prelu", 2, IDS(y, slope));
    y = net_pool(graph, "pool1", y);
    y = net_conv(graph, "conv2", y, 6, 16, seed);
    y = net_pool(graph, "pool2", net_node(graph, "Relu", "relu2", 1, IDS(y)));
    y = net_node_of(graph, "", 17, "Flatten", "flatten", 1, IDS(y), 0, NULL);
    const tn_attribute turned = net_integer("transB", 1);
    const tn_tensor_id w1 = net_constant(graph, "fc1.w", seed, 0, 2, SHAPE(32, 784)),
                       b1 = net_constant(graph, "fc1.b", seed, 0, 1, SHAPE(32));
    y = net_node_of(graph, "", 17, "Gemm", "fc1", 3, IDS(y, w1, b1), 1, &turned);
    y = net_node(graph, "Relu", "relu3", 1, IDS(y));
    const tn_tensor_id w2 = net_constant(graph, "fc2.w", seed, 0, 2, SHAPE(32, 10)),
                       b2 = net_constant(graph, "fc2.b", seed, 0, 1, SHAPE(10));
    y = net_node(graph, "Add", "fc2.add", 2,
                 IDS(net_node(graph, "MatMul", "fc2", 2, IDS(y, w2)), b2));
    must(tn_graph_add_output(graph, y, "y"));
}

/* Constants that several nodes read, that are computed with, that scale and bound. */
static inline void net_shared(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 2, SHAPE(4, 8));
    const tn_tensor_id w = net_constant(graph, "w", seed, 0, 2, SHAPE(8, 8)),
                       gain = net_constant(graph, "gain", seed, 1, 1, SHAPE(8)),
                       shift = net_constant(graph, "shift", seed, 0, 0, NULL),
                       low = net_constant(graph, "low", seed, -1, 0, NULL),
                       high = net_constant(graph, "high", seed, 1, 0, NULL);
    tn_tensor_id y = net_node(graph, "MatMul", "first", 2, IDS(x, w));
    y = net_node(graph, "Clip", "clip", 3, IDS(y, low, high));
    const tn_tensor_id turned = net_node(graph, "Transpose", "turned", 1, IDS(w));
    const tn_tensor_id scaled = net_node(graph, "Mul", "scaled", 2, IDS(turned, gain));
    y = net_node(graph, "MatMul", "second", 2, IDS(y, scaled));
    y = net_node(graph, "Add", "shifted", 2,
                 IDS(net_node(graph, "Mul", "gained", 2, IDS(y, gain)), shift));
    const tn_tensor_id again = net_node(graph, "MatMul", "third", 2, IDS(y, w));
    y = net_node(graph, "Add", "sum", 2, IDS(again, y));
    must(tn_graph_add_output(graph, y, "y"));
    /* two of them that are equal at first (seed 1) */
    const tn_tensor_id twin = net_constant(graph, "twin", seed == 1 ? 9 : seed, 0, 1, SHAPE(8));
    float values[8];
    for (size_t i = 0; i < 8; i++)
        values[i] = net_number("twin", i, seed == 1 ? 9 : seed + 50);
    tn_tensor_id other = TN_NO_TENSOR;
    must(
        tn_graph_add_constant(graph, "other", TN_F32, 1, SHAPE(8), values, sizeof(values), &other));
    must(tn_graph_add_output(graph, net_node(graph, "Mul", "by_twin", 2, IDS(y, twin)), "z"));
    must(tn_graph_add_output(graph, net_node(graph, "Mul", "by_other", 2, IDS(y, other)), "u"));
}

/* A layer normalisation in nine nodes, and a GELU whose numbers are constants of the network. */
static inline void net_rewritten(tn_graph *graph, uint32_t seed) {
    const float numbers[] = {1e-5f, 2, 1.41421356f, 1, 0.5f};
    const char *const names[] = {"epsilon", "two", "root", "one", "half"};
    const tn_tensor_id x = net_input(graph, 2, SHAPE(4, 16));
    tn_tensor_id ids[5];
    for (uint32_t i = 0; i < 5; i++) {
        const float number = seed == 1 || i == 1 ? numbers[i] : numbers[i] * 1.5f;
        must(tn_graph_add_constant(graph, names[i], TN_F32, 0, NULL, &number, 4, &ids[i]));
    }
    const tn_attribute axes = net_integers("axes", 1, SHAPE(-1));
    const tn_tensor_id mean = net_node_of(graph, "", 13, "ReduceMean", "mean", 1, IDS(x), 1, &axes);
    const tn_tensor_id moved = net_node(graph, "Sub", "moved", 2, IDS(x, mean));
    const tn_tensor_id square = net_node(graph, "Pow", "square", 2, IDS(moved, ids[1]));
    const tn_tensor_id variance =
        net_node_of(graph, "", 13, "ReduceMean", "variance", 1, IDS(square), 1, &axes);
    const tn_tensor_id sum = net_node(graph, "Add", "plus", 2, IDS(variance, ids[0]));
    tn_tensor_id y = net_node(graph, "Div", "normal", 2,
                              IDS(moved, net_node(graph, "Sqrt", "deviation", 1, IDS(sum))));
    y = net_node(graph, "Mul", "factor", 2,
                 IDS(y, net_constant(graph, "ln.scale", seed, 1, 1, SHAPE(16))));
    y = net_node(graph, "Add", "bias", 2,
                 IDS(y, net_constant(graph, "ln.bias", seed, 0, 1, SHAPE(16))));
    const tn_tensor_id erf =
        net_node(graph, "Erf", "erf", 1, IDS(net_node(graph, "Div", "inner", 2, IDS(y, ids[2]))));
    const tn_tensor_id outer = net_node(
        graph, "Mul", "outer", 2, IDS(y, net_node(graph, "Add", "more", 2, IDS(erf, ids[3]))));
    must(tn_graph_add_output(graph, net_node(graph, "Mul", "gelu", 2, IDS(outer, ids[4])), "y"));
}

/* Of tests/refit/keep.c: y = 2 * x + w. */
static inline void net_keep(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 2, SHAPE(3, 8));
    tn_tensor_id y = net_node_of(graph, "Test", 1, "Keep", "keep", 2,
                                 IDS(x, net_constant(graph, "w", seed, 0, 1, SHAPE(8))), 0, NULL);
    y = net_node(graph, "Mul", "gained", 2,
                 IDS(y, net_constant(graph, "gain", seed, 0, 1, SHAPE(8))));
    y = net_node_of(graph, "Test", 1, "Keep", "fixed", 2,
                    IDS(y, net_constant(graph, "fixed", 1, 0, 1, SHAPE(8))), 0, NULL);
    must(tn_graph_add_output(graph, y, "y"));
}

/* One branch of an If of tests/bodies: x times a constant of its own, plus one of the name that the
 * network around it has, too. */
static inline const tn_body_graph *net_branch(tn_graph *graph, const char *own, uint32_t seed) {
    const tn_body_graph *body = NULL;
    tn_graph *made = NULL;
    must(tn_graph_create(graph->runtime, own, &made));
    tn_tensor_id x = TN_NO_TENSOR;
    must(tn_graph_add_input(made, "x", TN_F32, UINT32_MAX, NULL, NULL, &x));
    tn_tensor_id y =
        net_node(made, "MatMul", "m", 2, IDS(x, net_constant(made, own, seed, 0, 2, SHAPE(8, 8))));
    y = net_node(made, "Add", "a", 2, IDS(y, net_constant(made, "common", seed, 0, 1, SHAPE(8))));
    must(tn_graph_add_output(made, y, "y"));
    must(tn_graph_add_body(graph, made, 1, &body));
    return body;
}

static inline tn_attribute net_graph(const char *name, const tn_body_graph *body) {
    return (tn_attribute){
        .size = sizeof(tn_attribute), .type = TN_FIELD_GRAPH, .name = name, .graph = body};
}

static inline void net_bodies(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 2, SHAPE(2, 8));
    tn_tensor_id go = TN_NO_TENSOR;
    must(tn_graph_add_input(graph, "go", TN_BOOL, 0, NULL, NULL, &go));
    const tn_tensor_id before = net_node(
        graph, "Add", "before", 2, IDS(x, net_constant(graph, "common", seed, 0, 1, SHAPE(8))));
    const tn_attribute attributes[] = {net_graph("then_branch", net_branch(graph, "yes", seed)),
                                       net_graph("else_branch", net_branch(graph, "no", seed))};
    const tn_tensor_id y =
        net_node_of(graph, "Test", 1, "If", "if", 3, IDS(go, before, before), 2, attributes);
    must(tn_graph_add_output(graph, net_node(graph, "Relu", "relu", 1, IDS(y)), "y"));
}

/* --- from network to result --- */

typedef void (*net_maker)(tn_graph *graph, uint32_t seed);

static inline tn_graph *net_make(tn_runtime *runtime, net_maker maker, uint32_t seed) {
    tn_graph *graph = NULL;
    must(tn_graph_create(runtime, "net", &graph));
    maker(graph, seed);
    return graph;
}

static inline tn_builder_options net_options(uint32_t flags) {
    return (tn_builder_options){
        .size = sizeof(tn_builder_options), .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
}

static inline tn_plan *net_build(tn_runtime *runtime, net_maker maker, uint32_t seed,
                                 const tn_builder_options *options) {
    tn_plan *plan = NULL;
    tn_graph *graph = net_make(runtime, maker, seed);
    must(tn_build(graph, options, &plan));
    tn_graph_destroy(graph);
    return plan;
}

static inline tn_engine *net_load(tn_runtime *runtime, const tn_plan *plan, uint32_t flags,
                                  const char *device) {
    const tn_engine_options options = {.size = sizeof(options), .flags = flags, .device = device};
    uint64_t bytes = 0;
    const void *data = tn_plan_bytes(plan, &bytes);
    tn_engine *engine = NULL;
    must(tn_engine_load_bytes(runtime, data, bytes, &options, &engine));
    return engine;
}

static inline tn_engine *net_engine(tn_runtime *runtime, net_maker maker, uint32_t seed,
                                    uint32_t build_flags) {
    const tn_builder_options options = net_options(build_flags);
    tn_plan *plan = net_build(runtime, maker, seed, &options);
    tn_engine *engine = net_load(runtime, plan, 0, NULL);
    tn_plan_destroy(plan);
    return engine;
}

/* All outputs one after another; answers how many numbers. */
static inline tn_status net_try(tn_context *context, tn_engine *engine, bool go, float *out,
                                size_t *out_count) {
    _Alignas(64) static _Thread_local float x[NET_CAPACITY];
    tn_status status = TN_OK;
    size_t count = 0;
    for (size_t i = 0; i < NET_CAPACITY; i++)
        x[i] = net_number("x", i, 3);
    status = tn_context_bind_input(context, 0, x, sizeof(x));
    if (status == TN_OK && tn_engine_input_count(engine) > 1)
        status = tn_context_bind_input(context, 1, &go, 1);
    if (status == TN_OK) status = tn_context_run(context);
    for (uint32_t i = 0; i < tn_engine_output_count(engine) && status == TN_OK; i++) {
        const tn_tensor *made = NULL;
        status = tn_context_output(context, i, &made);
        if (status != TN_OK) break;
        memcpy(out + count, made->data, (size_t)made->bytes);
        count += (size_t)made->bytes / sizeof(float);
    }
    *out_count = count;
    return status;
}

static inline size_t net_run(tn_engine *engine, bool go, float *out) {
    tn_context *context = NULL;
    size_t count = 0;
    must(tn_context_create(engine, &context));
    must(net_try(context, engine, go, out, &count));
    tn_context_destroy(context);
    return count;
}

/* A tolerance of 0: the same bits. */
static inline void net_compare(const float *found, const float *expected, size_t count,
                               float tolerance, const char *what) {
    for (size_t i = 0; i < count; i++) {
        const float difference = fabsf(found[i] - expected[i]);
        if (tolerance == 0 ? memcmp(&found[i], &expected[i], 4) != 0
                           : !(difference <= tolerance * (1 + fabsf(expected[i]))))
            fail_msg("%s: number %zu is %.9g, not %.9g", what, i, (double)found[i],
                     (double)expected[i]);
    }
}

/* The engine with all constants of another seed. */
static inline tn_engine *net_refit(tn_engine *engine, tn_runtime *runtime, net_maker maker,
                                   uint32_t seed) {
    tn_refit *refit = NULL;
    tn_engine *made = NULL;
    tn_graph *graph = net_make(runtime, maker, seed);
    must(tn_refit_create(engine, &refit));
    must(tn_refit_set_all(refit, graph, NULL));
    must(tn_refit_apply(refit, &made));
    tn_refit_destroy(refit);
    tn_graph_destroy(graph);
    return made;
}

#endif
