/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refits of engines on a device, guarded and isolated; which kernels are prepared again, and who
 * gives what back; lacking memory; contexts that run while others refit.
 */
#include <tenon/plugin.h> /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "refit_nets.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define STUB "stub/libtenon_stub.so"

extern uint32_t keep_prepared, keep_released;
tn_library *tenon_library_1(const tn_host *host);

static float first[NET_OUTPUTS], found[NET_OUTPUTS], expected[NET_OUTPUTS];

typedef struct engine_test {
    failing_allocator allocator;
    tn_runtime *runtime;
} engine_test;

static int set_up(void **state) {
    engine_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    *state = test;
    const tn_runtime_options options = {.size = sizeof(options),
                                        .allocator = &test->allocator.functions,
                                        .flags = TN_RUNTIME_NO_ENVIRONMENT};
    return tn_runtime_create(&options, &test->runtime) == TN_OK ? 0 : -1;
}

static int tear_down(void **state) {
    engine_test *test = *state;
    tn_runtime_release(test->runtime);
    const int64_t left = test->allocator.live;
    free(test);
    if (left != 0) print_error("%lld blocks are left\n", (long long)left);
    return left == 0 ? 0 : -1;
}
#define ENGINE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* From seed 1 to 2 and 3, on engines that are loaded with these flags, against builds. */
static void check_loaded(tn_runtime *runtime, net_maker maker, uint32_t flags, const char *device) {
    tn_builder_options options = net_options(TN_BUILD_REFIT);
    options.device = device;
    tn_plan *plan = net_build(runtime, maker, 1, &options);
    tn_engine *engine = net_load(runtime, plan, flags, device);
    tn_engine *last = tn_engine_retain(engine);
    const size_t count = net_run(engine, true, first);
    tn_plan_destroy(plan);
    for (uint32_t seed = 2; seed <= 3; seed++) {
        tn_engine *refitted = net_refit(last, runtime, maker, seed);
        plan = net_build(runtime, maker, seed, &options);
        tn_engine *built = net_load(runtime, plan, flags, device);
        net_run(built, true, expected);
        assert_int_equal(net_run(refitted, true, found), count);
        net_compare(found, expected, count, 0, "an engine of the new data");
        net_run(last, true, found);
        if (last == engine) net_compare(found, first, count, 0, "the old engine");
        tn_plan_destroy(plan);
        tn_engine_release(built);
        tn_engine_release(last);
        last = refitted;
    }
    tn_engine_release(engine);
    net_run(last, true, found); /* it holds what it shares */
    net_compare(found, expected, count, 0, "an engine that outlives the old one");
    tn_engine_release(last);
}

static void test_engines_on_a_device(void **state) {
    engine_test *test = *state;
    must(tn_runtime_load_library(test->runtime, STUB));
    check_loaded(test->runtime, net_lenet, 0, "stub");
    check_loaded(test->runtime, net_shared, 0, "stub");
}

static void test_guarded_engines(void **state) {
    engine_test *test = *state;
    must(tn_runtime_load_library(test->runtime, KEEP_LIBRARY));
    check_loaded(test->runtime, net_keep, TN_ENGINE_CHECKED, NULL);
    check_loaded(test->runtime, net_lenet, TN_ENGINE_CHECKED | TN_ENGINE_EXACT, NULL);
}

static void test_isolated_engines(void **state) {
    engine_test *test = *state;
    must(tn_runtime_load_library(test->runtime, KEEP_LIBRARY));
    check_loaded(test->runtime, net_keep, TN_ENGINE_ISOLATED, NULL);
}

/* ----------------------------------------------------------------------------------------------
 * several profiles */

static void net_rows(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 2, SHAPE(-1, 16)),
                       w = net_constant(graph, "w", seed, 0, 2, SHAPE(16, 8)),
                       b = net_constant(graph, "b", seed, 0, 1, SHAPE(8));
    const tn_tensor_id y = net_node(graph, "MatMul", "product", 2, IDS(x, w));
    must(tn_graph_add_output(graph, net_node(graph, "Add", "sum", 2, IDS(y, b)), "y"));
}

