/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that change: states are found again without work or memory, and kernels know of it. */
#include "run_test.h"

static void start_probe(run_test *test) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, x);
    tn_tensor_id probe = run_unary(test->graph, "Probe", "probe", step);
    run_output(test->graph, run_unary(test->graph, "Step", NULL, probe), "y");
    run_start(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(64))));
}

static tn_status run_with(run_test *test, run_buffer *in, int64_t extent) {
    for (int64_t i = 0; i < extent; i++)
        in->aligned[i] = (float)(i + extent);
    run_bind(test, "x", in->aligned, (uint64_t)extent * 4);
    run_shape(test, "x", 1, &extent);
    return tn_context_run(test->context);
}

static void check_result(run_test *test, int64_t extent) {
    float expected[64];
    for (int64_t i = 0; i < extent; i++)
        expected[i] = (float)(i + extent + 2);
    assert_floats(run_result(test, 0), extent, expected);
}

static tn_context_statistics statistics_of(const run_test *test) {
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(test->context, &statistics);
    return statistics;
}

static void test_second_runs_allocate_nothing(void **state) {
    run_test *test = *state;
    run_buffer in;
    start_probe(test);
    run_must(run_with(test, &in, 5));
    const uint64_t before = run_allocations(test);
    const uint64_t all = test->allocator.allocations;
    for (int i = 0; i < 5; i++)
        run_must(run_with(test, &in, 5));
    check_result(test, 5);
    assert_int_equal(run_allocations(test), before);
    assert_int_equal(test->allocator.allocations, all); /* nobody else's either */
    assert_int_equal(run_probe.reshaped, 1);
    assert_int_equal(statistics_of(test).runs, 6);
    assert_int_equal(statistics_of(test).reshapes, 1);
}

static void test_alternating_shapes_allocate_nothing(void **state) {
    run_test *test = *state;
    run_buffer in;
    start_probe(test);
    run_must(run_with(test, &in, 5));
    run_must(run_with(test, &in, 60));
    const uint64_t before = run_allocations(test);
    const uint64_t all = test->allocator.allocations;
    for (int i = 0; i < 10; i++) {
        run_must(run_with(test, &in, i % 2 ? 60 : 5));
        check_result(test, i % 2 ? 60 : 5);
    }
    assert_int_equal(run_allocations(test), before);
    assert_int_equal(test->allocator.allocations, all);
    assert_int_equal(run_probe.reshaped, 12); /* told at each change */
    assert_int_equal(statistics_of(test).shape_cache_hits, 10);
}

static void test_many_shapes_come_and_go(void **state) {
    run_test *test = *state;
    run_buffer in;
    start_probe(test);
    for (int round = 0; round < 3; round++) {
        for (int64_t extent = 1; extent <= 12; extent++) {
            run_must(run_with(test, &in, extent));
            check_result(test, extent);
        }
    }
    const uint64_t hits = statistics_of(test).shape_cache_hits;
    assert_int_equal(hits, 0); /* twelve in turn are more than are kept */
    for (int64_t extent = 12; extent > 4; extent--)
        run_must(run_with(test, &in, extent));
    assert_int_equal(statistics_of(test).shape_cache_hits,
                     7); /* of the last eight, one is current */
}

static void test_arena_grows_under_older_states(void **state) {
    run_test *test = *state;
    run_buffer in;
    start_probe(test);
    for (int64_t extent = 2; extent <= 64; extent *= 2) {
        run_must(run_with(test, &in, extent));
        check_result(test, extent);
        run_must(run_with(test, &in, 1));
        check_result(test, 1);
    }
    assert_true(statistics_of(test).arena_bytes >= 3 * 64 * 4);
}

static void test_equal_shape_set_again_is_no_change(void **state) {
    run_test *test = *state;
    run_buffer in;
    start_probe(test);
    run_must(run_with(test, &in, 3));
    run_shape(test, "x", 1, EXTENTS(3));
    run_must(tn_context_run(test->context));
    assert_int_equal(statistics_of(test).reshapes, 1);
}

static void test_failed_reshape_leaves_a_context_that_works(void **state) {
    run_test *test = *state;
    run_buffer in;
    const tn_tensor *y = NULL;
    start_probe(test);
    run_must(run_with(test, &in, 3));
    run_probe.failure = PROBE_FAILS_RESHAPE;
    assert_int_equal(run_with(test, &in, 4), TN_ERROR_DEVICE);
    assert_error("the probe was told to fail",
                 "node 'probe': operator run::Probe: kernel probe (library run_layers)");
    assert_int_equal(tn_context_output(test->context, 0, &y), TN_ERROR_STATE);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_DEVICE); /* and again */
    run_probe.failure = PROBE_SOUND;
    run_must(tn_context_run(test->context));
    check_result(test, 4);
    run_probe.failure = PROBE_FAILS_RESHAPE; /* also when a known shape returns */
    assert_int_equal(run_with(test, &in, 3), TN_ERROR_DEVICE);
    run_probe.failure = PROBE_SOUND;
    run_must(run_with(test, &in, 3));
    check_result(test, 3);
}

static void test_workspace_of_known_shapes_may_not_grow(void **state) {
    run_test *test = *state;
    run_buffer in;
    start_probe(test);
    run_must(run_with(test, &in, 3));
    run_must(run_with(test, &in, 4));
    run_probe.more_workspace = 1 << 20;
    assert_int_equal(run_with(test, &in, 3), TN_ERROR_PLUGIN);
    assert_error("1048588 bytes of workspace, and 12 for the same shapes before", "'probe'");
    assert_int_equal(run_with(test, &in, 3), TN_ERROR_PLUGIN); /* it is not remembered as planned */
    run_must(run_with(test, &in, 5));                          /* new shapes may have it */
    run_probe.more_workspace = 0;
    run_must(run_with(test, &in, 3));
    check_result(test, 3);
}

static void test_impossible_workspace_is_an_error(void **state) {
    run_test *test = *state;
    run_buffer in;
    start_probe(test);
    run_probe.more_workspace = UINT64_MAX - 100;
    assert_int_equal(run_with(test, &in, 3), TN_ERROR_MEMORY);
    run_probe.more_workspace = (uint64_t)1 << 40;
    assert_int_equal(run_with(test, &in, 3), TN_ERROR_MEMORY);
    run_probe.more_workspace = 0;
    run_must(run_with(test, &in, 4));
    check_result(test, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_second_runs_allocate_nothing),
        RUN_TEST(test_alternating_shapes_allocate_nothing),
        RUN_TEST(test_many_shapes_come_and_go),
        RUN_TEST(test_arena_grows_under_older_states),
        RUN_TEST(test_equal_shape_set_again_is_no_change),
        RUN_TEST(test_failed_reshape_leaves_a_context_that_works),
        RUN_TEST(test_workspace_of_known_shapes_may_not_grow),
        RUN_TEST(test_impossible_workspace_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
