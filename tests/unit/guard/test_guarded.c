/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded and isolated engines through the public interface: what goes on after a fault, what
 * several contexts do to one another, and memory that runs out. What each mistake is called is
 * tests/cli/check_guarded.py's matter; the layers are tests/guarded's.
 */
#include "run_test.h"

#include <pthread.h>
#include <sys/wait.h>

#define LIBRARY "guarded/libguarded_layers.so"

static int setup(void **state) {
    run_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    test->runtime = run_runtime(&test->allocator.functions, NULL);
    *state = test;
    if (!test->runtime || tn_runtime_load_library(test->runtime, LIBRARY) != TN_OK) return -1;
    return tn_graph_create(test->runtime, "net", &test->graph);
}

/* x of 1 to 64 elements -> the layer with this mistake -> y = 2 x + 0.5 */
static void make_faulty(run_test *test, const char *mistake) {
    const float half = 0.5f;
    const tn_attribute attribute = {
        .size = sizeof(attribute), .type = TN_FIELD_STRING, .name = "mistake", .s = mistake};
    const tn_attribute *const attributes[] = {&attribute};
    tn_tensor_id inputs[2] = {add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1)), TN_NO_TENSOR};
    tn_tensor_id output = TN_NO_TENSOR;
    run_must(tn_graph_add_constant(test->graph, "w", TN_F32, 0, NULL, &half, 4, &inputs[1]));
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "tests.guarded",
                                      .op = "Faulty",
                                      .name = "bad",
                                      .input_count = 2,
                                      .inputs = inputs,
                                      .output_count = 1,
                                      .attribute_count = 1,
                                      .attributes = attributes};
    run_must(tn_graph_add_node(test->graph, &node, &output));
    run_output(test->graph, output, "y");
    run_build_with(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(64))),
                   0);
}

static tn_status load(run_test *test, uint32_t flags, tn_engine **out_engine) {
    const tn_engine_options options = {
        .size = sizeof(options), .flags = flags, .isolation_limit_ms = 20000};
    uint64_t bytes;
    const void *data = tn_plan_bytes(test->plan, &bytes);
    return tn_engine_load_bytes(test->runtime, data, bytes, &options, out_engine);
}

static void start(run_test *test, const char *mistake, uint32_t flags) {
    make_faulty(test, mistake);
    run_must(load(test, flags, &test->engine));
    run_must(tn_context_create(test->engine, &test->context));
}

/* Runs on `count` elements, whose values are known. */
static tn_status run_on(tn_context *context, int64_t count, const float *values) {
    const int64_t extents[] = {count};
    tn_status status = tn_context_set_shape(context, 0, 1, extents);
    if (status == TN_OK)
        status = tn_context_bind_input(context, 0, values, (uint64_t)count * sizeof(*values));
    return status == TN_OK ? tn_context_run(context) : status;
}

static void assert_doubled(tn_context *context, int64_t count, const float *values) {
    const tn_tensor *tensor = NULL;
    run_must(tn_context_output(context, 0, &tensor));
    assert_int_equal(run_count(tensor), count);
    for (int64_t i = 0; i < count; i++)
        assert_true(((const float *)tensor->data)[i] == 2 * values[i] + 0.5f);
}

static const float values[65] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static const char where[] =
    "node 'bad': operator tests.guarded::Faulty: kernel mistaken (library guarded_layers)";

/* ----------------------------------------------------------------------------------------------
 * guarded */

static void test_checked_run_names_the_fault_each_time(void **state) {
    run_test *test = *state;
    start(test, "far_overrun", TN_ENGINE_CHECKED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_on(test->context, 4 + i, values), TN_ERROR_PLUGIN);
        assert_error("writes 20000 bytes past the end of output 0 'bad_0'", where);
    }
}

