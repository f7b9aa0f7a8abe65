/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of random networks, built in every variant, compute what the references compute, bit for
 * bit: fusion, formats, conversions, views, in-place steps, folding and dropped nodes must not
 * show.
 */
#include "engine/engine_private.h" /* before cmocka's macro `fail` */
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

static void assert_same(const results *a, const results *b, uint32_t seed, const char *variant,
                        const char *report) {
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        assert_int_equal(a->bytes[i], b->bytes[i]);
        for (uint64_t k = 0; k < a->bytes[i] / sizeof(float); k++)
            if (a->values[i][k] != b->values[i][k])
                fail_msg("network %u, %s: output %u, element %u is %g instead of %g\n%s", seed,
                         variant, i, (unsigned)k, (double)b->values[i][k], (double)a->values[i][k],
                         report);
    }
}

static const struct {
    const char *name, *force;
    uint32_t flags;
    uint32_t slow; /* which kernel of Mix is slow, when timed */
} variants[] = {
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
    for (size_t variant = 0; variant < sizeof variants / sizeof *variants; variant++) {
        tn_builder_options options = {.size = sizeof options,
                                      .threads = 1,
                                      .force_kernel = variants[variant].force,
                                      .flags = variants[variant].flags,
                                      .profile_input_count = 1,
                                      .profile_inputs = ranges};
        tn_plan *plan = NULL;
        layer_pace_of("mix_plain")->ns = variants[variant].slow ? 100000 : 0;
        layer_pace_of("mix_fused")->ns = variants[variant].slow ? 100000 : 0;
        check(tn_build(test->graph, &options, &plan));
        for (int64_t batch = 1; batch <= 3; batch += 2) {
            results got = run_plan(test->runtime, plan, batch);
            if (variant == 0)
                expected[batch / 2] = got;
            else
                assert_same(&expected[batch / 2], &got, seed, variants[variant].name,
                            tn_plan_report(plan));
            if (variant > 0) free_results(&got);
        }
        tn_plan_destroy(plan);
    }
    free_results(&expected[0]);
    free_results(&expected[1]);
}

static void test_every_variant_of_a_build_computes_the_same(void **state) {
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

/* --- networks that no build can know whole --- */

typedef struct run_session {
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
} run_session;

static run_session begin_with(graph_test *test, tn_builder_options options) {
    run_session session = {0};
    uint64_t bytes = 0;
    check(tn_build(test->graph, &options, &session.plan));
    const void *data = tn_plan_bytes(session.plan, &bytes);
    check(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &session.engine));
    check(tn_context_create(session.engine, &session.context));
    return session;
}

static run_session begin(graph_test *test, uint32_t flags) {
    return begin_with(test, (tn_builder_options){
                                .size = sizeof(tn_builder_options), .threads = 1, .flags = flags});
}

static void end(run_session *session) {
    tn_context_destroy(session->context);
    tn_engine_release(session->engine);
    tn_plan_destroy(session->plan);
}

static const tn_tensor *output_of(run_session *session, uint32_t index) {
    const tn_tensor *output = NULL;
    check(tn_context_output(session->context, index, &output));
    return output;
}

static const uint32_t both_flags[] = {TN_BUILD_REFERENCE, 0};

static void test_shapes_that_are_inputs_run_without_a_profile(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id shape = add_input(graph, "shape", TN_I64, 1, EXTENTS(2));
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", x);
    tn_tensor_id flat = add_node(graph, "Reshape", "flat", 2, TENSORS(relu, shape));
    tn_tensor_id copied = add_unary(graph, "Copy", "copied", flat);
    tn_tensor_id scaled = add_unary(graph, "Scale", "scaled", copied);
    add_output(graph, add_unary(graph, "Fragile", "fragile", scaled));
    for (int variant = 0; variant < 2; variant++) {
        run_session session = begin(test, both_flags[variant]);
        static const float values[6] = {-1, 2, 3, -4, 5, 6};
        static const int64_t shapes[2][2] = {{2, 3}, {3, 2}};
        for (int round = 0; round < 4; round++) {
            check(tn_context_bind_input(session.context, 0, values, sizeof values));
            check(tn_context_bind_input(session.context, 1, shapes[round % 2], 16));
            check(tn_context_run(session.context));
            const tn_tensor *output = output_of(&session, 0);
            assert_int_equal(output->rank, 2);
            assert_int_equal(output->shape[0], shapes[round % 2][0]);
            for (int i = 0; i < 6; i++)
                assert_true(((const float *)output->data)[i] ==
                            (values[i] > 0 ? 2 * values[i] : 0));
        }
        end(&session);
    }
}

