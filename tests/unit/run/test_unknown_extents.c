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

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_different_extents_are_not_taken_for_equal),
        RUN_TEST(test_different_extents_of_one_profile_are_apart),
        RUN_TEST(test_extents_of_one_name_are_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
