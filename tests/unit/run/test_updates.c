/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that update an input: where their memory is shared, and where it must not be. */
#include "run_test.h"

static tn_tensor_id update(run_test *test, tn_tensor_id x) {
    return run_unary(test->graph, "Update", NULL, x);
}

static void fill(run_buffer *buffer) {
    for (int i = 0; i < 16; i++)
        buffer->aligned[i] = (float)i + 1;
}

static tn_tensor_id start(run_test *test) {
    return add_input(test->graph, "x", TN_F32, 1, EXTENTS(4));
}

static void run_four(run_test *test, const float *in, float *out) {
    if (!test->context) run_start(test, 0, NULL);
    run_bind(test, "x", in, 16);
    run_must(tn_context_bind_output(test->context, 0, out, 16));
    run_must(tn_context_run(test->context));
}

static void test_what_the_run_made_is_updated_in_place(void **state) {
    run_test *test = *state;
    run_buffer in, out;
    fill(&in);
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, start(test));
    run_output(test->graph, update(test, update(test, step)), "y");
    run_four(test, in.aligned, out.aligned);
    assert_floats(run_result(test, 0), 4, FLOATS(4, 3, 4, 5));
    assert_int_equal(run_updated_in_place, 2);
    assert_int_equal(test->context->shapes.current->memory_bytes, 0);
}

static void test_what_is_read_later_is_not_overwritten(void **state) {
    run_test *test = *state;
    run_buffer in, out;
    fill(&in);
    tn_tensor_id step = run_unary(test->graph, "Step", NULL, start(test));
    tn_tensor_id updated = update(test, step);
    run_output(test->graph, run_node(test->graph, "Sum", NULL, 2, TENSORS(updated, step)), "y");
    run_four(test, in.aligned, out.aligned);
    assert_floats(run_result(test, 0), 4, FLOATS(5, 6, 8, 10));
    assert_int_equal(run_updated_in_place, 0);
}

static void test_constants_and_inputs_are_not_overwritten(void **state) {
    run_test *test = *state;
    run_buffer in, out;
    fill(&in);
    tn_tensor_id x = start(test), constant = run_floats(test->graph, "c", 4);
    run_output(test->graph, update(test, x), "y");
    run_output(test->graph, update(test, constant), "z");
    for (int round = 0; round < 2; round++) {
        run_four(test, in.aligned, out.aligned);
        assert_floats(run_result(test, 0), 4, FLOATS(2, 2, 3, 4));
        assert_floats(run_result(test, 1), 4, FLOATS(1, 1, 2, 3));
        assert_true(in.aligned[0] == 1);
    }
    assert_int_equal(run_updated_in_place, 0);
}

/* A state: the caller's input and output are one memory, and nothing is copied. */
static void test_one_pointer_for_input_and_output_is_updated_there(void **state) {
    run_test *test = *state;
    run_buffer memory, out;
    fill(&memory);
    run_output(test->graph, update(test, update(test, start(test))), "y");
    for (int round = 1; round <= 3; round++) {
        run_four(test, memory.aligned, memory.aligned);
        assert_floats(run_result(test, 0), 4, FLOATS(1 + 2.0f * (float)round, 2, 3, 4));
        assert_ptr_equal(run_result(test, 0)->data, memory.aligned);
        assert_int_equal(run_updated_in_place, 2 * round);
    }
    assert_null(test->context->ports.outputs[0].own);
    run_four(test, memory.aligned, out.aligned); /* apart again: the input stays */
    assert_floats(run_result(test, 0), 4, FLOATS(9, 2, 3, 4));
    assert_true(memory.aligned[0] == 7);
}

/* Memory that is not aligned, and memory that overlaps in part, is copied; the results are right.
 */
