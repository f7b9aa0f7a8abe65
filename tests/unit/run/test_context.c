/* SPDX-License-Identifier: Apache-2.0 */
/* A context as its user meets it: shapes, bindings, results, and what is refused. */
#include "run_test.h"

static void make_step(run_test *test, const int64_t *extents, uint32_t rank) {
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, rank, extents);
    run_output(test->graph, run_unary(test->graph, "Step", "step", x), "y");
}

static void test_fixed_shapes_need_no_call(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    make_step(test, EXTENTS(3), 1);
    run_start(test, 0, NULL);
    run_bind(test, "x", in.aligned, 12);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(2, 3, 4));
    in.aligned[0] = 10; /* the memory is lent: the next run sees what is in it then */
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(11, 3, 4));
}

static void test_unknown_extents_must_be_set(void **state) {
    run_test *test = *state;
    run_buffer in = {0};
    make_step(test, EXTENTS(-1), 1);
    run_start(test, 0, NULL);
    run_bind(test, "x", in.aligned, 12);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_STATE);
    assert_error("the shape of input 'x' is not set", NULL);
    run_shape(test, "x", 1, EXTENTS(3));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(1, 1, 1));
}

static void test_shapes_outside_the_profile_are_refused(void **state) {
    run_test *test = *state;
    make_step(test, EXTENTS(-1, 3), 2);
    run_start(test, 1,
              RUN_PROFILES(RUN_PROFILE("x", 2, EXTENTS(2, 3), EXTENTS(4, 3), EXTENTS(8, 3))));
    assert_int_equal(tn_context_set_shape(test->context, 0, 2, EXTENTS(9, 3)), TN_ERROR_RANGE);
    assert_error("input 'x' has shape [9, 3]: axis 0 is 9, the plan was built for 2 to 8", NULL);
    assert_int_equal(tn_context_set_shape(test->context, 0, 2, EXTENTS(1, 3)), TN_ERROR_RANGE);
    assert_int_equal(tn_context_set_shape(test->context, 0, 2, EXTENTS(2, 4)), TN_ERROR_SHAPE);
    assert_error("input 'x' has shape [2, 4]: expected [?, 3]", NULL);
    assert_int_equal(tn_context_set_shape(test->context, 0, 1, EXTENTS(2)), TN_ERROR_SHAPE);
    assert_int_equal(tn_context_set_shape(test->context, 0, 2, EXTENTS(-1, 3)), TN_ERROR_SHAPE);
    assert_int_equal(tn_context_set_shape(test->context, 0, 9, (int64_t[9]){0}), TN_ERROR_SHAPE);
    assert_int_equal(tn_context_set_shape(test->context, 1, 2, EXTENTS(2, 3)), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_shape(test->context, 0, 2, NULL), TN_ERROR_ARGUMENT);
    run_shape(test, "x", 2, EXTENTS(8, 3));
}

static void test_the_profile_of_an_input_is_told(void **state) {
    run_test *test = *state;
    make_step(test, EXTENTS(-1, 3), 2);
    run_start(test, 1,
              RUN_PROFILES(RUN_PROFILE("x", 2, EXTENTS(2, 3), EXTENTS(4, 3), EXTENTS(8, 3))));
    const tn_profile_input *profile = tn_engine_profile(test->engine, 0);
    assert_non_null(profile);
    assert_string_equal(profile->name, "x");
    assert_int_equal(profile->rank, 2);
    assert_int_equal(profile->minimum[0], 2);
    assert_int_equal(profile->optimum[0], 4);
    assert_int_equal(profile->maximum[0], 8);
    assert_int_equal(profile->optimum[1], 3);
    assert_null(profile->optimum_value);
    assert_null(tn_engine_profile(test->engine, 1));
    assert_null(tn_engine_profile(NULL, 0));
}

static void test_an_input_of_any_shape_has_no_profile(void **state) {
    run_test *test = *state;
    make_step(test, EXTENTS(-1, 3), 2);
    run_start(test, 0, NULL);
    assert_null(tn_engine_profile(test->engine, 0));
}

