/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that fail, memory that runs out: one clear error, nothing left behind, and on it goes.
 */
#include "run_test.h"

static void make_probes(run_test *test) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    for (int i = 0; i < 3; i++)
        x = run_unary(test->graph, "Probe", i == 1 ? "second" : NULL, x);
    run_output(test->graph, x, "y");
    run_build_with(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(64))),
                   0);
    memset(&run_probe, 0, sizeof(run_probe));
}

static void assert_probe_error(void) {
    assert_error("the probe was told to fail",
                 "node 'second': operator run::Probe: kernel probe (library run_layers)");
    assert_string_equal(tn_last_error()->node, "second");
    assert_string_equal(tn_last_error()->op, "run::Probe");
    assert_string_equal(tn_last_error()->library, "run_layers");
}

static void test_prepare_that_fails_undoes_the_load(void **state) {
    run_test *test = *state;
    uint64_t bytes;
    make_probes(test);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_probe.failure = PROBE_FAILS_PREPARE;
    run_probe.fail_after = 1;
    const int64_t live = test->allocator.live;
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, NULL, &test->engine),
                     TN_ERROR_DEVICE);
    assert_null(test->engine);
    assert_probe_error();
    assert_int_equal(run_probe.prepared, 1);
    assert_int_equal(run_probe.released, 1);
    assert_int_equal(test->allocator.live, live);
}

static void test_open_that_fails_undoes_the_context(void **state) {
    run_test *test = *state;
    make_probes(test);
    run_load(test);
    run_probe.failure = PROBE_FAILS_OPEN;
    run_probe.fail_after = 1;
    const int64_t live = test->allocator.live;
    assert_int_equal(tn_context_create(test->engine, &test->context), TN_ERROR_DEVICE);
    assert_null(test->context);
    assert_probe_error();
    assert_int_equal(run_probe.opened, 1);
    assert_int_equal(run_probe.closed, 1);
    assert_int_equal(test->allocator.live, live);
    run_probe.failure = PROBE_SOUND; /* the engine goes on */
    run_must(tn_context_create(test->engine, &test->context));
}

static void test_run_that_fails_leaves_a_context_that_works(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2}};
    make_probes(test);
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    run_bind(test, "x", in.aligned, 8);
    run_shape(test, "x", 1, EXTENTS(2));
    for (int i = 0; i < 2; i++) { /* with a clock, too */
        run_must(tn_context_set_profiling(test->context, i == 1));
        run_probe.failure = PROBE_FAILS_RUN;
        run_probe.fail_after = run_probe.ran + 1;
        assert_int_equal(tn_context_run(test->context), TN_ERROR_DEVICE);
        assert_probe_error();
        run_probe.failure = PROBE_RETURNS_NUMBER;
        assert_int_equal(tn_context_run(test->context), TN_ERROR_PLUGIN);
        assert_error("run returned 4711 (not a status of Tenon's) without a reason",
                     "kernel probe");
        run_probe.failure = PROBE_SOUND;
        run_must(tn_context_run(test->context));
        assert_floats(run_result(test, 0), 2, FLOATS(1, 2));
    }
}

/* The reason is recorded on another thread than the one that runs the context. */
static void test_run_that_fails_on_a_thread_says_why(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2}};
    const tn_engine_options options = {.size = sizeof(options), .threads = 3};
    uint64_t bytes;
    make_probes(test);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    run_must(tn_engine_load_bytes(test->runtime, data, bytes, &options, &test->engine));
    run_must(tn_context_create(test->engine, &test->context));
    run_bind(test, "x", in.aligned, 8);
    run_shape(test, "x", 1, EXTENTS(2));
    run_must(tn_context_run(test->context));
    run_probe.failure = PROBE_FAILS_ON_A_THREAD;
    run_probe.fail_after = run_probe.ran + 1;
    tn_error_clear();
    assert_int_equal(tn_context_run(test->context), TN_ERROR_DEVICE);
    assert_probe_error();
}

/* What is more than machines have is a mistake, like a negative number: nothing is made. */
static void test_thread_counts_have_a_limit(void **state) {
    run_test *test = *state;
    const uint32_t many = UINT32_MAX - 2;
    const tn_engine_options engine = {.size = sizeof(engine), .threads = many};
    const tn_builder_options builder = {.size = sizeof(builder), .threads = many};
    tn_threads *threads = NULL;
    tn_plan *plan = NULL;
    uint64_t bytes;
    make_probes(test);
    const void *data = tn_plan_bytes(test->plan, &bytes);
    assert_int_equal(tn_engine_load_bytes(test->runtime, data, bytes, &engine, &test->engine),
                     TN_ERROR_ARGUMENT);
    assert_string_equal(tn_last_error()->message,
                        "4294967293 threads in the engine options: expected at most 1024");
    assert_int_equal(tn_build(test->graph, &builder, &plan), TN_ERROR_ARGUMENT);
    assert_string_equal(tn_last_error()->message,
                        "4294967293 threads in the builder options: expected at most 1024");
    assert_int_equal(tn_threads_create(many, &threads), TN_ERROR_ARGUMENT);
    assert_null(test->engine);
    assert_null(plan);
    assert_null(threads);
}