static void test_checked_run_of_a_sound_layer_computes_the_same(void **state) {
    run_test *test = *state;
    start(test, "none", TN_ENGINE_CHECKED);
    for (int64_t count = 1; count <= 64; count += 7) { /* crooked memory too */
        run_must(run_on(test->context, count, values + (count & 1)));
        assert_doubled(test->context, count, values + (count & 1));
    }
}

static void test_checked_run_may_leave_numbers_alone(void **state) {
    run_test *test = *state;
    start(test, "nan", TN_ENGINE_CHECKED | TN_ENGINE_CHECKED_ANY_NUMBER);
    run_must(run_on(test->context, 4, values));
}

static void test_handlers_are_given_back(void **state) {
    run_test *test = *state;
    struct sigaction before, now;
    sigaction(SIGSEGV, NULL, &before);
    start(test, "overrun", TN_ENGINE_CHECKED);
    assert_int_equal(run_on(test->context, 4, values), TN_ERROR_PLUGIN);
    tn_context_destroy(test->context);
    test->context = NULL;
    sigaction(SIGSEGV, NULL, &now);
    assert_true(before.sa_handler == now.sa_handler);
}

/* ----------------------------------------------------------------------------------------------
 * isolated */

static void test_isolated_run_computes_the_same_for_all_shapes(void **state) {
    run_test *test = *state;
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    start(test, "none", TN_ENGINE_ISOLATED);
    for (int round = 0; round < 2; round++) /* more shapes than a context remembers */
        for (int64_t count = 1; count <= 64; count += 5) {
            run_must(run_on(test->context, count, values + (count & 1)));
            assert_doubled(test->context, count, values + (count & 1));
        }
    tn_context_get_statistics(test->context, &statistics);
    assert_int_equal(statistics.isolated_calls, statistics.runs);
    assert_int_equal(statistics.runs, 26);
}

static void test_isolated_runs_allocate_nothing_in_steady_state(void **state) {
    run_test *test = *state;
    start(test, "none", TN_ENGINE_ISOLATED);
    run_must(run_on(test->context, 4, values));
    const uint64_t before = run_allocations(test);
    for (int i = 0; i < 100; i++)
        run_must(run_on(test->context, 4, values));
    assert_int_equal(run_allocations(test), before);
}

static void test_lost_context_says_so_and_another_goes_on(void **state) {
    run_test *test = *state;
    tn_context *other = NULL;
    start(test, "exit", TN_ENGINE_ISOLATED);
    assert_int_equal(run_on(test->context, 4, values), TN_ERROR_PLUGIN);
    assert_error("called exit(0), in run", where);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_on(test->context, 4 + i, values), TN_ERROR_STATE);
        assert_non_null(strstr(tn_last_error()->message, "make another context"));
    }
    run_must(tn_context_create(test->engine, &other));
    assert_int_equal(run_on(other, 4, values), TN_ERROR_PLUGIN); /* it runs as far as the first */
    assert_error("called exit(0), in run", where);
    tn_context_destroy(other);
}

static void test_failure_in_the_helper_is_the_kernels_own(void **state) {
    run_test *test = *state;
    start(test, "fails", TN_ENGINE_ISOLATED);
    for (int i = 0; i < 2; i++) { /* and loses nothing */
        assert_int_equal(run_on(test->context, 4, values), TN_ERROR_DEVICE);
        assert_error("it is meant to fail", where);
    }
}

static void test_no_helper_is_left_behind(void **state) {
    run_test *test = *state;
    start(test, "none", TN_ENGINE_ISOLATED);
    run_must(run_on(test->context, 4, values));
    tn_context_destroy(test->context);
    test->context = NULL;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child at all */
}

static void test_helper_that_is_not_there_is_an_error(void **state) {
    run_test *test = *state;
    const tn_engine_options options = {.size = sizeof(options),
                                       .flags = TN_ENGINE_ISOLATED,
                                       .isolation_helper = "nowhere/tenon-isolate"};
    uint64_t bytes;
    make_faulty(test, "none");
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    assert_int_equal(tn_context_create(test->engine, &test->context), TN_ERROR_IO);
    assert_non_null(strstr(tn_last_error()->message, "nowhere/tenon-isolate cannot be started"));
}