static void test_memory_must_be_bound_and_large_enough(void **state) {
    run_test *test = *state;
    run_buffer in = {0}, out = {0};
    make_step(test, EXTENTS(3), 1);
    run_start(test, 0, NULL);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_STATE);
    assert_error("input 'x' is not bound", NULL);
    run_bind(test, "x", in.aligned, 11);
    assert_int_equal(tn_context_run(test->context), TN_ERROR_ARGUMENT);
    assert_error("input 'x' has shape [3], 12 bytes; 11 are bound", NULL);
    run_bind(test, "x", in.aligned, 12);
    run_must(tn_context_bind_output(test->context, 0, out.aligned, 8));
    assert_int_equal(tn_context_run(test->context), TN_ERROR_ARGUMENT);
    assert_error("output 'y' has shape [3], 12 bytes; 8 are bound", NULL);
    assert_int_equal(tn_context_bind_input(test->context, 1, in.aligned, 12), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_bind_output(test->context, 1, in.aligned, 12), TN_ERROR_ARGUMENT);
    run_must(tn_context_bind_output(test->context, 0, NULL, 0));
    run_must(tn_context_run(test->context));
}

static void test_outputs_are_written_into_the_callers_memory(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2}, .crooked = {5, 6}}, out = {0};
    make_step(test, EXTENTS(2), 1);
    run_start(test, 0, NULL);
    run_bind(test, "x", in.aligned, 8);
    run_must(tn_context_bind_output(test->context, 0, out.aligned, sizeof(out.aligned)));
    run_must(tn_context_run(test->context));
    assert_ptr_equal(run_result(test, 0)->data, out.aligned);
    assert_floats(run_result(test, 0), 2, FLOATS(2, 3));
    assert_true(out.aligned[2] == 0);
    run_bind(test, "x", in.crooked, 8); /* kernels see aligned memory all the same */
    run_must(tn_context_bind_output(test->context, 0, out.crooked, 8));
    run_must(tn_context_run(test->context));
    assert_ptr_equal(run_result(test, 0)->data, out.crooked);
    assert_floats(run_result(test, 0), 2, FLOATS(6, 7));
    in.crooked[1] = 9; /* lent memory is read anew, also through the copy */
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 2, FLOATS(6, 10));
    run_must(tn_context_bind_output(test->context, 0, NULL, 0));
    run_must(tn_context_run(test->context));
    assert_ptr_not_equal(run_result(test, 0)->data, out.crooked);
    assert_floats(run_result(test, 0), 2, FLOATS(6, 10));
}

/* y is written before x is read for the last time. */
static void test_memory_may_be_inputs_and_outputs(void **state) {
    run_test *test = *state;
    run_buffer memory = {.aligned = {1, 2, 3}};
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(3));
    tn_tensor_id y = run_unary(test->graph, "Step", NULL, x);
    run_output(test->graph, y, "y");
    run_output(test->graph, run_node(test->graph, "Sum", NULL, 2, TENSORS(x, y)), "z");
    run_output(test->graph, x, "x_again");
    run_start(test, 0, NULL);
    run_bind(test, "x", memory.aligned, 12);
    run_must(tn_context_bind_output(test->context, 0, memory.aligned, 12));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(2, 3, 4));
    assert_floats(run_result(test, 1), 3, FLOATS(3, 5, 7));
    assert_floats(run_result(test, 2), 3, FLOATS(1, 2, 3));
    assert_ptr_equal(run_result(test, 0)->data, memory.aligned);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 1), 3, FLOATS(5, 7, 9));
}

static void test_rebinding_takes_no_memory(void **state) {
    run_test *test = *state;
    run_buffer in[2] = {{.aligned = {1}, .crooked = {2}}, {.aligned = {3}, .crooked = {4}}}, out;
    make_step(test, EXTENTS(1), 1);
    run_start(test, 0, NULL);
    for (int i = 0; i < 2; i++) {
        run_bind(test, "x", in[i].crooked, 4);
        run_must(tn_context_bind_output(test->context, 0, i ? out.crooked : NULL, i ? 4 : 0));
        run_must(tn_context_run(test->context));
    }
    const uint64_t before = run_allocations(test);
    for (int i = 0; i < 8; i++) {
        const float *x = i & 1 ? in[i >> 2].crooked : in[i >> 2].aligned;
        run_bind(test, "x", x, 4);
        run_must(tn_context_bind_output(test->context, 0, i & 2 ? out.crooked : out.aligned, 4));
        run_must(tn_context_run(test->context));
        assert_floats(run_result(test, 0), 1, FLOATS(*x + 1));
    }
    assert_int_equal(run_allocations(test), before);
}