/* From the load to a second shape, with conversions, views, values and sizes. */
static tn_status live_whole(run_test *test) {
    static run_buffer in = {.aligned = {1, -2, 3, -4, 5}, .crooked = {1, -2, 3, -4, 5}};
    static const int64_t sizes[2] = {2, 3};
    uint64_t bytes;
    const void *data = tn_plan_bytes(test->plan, &bytes);
    tn_status status = tn_engine_load_bytes(test->runtime, data, bytes, NULL, &test->engine);
    if (status == TN_OK) status = tn_context_create(test->engine, &test->context);
    for (int64_t extent = 3; extent <= 5 && status == TN_OK; extent += 2) {
        status = tn_context_set_shape(test->context, 0, 1, &extent);
        if (status == TN_OK)
            status =
                tn_context_bind_input(test->context, 0, extent == 3 ? in.aligned : in.crooked, 20);
        if (status == TN_OK && tn_engine_input_count(test->engine) > 1)
            status = tn_context_bind_input(test->context, 1, sizes, 16);
        if (status == TN_OK) status = tn_context_run(test->context);
    }
    tn_context_destroy(test->context);
    tn_engine_release(test->engine);
    test->context = NULL;
    test->engine = NULL;
    return status;
}

/* Each allocation of the whole life fails once. */
static void fail_one_by_one(run_test *test) {
    uint64_t failures = 0;
    run_must(live_whole(test));
    for (;; failures++) {
        const int64_t live = test->allocator.live;
        test->allocator.fail_at = test->allocator.allocations + failures + 1;
        const tn_status status = live_whole(test);
        assert_int_equal(test->allocator.live, live);
        assert_int_equal(run_probe.prepared, run_probe.released);
        assert_int_equal(run_probe.opened, run_probe.closed);
        if (test->allocator.allocations < test->allocator.fail_at) break; /* none was left */
        if (status == TN_OK) continue; /* it was not needed after all, like a log line's */
        assert_int_equal(status, TN_ERROR_MEMORY);
        assert_true(strlen(tn_last_error()->message) > 0);
    }
    test->allocator.fail_at = 0;
    assert_true(failures > 100);
    run_must(live_whole(test));
}

static void test_allocations_that_fail_one_by_one(void **state) {
    run_test *test = *state;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id sizes = add_input(test->graph, "sizes", TN_I64, 1, EXTENTS(2));
    tn_tensor_id probe = run_unary(test->graph, "Probe", NULL, x);
    tn_tensor_id gain = run_unary(test->graph, "Gain", NULL, probe);
    tn_tensor_id sum = run_node(test->graph, "Sum", NULL, 2, TENSORS(gain, probe));
    tn_tensor_id flat = run_unary(test->graph, "Flat", NULL, sum);
    run_output(test->graph, run_unary(test->graph, "Negate", NULL, flat), "y");
    run_output(test->graph, run_node(test->graph, "Fill", NULL, 2, TENSORS(flat, sizes)), "filled");
    run_output(test->graph, x, "x_again");
    run_build_with(test, 0, NULL, 0);
    fail_one_by_one(test);
}

static void test_allocations_that_fail_one_by_one_where_data_decides(void **state) {
    run_test *test = *state;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id probe = run_unary(test->graph, "Probe", NULL, x);
    tn_tensor_id positive = run_unary(test->graph, "Positive", NULL, probe);
    tn_tensor_id flat = run_unary(test->graph, "Flat", NULL, positive);
    run_output(test->graph, run_unary(test->graph, "Gain", NULL, flat), "y");
    run_build_with(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(64))),
                   0);
    fail_one_by_one(test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_prepare_that_fails_undoes_the_load),
        RUN_TEST(test_open_that_fails_undoes_the_context),
        RUN_TEST(test_run_that_fails_leaves_a_context_that_works),
        RUN_TEST(test_run_that_fails_on_a_thread_says_why),
        RUN_TEST(test_thread_counts_have_a_limit),
        RUN_TEST(test_allocations_that_fail_one_by_one),
        RUN_TEST(test_allocations_that_fail_one_by_one_where_data_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
