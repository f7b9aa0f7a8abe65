/* SPDX-License-Identifier: Apache-2.0 */
/* Networks whose extents are open until a run: what was taken for granted of them at build time,
 * and what a run does where it does not hold. */
#include "run_test.h"

static tn_tensor_id add_named(run_test *test, const char *name, const char *extent) {
    tn_tensor_id id = TN_NO_TENSOR;
    run_must(tn_graph_add_input(test->graph, name, TN_F32, 1, EXTENTS(-1), &extent, &id));
    return id;
}

/* y = 2 a + b: fused where b is as long as a, and not where it may be one element. */
static void make_sum(run_test *test, const char *of_a, const char *of_b) {
    const tn_tensor_id a = add_named(test, "a", of_a), b = add_named(test, "b", of_b);
    const tn_tensor_id gain = run_unary(test->graph, "Gain", "gain", a);
    run_output(test->graph, run_node(test->graph, "Sum", "sum", 2, TENSORS(gain, b)), "y");
}

static void set_inputs(run_test *test, const run_buffer *in, int64_t a, int64_t b) {
    run_bind(test, "a", in->aligned, (uint64_t)a * 4);
    run_bind(test, "b", &in->aligned[16], (uint64_t)b * 4);
    run_shape(test, "a", 1, &a);
    run_shape(test, "b", 1, &b);
}

static void fill(run_buffer *in) {
    for (int i = 0; i < 32; i++)
        in->aligned[i] = (float)i;
}

static void test_different_extents_are_not_taken_for_equal(void **state) {
    run_test *test = *state;
    run_buffer in;
    make_sum(test, "n", "m");
    run_start(test, 0, NULL);
    fill(&in);
    set_inputs(test, &in, 3, 1);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(16, 18, 20));
    set_inputs(test, &in, 3, 3);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(16, 19, 22));
}

static void test_different_extents_of_one_profile_are_apart(void **state) {
    run_test *test = *state;
    run_buffer in;
    make_sum(test, "n", "m");
    run_start(test, 2,
              RUN_PROFILES(RUN_PROFILE("a", 1, EXTENTS(1), EXTENTS(3), EXTENTS(9)),
                           RUN_PROFILE("b", 1, EXTENTS(1), EXTENTS(3), EXTENTS(9))));
    fill(&in);
    set_inputs(test, &in, 4, 1);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 4, FLOATS(16, 18, 20, 22));
}

static void test_extents_of_one_name_are_fused(void **state) {
    run_test *test = *state;
    run_buffer in;
    make_sum(test, "n", "n");
    run_start(test, 0, NULL);
    fill(&in);
    set_inputs(test, &in, 3, 3);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(16, 19, 22));
    assert_int_equal(run_gain_fused, 1);
    run_shape(test, "b", 1, EXTENTS(1));
    assert_int_equal(tn_context_run(test->context), TN_ERROR_SHAPE);
    assert_error("the same name means the same extent", NULL);
}

/* ----------------------------------------------------------------------------------------------
 * fusions that fall apart */

/* y = 2 x + Quirk(x): a residual, but where there are five elements. */
static void make_quirk(run_test *test) {
    const tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    const tn_tensor_id quirk = run_unary(test->graph, "Quirk", NULL, x);
    const tn_tensor_id gain = run_unary(test->graph, "Gain", "gain", x);
    run_output(test->graph, run_node(test->graph, "Sum", "sum", 2, TENSORS(gain, quirk)), "y");
}

static void run_quirky(run_test *test, const run_buffer *in, int64_t count, const float *wanted) {
    run_bind(test, "x", in->aligned, (uint64_t)count * 4);
    run_shape(test, "x", 1, &count);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), count, wanted);
}

static void check_quirk(run_test *test) {
    run_buffer in;
    fill(&in);
    run_quirky(test, &in, 3, FLOATS(0, 3, 6));
    assert_int_equal(run_gain_fused, 1);
    run_quirky(test, &in, 5, FLOATS(0, 2, 4, 6, 8));
    assert_int_equal(run_gain_fused, 1);
    run_quirky(test, &in, 4, FLOATS(0, 3, 6, 9));
    assert_int_equal(run_gain_fused, 2);
    const uint64_t before = run_allocations(test);
    const int64_t live = test->allocator.live;
    for (int i = 0; i < 3; i++) {
        run_quirky(test, &in, 5, FLOATS(0, 2, 4, 6, 8));
        run_quirky(test, &in, 3, FLOATS(0, 3, 6));
    }
    assert_int_equal(run_gain_fused, 5);
    assert_int_equal(run_allocations(test), before);
    assert_int_equal(test->allocator.live, live);
}

static void test_a_fusion_falls_apart_without_a_profile(void **state) {
    run_test *test = *state;
    make_quirk(test);
    run_start(test, 0, NULL);
    check_quirk(test);
}

static void test_a_fusion_falls_apart_within_the_profile(void **state) {
    run_test *test = *state;
    make_quirk(test);
    run_start(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(9))));
    check_quirk(test);
}

