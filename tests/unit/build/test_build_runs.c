/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of random networks, built in every way, compute what the references compute, bit for bit:
 * fusion, formats, conversions, views, in-place steps, folding and dropped nodes must not show.
 */
#include "build_test.h"

#include <tenon/engine.h>

enum { CHANNELS = 20, OUTPUTS = 3, NODE_LIMIT = 14 };

static uint32_t draw(uint32_t *seed, uint32_t below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 10) % below;
}

typedef struct network {
    tn_tensor_id images[NODE_LIMIT + 2];
    uint32_t count;
} network;

/* Mostly the last tensor, so that chains come up. */
static tn_tensor_id pick(const network *net, uint32_t *seed) {
    return net->images[draw(seed, 3) ? net->count - 1 : draw(seed, net->count)];
}

static tn_tensor_id add_random_node(tn_graph *graph, const network *net, uint32_t *seed) {
    tn_tensor_id x = pick(net, seed);
    switch (draw(seed, 9)) {
    case 0:
    case 1:
    case 2:
        return add_node(graph, "Mix", NULL, 2,
                        TENSORS(x, add_floats(graph, NULL, 1, EXTENTS(CHANNELS))));
    case 3:
        return add_node(graph, "Plus", NULL, 2, TENSORS(x, pick(net, seed)));
    case 4: {
        tn_tensor_id bias = add_floats(graph, NULL, 1, EXTENTS(CHANNELS));
        return add_node(graph, "Plus", NULL, 2, TENSORS(x, add_unary(graph, "Relu", NULL, bias)));
    }
    case 5:
        return add_unary(graph, "Relu", NULL, x);
    case 6:
        return add_with_int(graph, "Scale", NULL, x, "factor", draw(seed, 2) ? 3 : -1);
    case 7:
        return add_unary(graph, draw(seed, 2) ? "Only16" : "Same", NULL, x);
    default: { /* a view there and back, by a shape of which the network itself tells */
        tn_tensor_id shape = add_unary(graph, "Shape", NULL, pick(net, seed));
        return add_node(graph, "Reshape", NULL, 2, TENSORS(x, shape));
    }
    }
}

static void make_random(tn_graph *graph, uint32_t seed) {
    network net = {.count = 1};
    net.images[0] = add_input(graph, "x", TN_F32, 4, EXTENTS(-1, CHANNELS, 2, 3));
    uint32_t nodes = 2 + draw(&seed, NODE_LIMIT - 1);
    for (uint32_t n = 0; n < nodes; n++)
        net.images[net.count++] = add_random_node(graph, &net, &seed);
    add_output(graph, net.images[net.count - 1]);
    for (uint32_t i = 1; i < OUTPUTS; i++) {
        tn_tensor_id other = net.images[1 + draw(&seed, net.count - 1)];
        bool is_there = false;
        for (size_t k = 0; k < graph->output_count; k++)
            is_there = is_there || graph->outputs[k] == other;
        if (!is_there) add_output(graph, other);
    }
}

typedef struct results {
    uint32_t count;
    float *values[OUTPUTS];
    uint64_t bytes[OUTPUTS];
} results;

static void check(tn_status status) {
    if (status != TN_OK) fail_msg("%s: %s", tn_last_error()->where, tn_last_error()->message);
}

static results run_plan(tn_runtime *runtime, const tn_plan *plan, int64_t batch) {
    uint64_t bytes = 0;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    results all = {0};
    const void *data = tn_plan_bytes(plan, &bytes);
    check(tn_engine_load_bytes(runtime, data, bytes, NULL, &engine));
    check(tn_context_create(engine, &context));
    uint64_t count = (uint64_t)batch * CHANNELS * 6;
    float *input = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    for (uint64_t i = 0; i < count; i++)
        input[i] = (float)(i * 7 % 23) / 4 - 3;
    check(tn_context_set_shape(context, 0, 4, EXTENTS(batch, CHANNELS, 2, 3)));
    check(tn_context_bind_input(context, 0, input, count * sizeof(float)));
    check(tn_context_run(context));
    check(tn_context_run(context)); /* what the first left behind must not matter */
    all.count = tn_engine_output_count(engine);
    for (uint32_t i = 0; i < all.count; i++) {
        const tn_tensor *output = NULL;
        check(tn_context_output(context, i, &output));
        all.bytes[i] = output->bytes;
        all.values[i] = malloc(output->bytes);
        memcpy(all.values[i], output->data, output->bytes);
    }
    free(input);
    tn_context_destroy(context);
    tn_engine_release(engine);
    return all;
}