static void test_outputs_have_a_shape_after_reshape_and_data_after_run(void **state) {
    run_test *test = *state;
    run_buffer in = {0};
    const tn_tensor *y = NULL;
    make_step(test, EXTENTS(-1, 2), 2);
    run_start(test, 0, NULL);
    assert_int_equal(tn_context_output(test->context, 0, &y), TN_ERROR_STATE);
    assert_error("output 'y' is not there before reshape or run", NULL);
    assert_null(y);
    run_shape(test, "x", 2, EXTENTS(3, 2));
    run_must(tn_context_reshape(test->context)); /* nothing is bound, and need not be */
    y = run_result(test, 0);
    assert_int_equal(y->rank, 2);
    assert_int_equal(y->shape[0], 3);
    assert_int_equal(y->shape[1], 2);
    assert_int_equal(y->bytes, 24);
    assert_string_equal(y->name, "y");
    assert_null(y->data);
    run_bind(test, "x", in.aligned, 24);
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 6, FLOATS(1, 1, 1, 1, 1, 1));
    assert_int_equal(tn_context_output(test->context, 1, &y), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_output(test->context, 0, NULL), TN_ERROR_ARGUMENT);
}

static void test_empty_tensors_run(void **state) {
    run_test *test = *state;
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 2, EXTENTS(-1, 3));
    tn_tensor_id probe = run_unary(test->graph, "Probe", NULL, x);
    run_output(test->graph, run_unary(test->graph, "Step", NULL, probe), "y");
    run_start(test, 0, NULL);
    run_shape(test, "x", 2, EXTENTS(0, 3));
    run_must(tn_context_run(test->context)); /* what has no elements needs no memory */
    assert_int_equal(run_result(test, 0)->bytes, 0);
    assert_non_null(run_result(test, 0)->data);
    assert_int_equal(run_result(test, 0)->shape[0], 0);
}

static void test_inputs_of_which_only_the_shape_is_read_need_no_memory(void **state) {
    run_test *test = *state;
    tn_tensor_id x = add_input(test->graph, "like", TN_I64, 1, EXTENTS(-1));
    run_output(test->graph, run_unary(test->graph, "Ones", NULL, x), "y");
    run_start(test, 0, NULL);
    run_shape(test, "like", 1, EXTENTS(3));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 3, FLOATS(1, 1, 1));
}

static void test_extents_of_one_name_must_agree(void **state) {
    run_test *test = *state;
    run_buffer in = {0};
    static const char *const names[] = {"N"};
    tn_tensor_id a, b;
    run_must(tn_graph_add_input(test->graph, "a", TN_F32, 1, EXTENTS(-1), names, &a));
    run_must(tn_graph_add_input(test->graph, "b", TN_F32, 1, EXTENTS(-1), names, &b));
    run_output(test->graph, run_node(test->graph, "Sum", NULL, 2, TENSORS(a, b)), "y");
    run_start(test, 0, NULL);
    run_bind(test, "a", in.aligned, 16);
    run_bind(test, "b", in.aligned, 16);
    run_shape(test, "a", 1, EXTENTS(4));
    run_shape(test, "b", 1, EXTENTS(2));
    assert_int_equal(tn_context_run(test->context), TN_ERROR_SHAPE);
    assert_error("'N'", NULL);
    run_shape(test, "b", 1, EXTENTS(4));
    run_must(tn_context_run(test->context));
}

static void test_ports_are_found_by_name(void **state) {
    run_test *test = *state;
    uint32_t index = 7;
    make_step(test, EXTENTS(-1, 3), 2);
    run_start(test, 0, NULL);
    assert_int_equal(tn_engine_input_count(test->engine), 1);
    assert_int_equal(tn_engine_output_count(test->engine), 1);
    assert_string_equal(tn_engine_input(test->engine, 0)->name, "x");
    assert_int_equal(tn_engine_input(test->engine, 0)->extents[0], -1);
    assert_int_equal(tn_engine_input(test->engine, 0)->is_value, 0);
    assert_int_equal(tn_engine_output(test->engine, 0)->type, TN_F32);
    assert_null(tn_engine_input(test->engine, 1));
    assert_null(tn_engine_output(test->engine, 1));
    assert_int_equal(tn_engine_find_input(test->engine, "X", &index), TN_ERROR_NOT_FOUND);
    assert_error("there is no input 'X'; there are: 'x'; the nearest is 'x'", NULL);
    assert_int_equal(tn_engine_find_output(test->engine, "logits", &index), TN_ERROR_NOT_FOUND);
    assert_int_equal(index, 7);
    assert_int_equal(tn_engine_find_output(test->engine, NULL, &index), TN_ERROR_ARGUMENT);
    run_must(tn_engine_find_output(test->engine, "y", &index));
    assert_int_equal(index, 0);
}