static size_t run_rows(tn_engine *engine, int64_t rows, uint32_t profile, float *out) {
    _Alignas(64) float x[16 * 16];
    const tn_tensor *y = NULL;
    tn_context *context = NULL;
    for (size_t i = 0; i < TN_COUNT(x); i++)
        x[i] = net_number("x", i, 3);
    must(tn_context_create(engine, &context));
    must(tn_context_set_shape(context, 0, 2, SHAPE(rows, 16)));
    must(tn_context_bind_input(context, 0, x, sizeof(x)));
    must(tn_context_run(context));
    assert_int_equal(tn_context_get_profile(context), profile);
    must(tn_context_output(context, 0, &y));
    memcpy(out, y->data, (size_t)y->bytes);
    const size_t count = (size_t)y->bytes / sizeof(float);
    tn_context_destroy(context);
    return count;
}

static void test_engines_of_several_profiles(void **state) {
    engine_test *test = *state;
    static const int64_t few[] = {1, 16}, two[] = {2, 16}, eight[] = {8, 16}, many[] = {16, 16};
    tn_profile_input ranges[2];
    const tn_profile_input *inputs[2];
    tn_profile profiles[2];
    const tn_profile *pointers[2];
    for (int p = 0; p < 2; p++) {
        ranges[p] = (tn_profile_input){.size = sizeof(tn_profile_input),
                                       .rank = 2,
                                       .name = "x",
                                       .minimum = p ? eight : few,
                                       .optimum = p ? many : few,
                                       .maximum = p ? many : two};
        inputs[p] = &ranges[p];
        profiles[p] = (tn_profile){sizeof(tn_profile), 1, &inputs[p]};
        pointers[p] = &profiles[p];
    }
    tn_builder_options options = net_options(TN_BUILD_REFIT);
    options.profile_count = 2;
    options.profiles = pointers;
    tn_plan *plan = net_build(test->runtime, net_rows, 1, &options);
    tn_plan *other = net_build(test->runtime, net_rows, 2, &options);
    tn_engine *engine = net_load(test->runtime, plan, 0, NULL);
    tn_engine *built = net_load(test->runtime, other, 0, NULL);
    tn_engine *refitted = net_refit(engine, test->runtime, net_rows, 2);
    tn_plan_destroy(plan);
    tn_plan_destroy(other);
    assert_int_equal(tn_engine_profile_count(refitted), 2);
    for (int64_t rows = 2; rows <= 16; rows *= 8) {
        const uint32_t profile = rows == 2 ? 0 : 1;
        const size_t count = run_rows(built, rows, profile, expected);
        assert_int_equal(run_rows(refitted, rows, profile, found), count);
        net_compare(found, expected, count, 0, "an engine of the new data");
    }
    tn_engine_release(built);
    tn_engine_release(refitted);
    tn_engine_release(engine);
}

/* ----------------------------------------------------------------------------------------------
 * what is shared */

static tn_engine *refit_one(tn_engine *engine, const char *name, float value) {
    float values[8];
    tn_refit *refit = NULL;
    tn_engine *made = NULL;
    for (int i = 0; i < 8; i++)
        values[i] = value;
    must(tn_refit_create(engine, &refit));
    must(tn_refit_set(refit, name, TN_F32, 1, SHAPE(8), values, sizeof(values)));
    must(tn_refit_apply(refit, &made));
    tn_refit_destroy(refit);
    return made;
}

