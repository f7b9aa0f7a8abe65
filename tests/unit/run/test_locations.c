/* SPDX-License-Identifier: Apache-2.0 */
/* Where values lie: views, in-place steps, conversions, and outputs that nobody computes. */
#include "run_test.h"

static tn_tensor_id input_f32(run_test *test, uint32_t rank, const int64_t *extents) {
    return add_input(test->graph, "x", TN_F32, rank, extents);
}

static void run_six(run_test *test, run_buffer *in) {
    for (int i = 0; i < 6; i++)
        in->aligned[i] = (float)i + 1;
    run_start(test, 0, NULL);
    run_bind(test, "x", in->aligned, 24);
    run_must(tn_context_run(test->context));
}

static void test_views_share_memory_through_chains(void **state) {
    run_test *test = *state;
    run_buffer in;
    tn_tensor_id x = input_f32(test, 2, EXTENTS(2, 3));
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, x);
    tn_tensor_id flat = run_unary(test->graph, "Flat", NULL, step);
    tn_tensor_id again = run_unary(test->graph, "Flat", NULL, flat);
    run_output(test->graph, run_unary(test->graph, "Step", NULL, again), "y");
    run_six(test, &in);
    assert_floats(run_result(test, 0), 6, FLOATS(3, 4, 5, 6, 7, 8));
    tn_shape_state *current = test->context->shapes.current;
    const void *data[3] = {0};
    for (uint32_t v = 0; v < test->engine->program->value_count; v++) {
        const tn_tensor_id id = test->engine->program->values[v].tensor;
        const char *name = test->engine->graph->tensors[id].name;
        for (int i = 0; i < 3; i++) {
            const tn_tensor_id wanted = (const tn_tensor_id[]){step, flat, again}[i];
            if (strcmp(name, test->graph->tensors[wanted].name) == 0)
                data[i] = current->tensors[v].tensor.data;
        }
    }
    assert_non_null(data[0]);
    assert_ptr_equal(data[0], data[1]);
    assert_ptr_equal(data[0], data[2]);
}

static void test_views_of_inputs_and_constants_are_read(void **state) {
    run_test *test = *state;
    run_buffer in;
    tn_tensor_id x = input_f32(test, 2, EXTENTS(2, 3));
    tn_tensor_id flat = run_unary(test->graph, "Flat", NULL, x);
    tn_tensor_id constant = run_unary(test->graph, "Flat", NULL, run_floats(test->graph, "c", 6));
    run_output(test->graph, run_node(test->graph, "Sum", NULL, 2, TENSORS(flat, constant)), "y");
    run_six(test, &in);
    assert_floats(run_result(test, 0), 6, FLOATS(1, 3, 5, 7, 9, 11));
}

/* An input, a view of it, a constant, a view of that, one result twice, and a view of it. */
static void test_outputs_that_nobody_computes_are_copied(void **state) {
    run_test *test = *state;
    run_buffer in, out = {0};
    tn_tensor_id x = input_f32(test, 2, EXTENTS(2, 3));
    tn_tensor_id c = run_floats(test->graph, "c", 3);
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, x);
    run_output(test->graph, x, "is_x");
    run_output(test->graph, run_unary(test->graph, "Flat", NULL, x), "view_of_x");
    run_output(test->graph, c, "is_c");
    run_output(test->graph, run_unary(test->graph, "Flat", NULL, c), "view_of_c");
    run_output(test->graph, step, "first");
    run_output(test->graph, step, "second");
    run_output(test->graph, run_unary(test->graph, "Flat", NULL, step), "view_of_first");
    run_six(test, &in);
    for (int round = 0; round < 2; round++) {
        assert_floats(run_result(test, 0), 6, FLOATS(1, 2, 3, 4, 5, 6));
        assert_floats(run_result(test, 1), 6, FLOATS(1, 2, 3, 4, 5, 6));
        assert_int_equal(run_result(test, 1)->rank, 1);
        assert_floats(run_result(test, 2), 3, FLOATS(0, 1, 2));
        assert_floats(run_result(test, 3), 3, FLOATS(0, 1, 2));
        assert_floats(run_result(test, 4), 6, FLOATS(2, 3, 4, 5, 6, 7));
        assert_floats(run_result(test, 5), 6, FLOATS(2, 3, 4, 5, 6, 7));
        assert_floats(run_result(test, 6), 6, FLOATS(2, 3, 4, 5, 6, 7));
        assert_ptr_not_equal(run_result(test, 0)->data, in.aligned);
        assert_ptr_not_equal(run_result(test, 4)->data, run_result(test, 5)->data);
        run_must(tn_context_bind_output(test->context, 0, out.crooked, 24));
        run_must(tn_context_bind_output(test->context, 5, out.aligned, 24));
        run_must(tn_context_run(test->context));
    }
    assert_true(out.crooked[5] == 6 && out.aligned[5] == 7);
}