static void test_null_is_refused_or_harmless(void **state) {
    (void)state;
    tn_context_statistics statistics = {.size = sizeof(statistics)};
    assert_int_equal(tn_context_create(NULL, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_run(NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_reshape(NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_set_profiling(NULL, true), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_profile_count(NULL), 0);
    assert_null(tn_context_profile(NULL, 0));
    tn_context_get_statistics(NULL, &statistics);
    tn_context_destroy(NULL);
    tn_engine_release(NULL);
    assert_null(tn_engine_retain(NULL));
    assert_int_equal(tn_engine_input_count(NULL), 0);
}

static void assert_reports(const run_test *test, const char *part) {
    char *json = NULL;
    run_must(tn_context_report(test->context, &json));
    if (!strstr(json, part)) fail_msg("'%s' is not in the report:\n%s", part, json);
    tn_text_free(test->runtime, json);
}

static void test_the_report_has_the_shapes_and_times_of_now(void **state) {
    run_test *test = *state;
    run_buffer in = {.aligned = {1, 2, 3}};
    tn_tensor_id x = add_input(test->graph, "x", TN_F32, 1, EXTENTS(-1));
    tn_tensor_id middle = run_unary(test->graph, "Step", "first", x);
    run_output(test->graph, run_unary(test->graph, "Step", "second", middle), "y");
    run_start(test, 0, NULL);
    assert_reports(test,
                   "\"inputs\": [\n    {\"name\": \"x\", \"type\": \"f32\", \"shape\": null}]");
    assert_reports(test, "\"memory\": {\"workspaces\": true, \"arenas\": []}");
    run_shape(test, "x", 1, EXTENTS(3));
    run_bind(test, "x", in.aligned, 12);
    run_must(tn_context_run(test->context));
    assert_reports(test, "\"format\": \"linear\", \"shape\": [3]");
    assert_reports(test, "\"bytes\": 12, \"first\": 0, \"last\": 1}");
    assert_reports(test, "\"profiled_runs\": 0");
    assert_reports(test, "\"outputs\": [\n    {\"name\": \"y\", \"tensor\": ");
    run_must(tn_context_set_profiling(test->context, true));
    run_must(tn_context_run(test->context));
    assert_reports(test, "\"profiled_runs\": 1");
    run_shape(test, "x", 1, EXTENTS(2));
    run_must(tn_context_run(test->context));
    assert_reports(test, "\"format\": \"linear\", \"shape\": [2]");
    assert_int_equal(tn_context_report(NULL, NULL), TN_ERROR_ARGUMENT);
    assert_int_equal(tn_context_report(test->context, NULL), TN_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_fixed_shapes_need_no_call),
        RUN_TEST(test_unknown_extents_must_be_set),
        RUN_TEST(test_shapes_outside_the_profile_are_refused),
        RUN_TEST(test_the_profile_of_an_input_is_told),
        RUN_TEST(test_an_input_of_any_shape_has_no_profile),
        RUN_TEST(test_memory_must_be_bound_and_large_enough),
        RUN_TEST(test_outputs_are_written_into_the_callers_memory),
        RUN_TEST(test_memory_may_be_inputs_and_outputs),
        RUN_TEST(test_rebinding_takes_no_memory),
        RUN_TEST(test_outputs_have_a_shape_after_reshape_and_data_after_run),
        RUN_TEST(test_empty_tensors_run),
        RUN_TEST(test_inputs_of_which_only_the_shape_is_read_need_no_memory),
        RUN_TEST(test_extents_of_one_name_must_agree),
        RUN_TEST(test_ports_are_found_by_name),
        RUN_TEST(test_null_is_refused_or_harmless),
        RUN_TEST(test_the_report_has_the_shapes_and_times_of_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
