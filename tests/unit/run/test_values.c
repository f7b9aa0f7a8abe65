/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs whose values decide shapes: seen in reshape and run, compared at each run. */
#include "run_test.h"

/* y = Fill(x, sizes + nothing): `sizes` is a network input; z is computed from it on the host. */
static void make_fill(run_test *test) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(1));
    tn_tensor_id sizes = add_input(test->graph, "sizes", TN_I64, 1, EXTENTS(-1));
    tn_tensor_id flat = run_unary(test->graph, "Flat", NULL, sizes);
    tn_tensor_id fill = run_node(test->graph, "Fill", "fill", 2, TENSORS(x, flat));
    run_output(test->graph, run_unary(test->graph, "Step", NULL, fill), "y");
    run_output(test->graph, sizes, "sizes_again");
}

static const tn_profile_input *values_profile(const int64_t *low, const int64_t *best,
                                              const int64_t *high) {
    static const int64_t two = 2;
    static tn_profile_input profile;
    profile = (tn_profile_input){.size = sizeof(profile),
                                 .rank = 1,
                                 .name = "sizes",
                                 .minimum = &two,
                                 .optimum = &two,
                                 .maximum = &two,
                                 .minimum_value = low,
                                 .optimum_value = best,
                                 .maximum_value = high};
    return &profile;
}

static void check_fill(run_test *test, int64_t a, int64_t b, float value) {
    const tn_tensor *y = run_result(test, 0), *again = run_result(test, 1);
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->shape[0], a);
    assert_int_equal(y->shape[1], b);
    for (int64_t i = 0; i < a * b; i++)
        assert_true(((const float *)y->data)[i] == value);
    assert_int_equal(((const int64_t *)again->data)[0], a);
    assert_int_equal(((const int64_t *)again->data)[1], b);
    assert_int_equal(run_filled[0], a); /* at reshape */
    assert_int_equal(run_filled[1], a); /* at run */
}

static void test_values_decide_shapes_at_each_run(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {7}};
    int64_t sizes[2] = {2, 3};
    make_fill(test);
    run_start(test, 1, RUN_PROFILES(values_profile(EXTENTS(1, 1), EXTENTS(2, 2), EXTENTS(8, 8))));
    assert_int_equal(tn_engine_input(test->engine, 1)->is_value, 1);
    run_bind(test, "x", in.aligned, 4);
    assert_int_equal(tn_context_reshape(test->context), TN_ERROR_STATE);
    assert_error("input 'sizes' is not bound", NULL);
    run_bind(test, "sizes", sizes, 16);
    run_must(tn_context_run(test->context));
    check_fill(test, 2, 3, 8);
    sizes[0] = 4; /* in the same memory, without a call */
    run_must(tn_context_run(test->context));
    check_fill(test, 4, 3, 8);
    const uint64_t before = run_allocations(test);
    for (int i = 0; i < 6; i++) {
        sizes[0] = i % 2 ? 4 : 2;
        run_must(tn_context_run(test->context));
        check_fill(test, sizes[0], 3, 8);
    }
    assert_int_equal(run_allocations(test), before);
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    tn_context_get_statistics(test->context, &statistics);
    assert_int_equal(statistics.reshapes, 8);
    assert_int_equal(statistics.shape_cache_hits, 6);
}

static void test_values_outside_the_profile_are_refused(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {7}};
    int64_t sizes[2] = {2, 9};
    make_fill(test);
    run_start(test, 1, RUN_PROFILES(values_profile(EXTENTS(1, 1), EXTENTS(2, 2), EXTENTS(8, 8))));
    run_bind(test, "x", in.aligned, 4);
    run_bind(test, "sizes", sizes, 16);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_RANGE);
    assert_error("element 1 of the value of input 'sizes' is 9, the plan was built for 1 to 8",
                 NULL);
    sizes[1] = 8;
    run_must(tn_context_run(test->context));
    check_fill(test, 2, 8, 8);
    sizes[1] = 0; /* a failure in the middle of runs */
    assert_int_equal(tn_context_run(test->context), TN_ERROR_RANGE);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_RANGE);
    sizes[1] = 8;
    run_must(tn_context_run(test->context));
    check_fill(test, 2, 8, 8);
}

static void test_values_without_a_profile_are_free(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1}};
    int64_t sizes[2] = {1, 50};
    make_fill(test);
    run_start(test, 0, NULL);
    run_bind(test, "x", in.aligned, 4);
    run_bind(test, "sizes", sizes, 16);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_STATE);
    assert_error("the shape of input 'sizes' is not set", NULL);
    run_shape(test, "sizes", 1, EXTENTS(2));
    run_must(tn_context_run(test->context));
    check_fill(test, 1, 50, 2);
    sizes[0] = -1;
    assert_int_not_equal(tn_context_run(test->context), TN_OK);
    sizes[0] = INT64_MAX / 3;
    assert_int_not_equal(tn_context_run(test->context), TN_OK);
    sizes[0] = 3;
    run_must(tn_context_run(test->context));
    check_fill(test, 3, 50, 2);
}

static void test_values_may_lie_anywhere_and_be_taken_away(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1}};
    char memory[24] = {0};
    const int64_t sizes[2] = {3, 2};
    make_fill(test);
    run_start(test, 1, RUN_PROFILES(values_profile(EXTENTS(1, 1), EXTENTS(2, 2), EXTENTS(8, 8))));
    memcpy(memory + 8, sizes, 16);
    run_bind(test, "x", in.crooked, 4);
    in.crooked[0] = 4;
    run_bind(test, "sizes", memory + 8, 16);
    run_must(tn_context_run(test->context));
    check_fill(test, 3, 2, 5);
    run_bind(test, "sizes", memory + 8, 8);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_ARGUMENT);
    run_bind(test, "sizes", NULL, 0);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_STATE);
    run_bind(test, "sizes", memory + 8, 16);
    run_must(tn_context_run(test->context));
    check_fill(test, 3, 2, 5);
}

/* No value at all: the output has rank 0. */
static void test_empty_values_need_no_memory(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {3}};
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(1));
    tn_tensor_id sizes = add_input(test->graph, "sizes", TN_I64, 1, EXTENTS(0));
    tn_tensor_id none = run_node(test->graph, "Fill", NULL, 2, TENSORS(x, sizes));
    run_output(test->graph, run_unary(test->graph, "Ones", NULL, none), "y");
    run_build_with(test, 0, NULL, TN_BUILD_REFERENCE);
    run_load(test);
    run_must(tn_context_create(test->engine, &test->context));
    run_bind(test, "x", in.aligned, 4);
    run_must(tn_context_run(test->context));
    assert_int_equal(run_result(test, 0)->rank, 0);
    assert_floats(run_result(test, 0), 1, FLOATS(1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_values_decide_shapes_at_each_run),
        RUN_TEST(test_values_outside_the_profile_are_refused),
        RUN_TEST(test_values_without_a_profile_are_free),
        RUN_TEST(test_values_may_lie_anywhere_and_be_taken_away),
        RUN_TEST(test_empty_values_need_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