static void test_other_memory_in_common_is_copied(void **state) {
    run_test *test = *state;
    run_buffer memory;
    fill(&memory);
    run_output(test->graph, update(test, start(test)), "y");
    memcpy(memory.crooked, memory.aligned, 64);
    run_four(test, memory.crooked, memory.crooked);
    assert_floats(run_result(test, 0), 4, FLOATS(2, 2, 3, 4));
    run_four(test, memory.aligned, memory.aligned + 1);
    assert_floats(run_result(test, 0), 4, FLOATS(2, 2, 3, 4));
    assert_int_equal(run_updated_in_place, 0);
}

/* The input is an output, too, which is copied when all has run. */
static void test_an_input_that_is_handed_out_is_not_overwritten(void **state) {
    run_test *test = *state;
    run_buffer memory;
    fill(&memory);
    tn_tensor_id x = start(test);
    run_output(test->graph, update(test, x), "y");
    run_output(test->graph, x, "before");
    run_four(test, memory.aligned, memory.aligned);
    assert_floats(run_result(test, 0), 4, FLOATS(2, 2, 3, 4));
    assert_floats(run_result(test, 1), 4, FLOATS(1, 2, 3, 4));
}

/* A cache in which the row `at` is another one. */
static tn_tensor_id add_row(run_test *test, tn_tensor_id cache) {
    tn_tensor_id ids[3] = {cache};
    ids[1] = add_input(test->graph, "at", TN_I64, 2, EXTENTS(1, 1));
    ids[2] = add_input(test->graph, "row", TN_F32, 2, EXTENTS(1, 4));
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "",
                                      .op = "ScatterND",
                                      .name = "update",
                                      .input_count = 3,
                                      .inputs = ids,
                                      .output_count = 1};
    run_must(tn_graph_add_node(test->graph, &node, &ids[0]));
    return ids[0];
}

static tn_status run_scatter(run_test *test, float *cache, const int64_t *at, const float *row,
                             float *out) {
    run_bind(test, "cache", cache, 48);
    run_bind(test, "at", at, sizeof(*at));
    run_bind(test, "row", row, 16);
    run_must(tn_context_bind_output(test->context, 0, out, 48));
    return tn_context_run(test->context);
}

static void test_a_cache_gets_a_row_where_it_is(void **state) {
    run_test *test = *state;
    run_buffer cache, out;
    _Alignas(64) int64_t at = 1;
    _Alignas(64) static const float row[] = {-1, -2, -3, -4};
    tn_tensor_id cache_id = add_input(test->graph, "cache", TN_F32, 2, EXTENTS(3, 4));
    fill(&cache);
    run_output(test->graph, add_row(test, cache_id), "y");
    run_start(test, 0, NULL);
    run_must(run_scatter(test, cache.aligned, &at, row, cache.aligned));
    assert_int_equal(test->context->shapes.current->updated[0], 1);
    assert_null(test->context->ports.outputs[0].own);
    assert_ptr_equal(run_result(test, 0)->data, cache.aligned);
    assert_floats(run_result(test, 0), 12, FLOATS(1, 2, 3, 4, -1, -2, -3, -4, 9, 10, 11, 12));
    at = 7; /* refused before anything is written */
    assert_int_equal(run_scatter(test, cache.aligned, &at, row, cache.aligned), TN_ERROR_RANGE);
    for (int i = 0; i < 12; i++)
        assert_true(cache.aligned[i] == (i / 4 == 1 ? row[i % 4] : (float)i + 1));
    at = -1;
    run_must(run_scatter(test, cache.aligned, &at, row, out.aligned));
    assert_floats(run_result(test, 0), 12, FLOATS(1, 2, 3, 4, -1, -2, -3, -4, -1, -2, -3, -4));
    assert_true(cache.aligned[8] == 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RUN_TEST(test_what_the_run_made_is_updated_in_place),
        RUN_TEST(test_what_is_read_later_is_not_overwritten),
        RUN_TEST(test_constants_and_inputs_are_not_overwritten),
        RUN_TEST(test_one_pointer_for_input_and_output_is_updated_there),
        RUN_TEST(test_other_memory_in_common_is_copied),
        RUN_TEST(test_an_input_that_is_handed_out_is_not_overwritten),
        RUN_TEST(test_a_cache_gets_a_row_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