/* Between the two, what the caller sees is one context: descriptors before a run, a bound output,
 * the profile, the report. */
static void test_a_context_is_one_whoever_runs(void **state) {
    run_test *test = *state;
    run_buffer in, out = {0};
    make_quirk(test);
    run_start(test, 0, NULL);
    fill(&in);
    run_must(tn_context_set_profiling(test->context, true));
    run_must(tn_context_bind_output(test->context, 0, out.crooked, 20));
    run_bind(test, "x", in.aligned, 20);
    run_shape(test, "x", 1, EXTENTS(5));
    run_must(tn_context_reshape(test->context));
    assert_int_equal(run_result(test, 0)->shape[0], 5);
    assert_null(run_result(test, 0)->data);
    run_must(tn_context_run(test->context));
    assert_ptr_equal(run_result(test, 0)->data, out.crooked);
    assert_true(out.crooked[4] == 8);
    assert_int_equal(tn_context_profile_count(test->context), 3);
    char *report = NULL;
    run_must(tn_context_report(test->context, &report));
    assert_non_null(strstr(report, "{\"name\": \"gain\""));
    assert_non_null(strstr(report, "\"profiled_runs\": 1"));
    tn_text_free(test->runtime, report);
    run_shape(test, "x", 1, EXTENTS(4));
    run_must(tn_context_run(test->context));
    assert_int_equal(tn_context_profile_count(test->context), 2);
    assert_true(out.crooked[3] == 9);
}

/* At every allocation that fails the context stays sound. */
static void test_no_memory_for_the_other_context_is_an_error(void **state) {
    run_test *test = *state;
    run_buffer in;
    make_quirk(test);
    run_start(test, 0, NULL);
    fill(&in);
    run_quirky(test, &in, 3, FLOATS(0, 3, 6));
    run_bind(test, "x", in.aligned, 20);
    run_shape(test, "x", 1, EXTENTS(5));
    tn_status status = TN_ERROR_MEMORY;
    for (int64_t i = 1; status != TN_OK && i < 2000; i++) {
        test->allocator.fail_at = test->allocator.allocations + (uint64_t)i;
        status = tn_context_run(test->context);
        test->allocator.fail_at = 0;
        if (status != TN_OK) assert_int_equal(status, TN_ERROR_MEMORY);
    }
    run_quirky(test, &in, 5, FLOATS(0, 2, 4, 6, 8));
}

/* ----------------------------------------------------------------------------------------------
 * kernels for any shape */

static void run_positives(run_test *test, const run_buffer *in, int64_t count) {
    run_bind(test, "x", in->aligned, (uint64_t)count * 4);
    run_shape(test, "x", 1, &count);
    run_must(tn_context_run(test->context));
    assert_int_equal(run_count(run_result(test, 0)), count - 1); /* all but the zero */
    for (int64_t i = 1; i < count; i++)
        assert_true(((const float *)run_result(test, 0)->data)[i - 1] == 5 * (float)i);
}

static void test_a_kernel_for_any_shape_is_prepared_without_extents(void **state) {
    run_test *test = *state;
    run_buffer in;
    const tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    const tn_tensor_id positive = run_unary(test->graph, "Positive", NULL, x);
    run_output(test->graph, run_unary(test->graph, "Open", "open", positive), "y");
    run_start(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(1), EXTENTS(4), EXTENTS(32))));
    assert_int_equal(run_open.prepared, 1);
    assert_int_equal(run_open.extent, -1);
    assert_int_equal(run_open.least, -1);
    fill(&in);
    run_positives(test, &in, 4);
    run_positives(test, &in, 9);
    assert_int_equal(run_open.ran, 2);
    assert_int_equal(run_open.reference_ran, 0);
    run_positives(test, &in, 14); /* thirteen: reshape does not support it */
    assert_int_equal(run_open.ran, 2);
    assert_int_equal(run_open.reference_ran, 1);
    run_positives(test, &in, 4);
    assert_int_equal(run_open.ran, 3);
}

static void test_known_extents_are_shown_with_the_profiles_ends(void **state) {
    run_test *test = *state;
    const tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    run_output(test->graph, run_unary(test->graph, "Open", "open", x), "y");
    run_start(test, 1, RUN_PROFILES(RUN_PROFILE("x", 1, EXTENTS(2), EXTENTS(4), EXTENTS(32))));
    assert_int_equal(run_open.extent, 4);
    assert_int_equal(run_open.least, 2);
    assert_int_equal(run_open.most, 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_different_extents_are_not_taken_for_equal),
        RUN_TEST(test_different_extents_of_one_profile_are_apart),
        RUN_TEST(test_extents_of_one_name_are_fused),
        RUN_TEST(test_a_fusion_falls_apart_without_a_profile),
        RUN_TEST(test_a_fusion_falls_apart_within_the_profile),
        RUN_TEST(test_a_context_is_one_whoever_runs),
        RUN_TEST(test_no_memory_for_the_other_context_is_an_error),
        RUN_TEST(test_a_kernel_for_any_shape_is_prepared_without_extents),
        RUN_TEST(test_known_extents_are_shown_with_the_profiles_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