static void test_only_what_is_reached_is_prepared_again(void **state) {
    engine_test *test = *state;
    must(tn_runtime_register_library(test->runtime, tenon_library_1));
    tn_engine *engine = net_engine(test->runtime, net_keep, 1, TN_BUILD_REFIT);
    keep_prepared = keep_released = 0;
    tn_engine *gained = refit_one(engine, "gain", 2); /* of a node between both kernels */
    assert_int_equal(keep_prepared, 0);
    tn_engine *one = refit_one(gained, "w", 1);
    assert_int_equal(keep_prepared, 1);
    const size_t count = net_run(one, true, found);
    for (size_t i = 0; i < count; i++) /* 2 * (2 * (2 * x + 1)) + fixed */
        assert_true(fabsf(found[i] - (4 * (2 * net_number("x", i, 3) + 1) +
                                      net_number("fixed", i % 8, 1))) < 1e-5f);
    tn_engine *two = refit_one(one, "fixed", 0); /* shares the first kernel with `one` */
    assert_int_equal(keep_prepared, 2);
    tn_engine_release(gained);
    tn_engine_release(one);
    assert_int_equal(keep_released, 0);
    net_run(two, true, found);
    for (size_t i = 0; i < count; i++)
        assert_true(fabsf(found[i] - 4 * (2 * net_number("x", i, 3) + 1)) < 1e-5f);
    for (int i = 0; i < 50; i++) { /* what nobody needs goes */
        tn_engine *next = refit_one(two, i % 2 ? "w" : "fixed", (float)i);
        tn_engine_release(two);
        two = next;
        assert_true(keep_prepared - keep_released <= 3);
    }
    tn_engine_release(two);
    assert_int_equal(keep_prepared - keep_released, 0);
    tn_engine_release(engine);
    assert_int_equal(keep_released - keep_prepared, 2);
}

/* ----------------------------------------------------------------------------------------------
 * no memory */

static tn_status try_all(tn_engine *engine, tn_graph *graph, tn_engine **out_engine) {
    tn_refit *refit = NULL;
    TN_TRY(tn_refit_create(engine, &refit));
    tn_status status = tn_refit_set_all(refit, graph, NULL);
    if (status == TN_OK) status = tn_refit_apply(refit, out_engine);
    tn_refit_destroy(refit);
    return status;
}

/* Each allocation of a refit fails in turn; nothing is left, and the engine is as it was. */
static void check_without_memory(engine_test *test, net_maker maker, uint32_t flags,
                                 const char *device) {
    tn_builder_options options = net_options(TN_BUILD_REFIT);
    options.device = device;
    tn_plan *plan = net_build(test->runtime, maker, 1, &options);
    tn_graph *graph = net_make(test->runtime, maker, 2);
    tn_engine *engine = net_load(test->runtime, plan, flags, device), *made = NULL;
    const size_t count = net_run(engine, true, first);
    tn_status status = TN_ERROR_MEMORY;
    uint64_t failed = 0;
    for (; status != TN_OK; failed++) {
        const int64_t live = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + failed + 1;
        status = try_all(engine, graph, &made);
        test->allocator.fail_at = 0;
        if (status == TN_OK) break;
        assert_int_equal(status, TN_ERROR_MEMORY);
        assert_null(made);
        assert_int_equal(test->allocator.live, live);
    }
    assert_true(failed > 10);
    net_run(engine, true, found);
    net_compare(found, first, count, 0, "the engine whose refit failed");
    tn_engine_release(made);
    tn_engine_release(engine);
    tn_graph_destroy(graph);
    tn_plan_destroy(plan);
}

static void test_refits_without_memory(void **state) {
    engine_test *test = *state;
    must(tn_runtime_load_library(test->runtime, STUB));
    must(tn_runtime_load_library(test->runtime, BODIES_LIBRARY));
    must(tn_runtime_load_library(test->runtime, KEEP_LIBRARY));
    check_without_memory(test, net_lenet, 0, NULL);
    check_without_memory(test, net_keep, 0, NULL);
    check_without_memory(test, net_bodies, 0, NULL);
    check_without_memory(test, net_shared, 0, "stub");
}

