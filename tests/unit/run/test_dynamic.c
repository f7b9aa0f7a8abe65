/* SPDX-License-Identifier: Apache-2.0 */
/* Networks whose shapes only data decides. */
#include "run_test.h"

/* y = 2 Positive(x + 1) + 1, by way of a view, and of a kernel with a workspace before the size is
 * known. */
static void make_positive(run_test *test) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, x);
    tn_tensor_id probe = run_unary(test->graph, "Probe", "probe", step);
    tn_tensor_id positive = run_unary(test->graph, "Positive", "positive", probe);
    tn_tensor_id flat = run_unary(test->graph, "Flat", NULL, positive);
    tn_tensor_id gain = run_unary(test->graph, "Gain", NULL, flat);
    tn_tensor_id ones = run_unary(test->graph, "Ones", NULL, positive);
    run_output(test->graph, run_node(test->graph, "Sum", "sum", 2, TENSORS(gain, ones)), "y");
    run_output(test->graph, flat, "flat");
}

static void set_input(run_test *test, float *data, int64_t count) {
    run_bind(test, "x", data, (uint64_t)count * 4);
    run_shape(test, "x", 1, &count);
}

static void test_sizes_come_from_the_run(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, -5, 2, -7, 3}};
    const tn_tensor *y = NULL;
    make_positive(test);
    run_start(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(64))));
    set_input(test, in.aligned, 5);
    run_must(tn_context_reshape(test->context));
    assert_int_equal(tn_context_output(test->context, 0, &y), TN_ERROR_STATE);
    assert_error("its shape depends on data", NULL);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(5, 7, 9));
    assert_floats(run_result(test, 1), 3, FLOATS(2, 3, 4));
    in.aligned[1] = 5; /* the same shape, another size */
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 4, FLOATS(5, 13, 7, 9));
    for (int i = 0; i < 5; i++)
        in.aligned[i] = -9;
    run_must(tn_context_run(test->context));
    assert_int_equal(run_count(run_result(test, 0)), 0);
    assert_non_null(run_result(test, 0)->data);
}

static void test_inputs_and_outputs_may_lie_anywhere(void **state) {
    run_test *test = *state;
    run_buffer in = {.crooked = {1, -5, 2}}, out = {0};
    make_positive(test);
    run_start(test, 0, NULL);
    set_input(test, in.crooked, 3);
    run_must(tn_context_bind_output(test->context, 0, out.crooked, 8));
    run_must(tn_context_run(test->context));
    assert_ptr_equal(run_result(test, 0)->data, out.crooked);
    assert_floats(run_result(test, 0), 2, FLOATS(5, 7));
    in.crooked[1] = 5;
    assert_int_equal(tn_context_run(test->context), TN_ERROR_ARGUMENT);
    assert_error("output 'y' has 12 bytes; 8 are bound", NULL);
    const tn_tensor *y = NULL;
    assert_int_equal(tn_context_output(test->context, 0, &y), TN_ERROR_STATE);
    run_must(tn_context_bind_output(test->context, 0, NULL, 0));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(5, 13, 7));
    run_bind(test, "x", NULL, 0);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_STATE);
}

static void test_pool_is_kept_and_bounded(void **state) {
    run_test *test = *state;
    run_buffer in;
    make_positive(test);
    run_start(test, 0, NULL);
    for (int64_t count = 1; count <= 200; count++) {
        in.aligned[count - 1] = (float)count;
        set_input(test, in.aligned, count);
        run_must(tn_context_run(test->context));
        assert_int_equal(run_count(run_result(test, 0)), count);
    }
    const int64_t live = test->allocator.live;
    const uint64_t before = run_allocations(test);
    for (int64_t count = 200; count >= 1; count -= 7) {
        set_input(test, in.aligned, count);
        run_must(tn_context_run(test->context));
    }
    assert_int_equal(run_allocations(test), before);
    assert_int_equal(test->allocator.live, live);
}

static void test_failure_names_the_node_and_passes(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, -5, 2}};
    make_positive(test);
    run_start(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(64))));
    set_input(test, in.aligned, 3);
    for (int failure = PROBE_FAILS_RESHAPE; failure <= PROBE_FAILS_RUN; failure++) {
        run_probe.failure = failure;
        assert_int_equal(tn_context_run(test->context), TN_ERROR_DEVICE);
        assert_error("told to fail", "node 'probe': operator run::Probe: kernel probe");
    }
    run_probe.failure = PROBE_SOUND;
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 2, FLOATS(5, 7));
}

static void test_steps_are_timed(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, -5, 2}};
    make_positive(test);
    run_start(test, 0, NULL);
    set_input(test, in.aligned, 3);
    run_must(tn_context_set_profiling(test->context, true));
    run_must(tn_context_run(test->context));
    run_must(tn_context_run(test->context));
    bool has_probe = false;
    for (uint32_t i = 0; i < tn_context_profile_count(test->context); i++) {
        const tn_profile_entry *entry = tn_context_profile(test->context, i);
        assert_int_equal(entry->runs, 2);
        has_probe = has_probe || strcmp(entry->node, "probe") == 0;
    }
    assert_true(has_probe);
    char *report = NULL;
    run_must(tn_context_report(test->context, &report));
    assert_non_null(strstr(report, "{\"name\": \"probe\""));
    assert_non_null(strstr(report, "\"memory\": {\"workspaces\": true, \"arenas\": []}"));
    assert_non_null(strstr(report, "\"profiled_runs\": 2"));
    tn_text_free(test->runtime, report);
}

/* A value that decides shapes after a run-sized tensor: its count, as the shape of a filled one. */
static void test_values_behind_a_size_are_known_in_time(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, -5, 2, 3}};
    assert_int_equal(tn_runtime_register_library(test->runtime, tiny_entry), TN_OK);
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(4));
    tn_tensor_id positive = run_unary(test->graph, "Positive", NULL, x);
    tn_tensor_id shape = add_unary(test->graph, "Shape", NULL, positive);
    run_output(test->graph, run_node(test->graph, "Fill", NULL, 2, TENSORS(x, shape)), "y");
    run_start(test, 0, NULL);
    run_bind(test, "x", in.aligned, 16);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(1, 1, 1));
    in.aligned[1] = 5;
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 4, FLOATS(1, 1, 1, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_sizes_come_from_the_run),
        RUN_TEST(test_inputs_and_outputs_may_lie_anywhere),
        RUN_TEST(test_pool_is_kept_and_bounded),
        RUN_TEST(test_failure_names_the_node_and_passes),
        RUN_TEST(test_steps_are_timed),
        RUN_TEST(test_values_behind_a_size_are_known_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