static void test_only_an_input_as_output_runs(void **state) {
    run_test *test = *state;
    run_buffer in;
    run_output(test->graph, input_f32(test, 1, EXTENTS(6)), NULL);
    run_six(test, &in);
    assert_floats(run_result(test, 0), 6, FLOATS(1, 2, 3, 4, 5, 6));
}

static void test_steps_in_place_keep_what_others_read(void **state) {
    run_test *test = *state;
    run_buffer in;
    tn_tensor_id x = input_f32(test, 1, EXTENTS(6));
    tn_tensor_id from_input = run_unary(test->graph, "Negate", "of input", x);
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, from_input);
    tn_tensor_id negated = run_unary(test->graph, "Negate", "in place", step);
    tn_tensor_id kept = run_unary(test->graph, "Step", NULL, negated);
    tn_tensor_id read_twice = run_unary(test->graph, "Negate", "read twice", kept);
    run_output(test->graph, run_node(test->graph, "Sum", NULL, 2, TENSORS(read_twice, kept)), "y");
    run_six(test, &in);
    assert_floats(run_result(test, 0), 6, FLOATS(0, 0, 0, 0, 0, 0));
    assert_int_equal(run_negated_in_place, 1);
    assert_true(in.aligned[0] == 1 && in.aligned[5] == 6);
}

/* The last step overwrites what lies in the caller's output already. */
static void test_steps_in_place_reach_the_output(void **state) {
    run_test *test = *state;
    run_buffer in, out = {0};
    tn_tensor_id x = input_f32(test, 1, EXTENTS(6));
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, x);
    run_output(test->graph, run_unary(test->graph, "Negate", NULL, step), "y");
    run_six(test, &in);
    run_must(tn_context_bind_output(test->context, 0, out.aligned, 24));
    run_must(tn_context_run(test->context));
    assert_floats(run_result(test, 0), 6, FLOATS(-2, -3, -4, -5, -6, -7));
    assert_ptr_equal(run_result(test, 0)->data, out.aligned);
    assert_int_equal(run_negated_in_place, 2);
    assert_true(test->context->shapes.current->memory_bytes == 0); /* all lies in the output */
}

static void test_conversions_stand_between_formats(void **state) {
    run_test *test = *state;
    run_buffer in;
    float expected[60];
    tn_tensor_id x = input_f32(test, 4, EXTENTS(-1, 5, 2, 3));
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, x);
    tn_tensor_id blocked = run_unary(test->graph, "Blocked", NULL, step);
    blocked = run_unary(test->graph, "Blocked", NULL, blocked);
    run_output(test->graph, run_unary(test->graph, "Step", NULL, blocked), "y");
    run_start(test, 0, NULL);
    for (int64_t batch = 1; batch <= 2; batch++) {
        for (int64_t i = 0; i < batch * 30; i++) {
            in.aligned[i] = (float)i;
            expected[i] = 9 * (float)(i + 1) + 1;
        }
        run_bind(test, "x", in.aligned, (uint64_t)batch * 120);
        run_shape(test, "x", 4, EXTENTS(batch, 5, 2, 3));
        run_must(tn_context_run(test->context));
        assert_floats(run_result(test, 0), batch * 30, expected);
    }
    assert_int_equal(test->context->shapes.current->item_count, 6); /* two of them conversions */
    assert_non_null(strstr(tn_engine_report(test->engine), "\"kind\": \"reformat\""));
    assert_non_null(strstr(tn_engine_report(test->engine), "\"format\": \"c16\""));
}

static void test_arena_is_smaller_than_the_sum_of_all(void **state) {
    run_test *test = *state;
    run_buffer in;
    tn_tensor_id x = input_f32(test, 1, EXTENTS(6));
    for (int i = 0; i < 10; i++)
        x = run_unary(test->graph, "Step", NULL, x);
    run_output(test->graph, x, "y");
    run_six(test, &in);
    assert_floats(run_result(test, 0), 6, FLOATS(11, 12, 13, 14, 15, 16));
    assert_int_equal(test->context->shapes.current->memory_bytes, 2 * 64); /* two buffers in turn */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_views_share_memory_through_chains),
        RUN_TEST(test_views_of_inputs_and_constants_are_read),
        RUN_TEST(test_outputs_that_nobody_computes_are_copied),
        RUN_TEST(test_only_an_input_as_output_runs),
        RUN_TEST(test_steps_in_place_keep_what_others_read),
        RUN_TEST(test_steps_in_place_reach_the_output),
        RUN_TEST(test_conversions_stand_between_formats),
        RUN_TEST(test_arena_is_smaller_than_the_sum_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