static void test_equal_branches_compute_what_they_did(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6)), ends[3];
    for (int i = 0; i < 3; i++) {
        tn_tensor_id scaled = add_with_int(graph, "Scale", NULL, x, "factor", i == 2 ? -2 : 3);
        ends[i] = add_unary(graph, "Relu", NULL, scaled);
    }
    tn_tensor_id sum = add_node(graph, "Plus", "sum", 2, TENSORS(ends[0], ends[1]));
    add_output(graph, add_node(graph, "Plus", "last", 2, TENSORS(sum, ends[2])));
    add_output(graph, ends[1]);
    static const float values[6] = {-1, 2, 3, -4, 5, 0};
    for (int variant = 0; variant < 2; variant++) {
        run_session session = begin(test, both_flags[variant]);
        const bool is_merged = strstr(tn_plan_report(session.plan), "\"merged\": []") == NULL;
        assert_int_equal(is_merged, variant);
        check(tn_context_bind_input(session.context, 0, values, sizeof values));
        check(tn_context_run(session.context));
        for (int i = 0; i < 6; i++) {
            const float x3 = values[i] > 0 ? 3 * values[i] : 0;
            const float x2 = values[i] < 0 ? -2 * values[i] : 0;
            assert_true(((const float *)output_of(&session, 0)->data)[i] == 2 * x3 + x2);
            assert_true(((const float *)output_of(&session, 1)->data)[i] == x3);
        }
        end(&session);
    }
}

static void test_sizes_that_only_a_run_knows(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_tensor_id x = add_input(graph, "x", TN_I64, 1, EXTENTS(5));
    tn_tensor_id indices = add_unary(graph, "NonZero", "indices", x);
    tn_tensor_id copied = add_unary(graph, "Copy", "copied", indices);
    add_output(graph, add_node(graph, "Add", "sum", 2, TENSORS(copied, indices)));
    for (int variant = 0; variant < 2; variant++) {
        run_session session = begin(test, both_flags[variant]);
        static const int64_t values[2][5] = {{0, 7, 0, 0, 1}, {1, 1, 0, 1, 1}};
        static const int64_t expected[2][4] = {{2, 8}, {0, 2, 6, 8}};
        for (int round = 0; round < 2; round++) {
            check(tn_context_bind_input(session.context, 0, values[round], sizeof values[round]));
            check(tn_context_run(session.context));
            const tn_tensor *output = output_of(&session, 0);
            assert_int_equal(output->shape[0], round == 0 ? 2 : 4);
            assert_memory_equal(output->data, expected[round], (size_t)output->shape[0] * 8);
        }
        end(&session);
    }
}

static void test_free_extents_run_at_any_size(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 4, EXTENTS(-1, CHANNELS, -1, 2));
    tn_tensor_id w = add_floats(graph, "w", 1, EXTENTS(CHANNELS));
    tn_tensor_id mixed = add_node(graph, "Mix", "mix", 2, TENSORS(x, w));
    tn_tensor_id sum = add_node(graph, "Plus", "sum", 2, TENSORS(mixed, x));
    add_output(graph, add_unary(graph, "Only16", "blocked", sum));
    static const int64_t sizes[3][2] = {{1, 1}, {3, 5}, {2, 9}};
    for (int variant = 0; variant < 2; variant++) {
        run_session session = begin(test, both_flags[variant]);
        for (int round = 0; round < 6; round++) {
            const int64_t *size = sizes[round % 3];
            size_t count = (size_t)(size[0] * CHANNELS * size[1] * 2);
            float *input = calloc(count, sizeof *input);
            for (size_t i = 0; i < count; i++)
                input[i] = (float)(i % 11);
            check(tn_context_set_shape(session.context, 0, 4,
                                       EXTENTS(size[0], CHANNELS, size[1], 2)));
            check(tn_context_bind_input(session.context, 0, input, count * sizeof *input));
            check(tn_context_run(session.context));
            const tn_tensor *output = output_of(&session, 0);
            assert_int_equal(output->bytes, count * sizeof *input);
            for (size_t i = 0; i < count; i++) {
                size_t channel = i / (size_t)(size[1] * 2) % CHANNELS;
                float weight = (float)(channel % 17) / 8 - 1;
                assert_true(((const float *)output->data)[i] == input[i] * weight + input[i]);
            }
            free(input);
        }
        end(&session);
    }
}