static void test_helper_that_is_another_program_is_an_error(void **state) {
    run_test *test = *state;
    const tn_engine_options options = {
        .size = sizeof(options), .flags = TN_ENGINE_ISOLATED, .isolation_helper = "/bin/true"};
    uint64_t bytes;
    make_faulty(test, "none");
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    assert_int_equal(tn_context_create(test->engine, &test->context), TN_ERROR_PLUGIN);
    assert_non_null(strstr(tn_last_error()->message, "called exit(0)"));
}

static void *run_often(void *user) {
    tn_context *context = user;
    for (int i = 0; i < 200; i++)
        if (run_on(context, 1 + i % 16, values) != TN_OK) return context;
    return NULL;
}

static void test_contexts_run_side_by_side(void **state) {
    run_test *test = *state;
    tn_context *contexts[3] = {NULL};
    pthread_t threads[3];
    make_faulty(test, "none");
    run_must(load(test, TN_ENGINE_ISOLATED, &test->engine));
    for (int i = 0; i < 3; i++) {
        run_must(tn_context_create(test->engine, &contexts[i]));
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, contexts[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        void *failed = contexts[i];
        pthread_join(threads[i], &failed);
        assert_null(failed);
        tn_context_destroy(contexts[i]);
    }
}

/* ----------------------------------------------------------------------------------------------
 * memory */

static tn_status whole(run_test *test, uint32_t flags) {
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    tn_status status = load(test, flags, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = run_on(context, 4, values + 1);
    tn_context_destroy(context);
    tn_engine_release(engine);
    return status;
}

static void fail_each(run_test *test, uint32_t flags) {
    make_faulty(test, "none");
    assert_non_null(tn_plan_bytes(test->plan, NULL)); /* who asks first has them put together */
    for (uint64_t n = 1;; n++) {
        const int64_t live = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + n;
        const tn_status status = whole(test, flags);
        const bool is_through = test->allocator.allocations < test->allocator.fail_at;
        test->allocator.fail_at = 0;
        if (is_through) {
            run_must(status);
            assert_true(n > 20);
            return;
        }
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY); /* or it did without */
        assert_int_equal(test->allocator.live, live);
    }
}

static void test_each_allocation_of_a_checked_run_may_fail(void **state) {
    fail_each(*state, TN_ENGINE_CHECKED);
}

static void test_each_allocation_of_an_isolated_run_may_fail(void **state) {
    fail_each(*state, TN_ENGINE_ISOLATED);
}

#define GUARDED_TEST(function) cmocka_unit_test_setup_teardown(function, setup, run_test_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        GUARDED_TEST(test_checked_run_names_the_fault_each_time),
        GUARDED_TEST(test_checked_run_of_a_sound_layer_computes_the_same),
        GUARDED_TEST(test_checked_run_may_leave_numbers_alone),
        GUARDED_TEST(test_handlers_are_given_back),
        GUARDED_TEST(test_isolated_run_computes_the_same_for_all_shapes),
        GUARDED_TEST(test_isolated_runs_allocate_nothing_in_steady_state),
        GUARDED_TEST(test_lost_context_says_so_and_another_goes_on),
        GUARDED_TEST(test_failure_in_the_helper_is_the_kernels_own),
        GUARDED_TEST(test_no_helper_is_left_behind),
        GUARDED_TEST(test_helper_that_is_not_there_is_an_error),
        GUARDED_TEST(test_helper_that_is_another_program_is_an_error),
        GUARDED_TEST(test_contexts_run_side_by_side),
        GUARDED_TEST(test_each_allocation_of_a_checked_run_may_fail),
        GUARDED_TEST(test_each_allocation_of_an_isolated_run_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