static void free_results(results *all) {
    for (uint32_t i = 0; i < all->count; i++)
        free(all->values[i]);
}

static void assert_same(const results *a, const results *b, uint32_t seed, const char *way,
                        const char *report) {
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        assert_int_equal(a->bytes[i], b->bytes[i]);
        for (uint64_t k = 0; k < a->bytes[i] / sizeof(float); k++)
            if (a->values[i][k] != b->values[i][k])
                fail_msg("network %u, %s: output %u, element %u is %g instead of %g\n%s", seed, way,
                         i, (unsigned)k, (double)b->values[i][k], (double)a->values[i][k], report);
    }
}

static const struct {
    const char *name, *force;
    uint32_t flags;
    uint32_t slow; /* which kernel of Mix is slow, when timed */
} ways[] = {
    {"reference", NULL, TN_BUILD_REFERENCE, 0},
    {"by rule", NULL, TN_BUILD_NO_TIMING, 0},
    {"unfused", NULL, TN_BUILD_NO_TIMING | TN_BUILD_NO_FUSION, 0},
    {"fused", "Mix=mix_fused", TN_BUILD_NO_TIMING, 0},
    {"blocked", "Mix=mix_c16", TN_BUILD_NO_TIMING, 0},
    {"timed", NULL, 0, 0},
    {"timed, blocked is fast", NULL, 0, 1},
};

static void build_and_compare(graph_test *test, uint32_t seed) {
    static const int64_t shapes[3][4] = {
        {1, CHANNELS, 2, 3}, {2, CHANNELS, 2, 3}, {3, CHANNELS, 2, 3}};
    static const tn_profile_input range = {.size = sizeof range,
                                           .rank = 4,
                                           .name = "x",
                                           .minimum = shapes[0],
                                           .optimum = shapes[1],
                                           .maximum = shapes[2]};
    static const tn_profile_input *const ranges[] = {&range};
    results expected[2] = {0};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        tn_builder_options options = {.size = sizeof options,
                                      .threads = 1,
                                      .force_kernel = ways[way].force,
                                      .flags = ways[way].flags,
                                      .profile_input_count = 1,
                                      .profile_inputs = ranges};
        tn_plan *plan = NULL;
        layer_pace_of("mix_plain")->ns = ways[way].slow ? 100000 : 0;
        layer_pace_of("mix_fused")->ns = ways[way].slow ? 100000 : 0;
        check(tn_build(test->graph, &options, &plan));
        for (int64_t batch = 1; batch <= 3; batch += 2) {
            results got = run_plan(test->runtime, plan, batch);
            if (way == 0)
                expected[batch / 2] = got;
            else
                assert_same(&expected[batch / 2], &got, seed, ways[way].name, tn_plan_report(plan));
            if (way > 0) free_results(&got);
        }
        tn_plan_destroy(plan);
    }
    free_results(&expected[0]);
    free_results(&expected[1]);
}

static void test_every_way_of_building_gives_the_same_results(void **state) {
    graph_test *test = *state;
    const char *rounds = getenv("TENON_TEST_ROUNDS");
    uint32_t count = rounds ? (uint32_t)atoi(rounds) : 25;
    for (uint32_t seed = 1; seed <= count; seed++) {
        tn_graph_destroy(test->graph);
        test->graph = NULL;
        check(tn_graph_create(test->runtime, "random", &test->graph));
        make_random(test->graph, seed);
        build_and_compare(test, seed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_every_way_of_building_gives_the_same_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