static void test_outputs_that_are_inputs_constants_or_views_of_them(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    tn_tensor_id x = add_input(graph, "x", TN_F32, 1, EXTENTS(6));
    tn_tensor_id constant = add_floats(graph, "constant", 1, EXTENTS(3));
    tn_tensor_id shape = add_i64s(graph, "shape", 2, (const int64_t[]){2, 3});
    tn_tensor_id relu = add_unary(graph, "Relu", "relu", x);
    tn_tensor_id viewed = add_node(graph, "Reshape", "v0", 2, TENSORS(relu, shape));
    add_output(graph, x);
    add_output(graph, constant);
    add_output(graph, add_unary(graph, "Same", "same", x));
    add_output(graph, add_node(graph, "Reshape", "v1", 2, TENSORS(x, shape)));
    add_output(graph, relu);
    add_output(graph, viewed);
    add_output(graph, add_unary(graph, "Scale", "scaled", viewed));
    add_output(graph, add_unary(graph, "Copy", "of_constant", constant));
    for (int variant = 0; variant < 2; variant++) {
        run_session session = begin(test, both_flags[variant]);
        static const float values[6] = {-1, 2, 3, -4, 5, 6};
        check(tn_context_bind_input(session.context, 0, values, sizeof values));
        for (int round = 0; round < 2; round++)
            check(tn_context_run(session.context));
        for (int i = 0; i < 6; i++) {
            float positive = values[i] > 0 ? values[i] : 0;
            static const uint32_t same[] = {0, 2, 3}, positives[] = {4, 5};
            for (int k = 0; k < 3; k++)
                assert_true(((const float *)output_of(&session, same[k])->data)[i] == values[i]);
            for (int k = 0; k < 2; k++)
                assert_true(((const float *)output_of(&session, positives[k])->data)[i] ==
                            positive);
            assert_true(((const float *)output_of(&session, 6)->data)[i] == 2 * positive);
        }
        assert_true(((const float *)output_of(&session, 1)->data)[1] == 1.0f / 8 - 1);
        assert_true(((const float *)output_of(&session, 7)->data)[2] == 2.0f / 8 - 1);
        end(&session);
    }
}

/* Loops of a network with kernels that use OpenMP run on its team, others on the runtime's workers.
 */
static void test_an_engine_has_the_threads_of_its_kernels(void **state) {
    graph_test *test = *state;
    tn_graph *graph = test->graph;
    add_output(graph,
               add_unary(graph, "Team", "team", add_input(graph, "x", TN_F32, 1, EXTENTS(6))));
    for (int is_openmp = 0; is_openmp < 2; is_openmp++) {
        const tn_builder_options options = {.size = sizeof options,
                                            .flags = TN_BUILD_NO_TIMING,
                                            .threads = 2,
                                            .force_kernel =
                                                is_openmp ? "Team=team_openmp" : "Team=team_own"};
        run_session session = begin_with(test, options);
        const tn_thread_pool *pool = &session.engine->pool;
        assert_int_equal(pool->threads, 2);
#if !defined(TN_NO_OPENMP)
        assert_true((pool->workers == NULL) == is_openmp);
#else
        assert_non_null(pool->workers);
#endif
        end(&session);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        BUILD_TEST(test_every_variant_of_a_build_computes_the_same),
        BUILD_TEST(test_shapes_that_are_inputs_run_without_a_profile),
        BUILD_TEST(test_equal_branches_compute_what_they_did),
        BUILD_TEST(test_sizes_that_only_a_run_knows),
        BUILD_TEST(test_free_extents_run_at_any_size),
        BUILD_TEST(test_outputs_that_are_inputs_constants_or_views_of_them),
        BUILD_TEST(test_an_engine_has_the_threads_of_its_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
