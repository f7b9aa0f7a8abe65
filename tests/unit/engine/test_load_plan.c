/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of a plan that was built in this program: they read it where it lies, and keep it. */
#include "run_test.h"
#include "engine/engine_private.h"

#include <tenon/refit.h>

enum { COUNT = 8192, SMALL = 3 };

/* y = x + large, z = s + small, of which the plan has both constants. */
static void build(run_test *test, uint32_t flags) {
    static float large[COUNT];
    const float small[SMALL] = {1, 2, 3};
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING | flags};
    tn_tensor_id sum[2], other[2];
    for (int i = 0; i < COUNT; i++)
        large[i] = (float)i;
    sum[0] = add_input(test->graph, "x", TN_F32, 1, EXTENTS(COUNT));
    run_must(tn_graph_add_constant(test->graph, "large", TN_F32, 1, EXTENTS(COUNT), large,
                                   sizeof(large), &sum[1]));
    run_output(test->graph, run_node(test->graph, "Sum", "first", 2, sum), "y");
    other[0] = add_input(test->graph, "s", TN_F32, 1, EXTENTS(SMALL));
    run_must(tn_graph_add_constant(test->graph, "small", TN_F32, 1, EXTENTS(SMALL), small,
                                   sizeof(small), &other[1]));
    run_output(test->graph, run_node(test->graph, "Sum", "second", 2, other), "z");
    run_must(tn_build(test->graph, &options, &test->plan));
}

static void destroy_plan(run_test *test) {
    tn_plan_destroy(test->plan);
    test->plan = NULL;
}

static void check(tn_engine *engine) {
    static _Alignas(64) float x[COUNT];
    static _Alignas(64) float s[16] = {10, 20, 30};
    tn_context *context = NULL;
    const tn_tensor *y = NULL;
    x[5] = 0.5f;
    run_must(tn_context_create(engine, &context));
    run_must(tn_context_bind_input(context, 0, x, sizeof(x)));
    run_must(tn_context_bind_input(context, 1, s, SMALL * sizeof(float)));
    run_must(tn_context_run(context));
    run_must(tn_context_output(context, 0, &y));
    assert_true(((const float *)y->data)[5] == 5.5f);
    assert_true(((const float *)y->data)[COUNT - 1] == COUNT - 1);
    run_must(tn_context_output(context, 1, &y));
    assert_floats(y, SMALL, FLOATS(11, 22, 33));
    tn_context_destroy(context);
}

static const void *large_of(const tn_engine *engine) {
    const tn_graph *graph = engine->graph;
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (graph->tensors[t].is_constant && graph->tensors[t].bytes == COUNT * sizeof(float))
            return graph->tensors[t].data;
    return NULL;
}

static void test_engines_read_one_plan_and_keep_it(void **state) {
    run_test *test = *state;
    tn_engine *engines[2] = {NULL};
    build(test, 0);
    for (int i = 0; i < 2; i++)
        run_must(tn_engine_load_plan(test->runtime, test->plan, NULL, &engines[i]));
    assert_non_null(large_of(engines[0]));
    assert_ptr_equal(large_of(engines[0]), large_of(engines[1]));
    assert_int_equal((uintptr_t)large_of(engines[0]) % 64, 0);
    destroy_plan(test);
    for (int i = 0; i < 2; i++) {
        check(engines[i]);
        tn_engine_release(engines[i]);
    }
}

/* Who asks for the bytes has them, before and after, and they are a plan. */
static void test_bytes_are_the_same_with_engines_and_without(void **state) {
    run_test *test = *state;
    tn_engine *before = NULL, *after = NULL, *copy = NULL;
    uint64_t bytes, again;
    build(test, 0);
    run_must(tn_engine_load_plan(test->runtime, test->plan, NULL, &before));
    const void *data = tn_plan_bytes(test->plan, &bytes);
    assert_non_null(data);
    run_must(tn_engine_load_plan(test->runtime, test->plan, NULL, &after));
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &copy));
    assert_ptr_equal(tn_plan_bytes(test->plan, &again), data);
    destroy_plan(test);
    check(before);
    check(after);
    check(copy);
    tn_engine_release(before);
    tn_engine_release(after);
    tn_engine_release(copy);
}

static void test_joined_plan_is_read_from_its_bytes(void **state) {
    run_test *test = *state;
    uint64_t bytes;
    build(test, 0);
    const unsigned char *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_plan(test->runtime, test->plan, NULL, &test->engine));
    const unsigned char *large = large_of(test->engine);
    assert_true(large > data && large < data + bytes);
    destroy_plan(test);
    check(test->engine);
}

static void test_engine_of_a_built_plan_can_be_refitted(void **state) {
    run_test *test = *state;
    build(test, TN_BUILD_REFIT);
    run_must(tn_engine_load_plan(test->runtime, test->plan, NULL, &test->engine));
    destroy_plan(test);
    assert_int_equal(tn_engine_refit_count(test->engine), 2);
    check(test->engine);
}

static void test_every_allocation_fails_once(void **state) {
    run_test *test = *state;
    uint64_t count = 0;
    build(test, 0);
    const int64_t live = test->allocator.live;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK; count++) {
        test->allocator.fail_at = test->allocator.allocations + count + 1;
        status = tn_engine_load_plan(test->runtime, test->plan, NULL, &test->engine);
        test->allocator.fail_at = 0;
        assert_int_equal(status, test->engine ? TN_OK : TN_ERROR_MEMORY);
        /* what was aligned stays with the plan */
        if (!test->engine) assert_true(test->allocator.live <= live + 1);
    }
    assert_true(count > 20);
    check(test->engine);
}

static void test_bad_arguments(void **state) {
    run_test *test = *state;
    const tn_engine_options options = {.size = sizeof(options), .flags = 1u << 31};
    build(test, 0);
    assert_int_equal(tn_engine_load_plan(test->runtime, NULL, NULL, &test->engine),
                     TN_ERROR_ARGUMENT);
    assert_int_equal(tn_engine_load_plan(NULL, test->plan, NULL, &test->engine), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_engine_load_plan(test->runtime, test->plan, NULL, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_engine_load_plan(test->runtime, test->plan, &options, &test->engine),
                     TN_ERROR_ARGUMENT);
    assert_null(test->engine);
    run_must(tn_engine_load_plan(test->runtime, test->plan, NULL, &test->engine));
    check(test->engine);
}

#define PLAN_TEST(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, run_test_setup, run_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_engines_read_one_plan_and_keep_it),
        PLAN_TEST(test_bytes_are_the_same_with_engines_and_without),
        PLAN_TEST(test_joined_plan_is_read_from_its_bytes),
        PLAN_TEST(test_engine_of_a_built_plan_can_be_refitted),
        PLAN_TEST(test_every_allocation_fails_once),
        PLAN_TEST(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