/* A plan whose constants are to be refitted, built and loaded without memory. */
static void test_builds_and_loads_without_memory(void **state) {
    engine_test *test = *state;
    tn_status status = TN_ERROR_MEMORY;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    const tn_builder_options options = net_options(TN_BUILD_REFIT);
    tn_graph *graph = net_make(test->runtime, net_rewritten, 1);
    for (uint64_t failed = 0; status != TN_OK; failed++) {
        uint64_t bytes = 0;
        test->allocator.fail_at = test->allocator.allocations + failed + 1;
        status = tn_build(graph, &options, &plan);
        if (status == TN_OK) {
            const void *data = tn_plan_bytes(plan, &bytes);
            status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &engine);
            if (status != TN_OK) {
                tn_plan_destroy(plan);
                plan = NULL;
            }
        }
        test->allocator.fail_at = 0;
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
    }
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
}

/* ----------------------------------------------------------------------------------------------
 * threads */

typedef struct worker {
    pthread_t thread;
    tn_engine *engine;
    tn_runtime *runtime;
    atomic_bool *is_over;
    int wrong, rounds;
    size_t count;
    char message[128];
} worker;

static void note(worker *self, tn_status status) {
    if (status == TN_OK) return;
    self->wrong++;
    snprintf(self->message, sizeof(self->message), "%s", tn_last_error()->message);
}

/* Runs on the old engine until the others have refitted. */
static void *run_on(void *user) {
    worker *self = user;
    static _Thread_local float out[NET_OUTPUTS];
    while (!atomic_load(self->is_over)) {
        tn_context *context = NULL;
        note(self, tn_context_create(self->engine, &context));
        for (int i = 0; context && i < 20; i++) {
            size_t count = 0;
            note(self, net_try(context, self->engine, true, out, &count));
            self->wrong += memcmp(out, first, count * sizeof(float)) != 0;
            self->rounds++;
        }
        tn_context_destroy(context);
    }
    return NULL;
}

static void *refit_on(void *user) {
    worker *self = user;
    static _Thread_local float out[NET_OUTPUTS];
    for (int i = 0; i < 20; i++) {
        tn_graph *graph = net_make(self->runtime, net_lenet, 2);
        tn_engine *made = NULL;
        tn_context *context = NULL;
        size_t count = 0;
        note(self, try_all(self->engine, graph, &made));
        if (made) note(self, tn_context_create(made, &context));
        if (context) note(self, net_try(context, made, true, out, &count));
        self->wrong += !context || memcmp(out, expected, count * sizeof(float)) != 0;
        tn_context_destroy(context);
        tn_engine_release(made);
        tn_graph_destroy(graph);
    }
    return NULL;
}

static void test_contexts_run_while_others_refit(void **state) {
    engine_test *test = *state;
    worker workers[4] = {0};
    atomic_bool is_over = false;
    tn_engine *engine = net_engine(test->runtime, net_lenet, 1, TN_BUILD_REFIT);
    tn_engine *made = net_refit(engine, test->runtime, net_lenet, 2);
    net_run(engine, true, first);
    net_run(made, true, expected);
    tn_engine_release(made);
    for (int i = 0; i < 4; i++) {
        workers[i].engine = engine;
        workers[i].runtime = test->runtime;
        workers[i].is_over = &is_over;
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, i < 2 ? run_on : refit_on, &workers[i]), 0);
    }
    for (int i = 3; i >= 0; i--) {
        if (i == 1) atomic_store(&is_over, true);
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_string_equal(workers[i].message, "");
        assert_int_equal(workers[i].wrong, 0);
    }
    tn_engine_release(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(test_engines_on_a_device),
        ENGINE_TEST(test_guarded_engines),
        ENGINE_TEST(test_isolated_engines),
        ENGINE_TEST(test_engines_of_several_profiles),
        ENGINE_TEST(test_only_what_is_reached_is_prepared_again),
        ENGINE_TEST(test_refits_without_memory),
        ENGINE_TEST(test_builds_and_loads_without_memory),
        ENGINE_TEST(test_contexts_run_while_others_refit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
